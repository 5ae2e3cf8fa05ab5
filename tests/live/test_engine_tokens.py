"""Predictions with what an engine tells of itself, against answers recorded from a real vLLM server."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from msgspec.structs import replace
from vllm_chat_script import RECORDED, as_calls, predicted

from hitrate.cli.documented import documented_of
from hitrate.cli.prediction import predict
from hitrate.cli.started import Started
from hitrate.live.engine_tokens import LlamaCppTokens, VllmTokens, engine_tokens
from hitrate.targets.dialects.openai_chat import OpenAIChat
from hitrate.targets.presets import load
from hitrate.tokens import TOLD_BY_ENGINE


@pytest.fixture(scope="module")
def recorded():
    return json.loads(RECORDED.read_text(encoding="utf-8"))


class RecordedVllm(BaseHTTPRequestHandler):
    """Answers as recorded; a text alone is tokenised as its bytes. `metrics_status` other than 200 hides them."""

    calls: list
    metrics: str
    metrics_status = 200
    keys: set

    def do_GET(self):
        self._answer(self.metrics_status if self.path == "/metrics" else 404, self.metrics.encode())

    def do_POST(self):
        self.keys.add(self.headers["Authorization"])
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "prompt" in asked:
            self._answer(200, json.dumps({"tokens": list(asked["prompt"].encode())}).encode())
            return
        found = [call for call in self.calls if self.path == "/tokenize" and _counts(call["body"]) == asked]
        answer = {"tokens": found[0]["tokenized"]} if found else {"error": {"message": "not recorded"}}
        self._answer(200 if found else 404, json.dumps(answer).encode())

    def _answer(self, status, text):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def _counts(body):
    return {name: body[name] for name in ("model", "messages", "tools") if name in body}


@pytest.fixture
def vllm(recorded):
    members = {"calls": recorded["calls"], "metrics": recorded["metrics"], "keys": set()}
    handler = type("OneHandler", (RecordedVllm,), members)
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1", handler
        server.shutdown()
        thread.join()


def test_vllm_chats_with_tools_and_salts_are_predicted_to_the_token(recorded, vllm):
    base_url, _ = vllm
    reported = [call["cached_tokens"] for call in recorded["calls"]]
    assert reported == [0, 320, 384, 480, 0, 320, 384, 480, 128, 192, 256, 320]
    assert [wish.cached_tokens for wish in predicted(recorded["calls"], base_url)] == reported


def test_vllm_tells_its_blocks_but_for_one_that_it_sets_aside(vllm):
    base_url, handler = vllm
    assert VllmTokens(base_url).rule_settings() == {"block_size": 32, "capacity_blocks": 8191}
    handler.metrics_status = 404
    assert VllmTokens(base_url).rule_settings() == {}


def prediction(recorded, base_url, **settings):
    start = Started(target=replace(load("vllm"), base_url=base_url), key=None)
    return predict(as_calls(recorded["calls"]), start, OpenAIChat(), None, settings)


def test_the_rule_of_a_run_takes_the_blocks_that_the_server_tells(recorded, vllm):
    made = prediction(recorded, vllm[0])
    assert [wish.cached_tokens for wish in made.expected] == [call["cached_tokens"] for call in recorded["calls"]]
    assert (made.expectation.rule_set, made.expectation.basis) == ("vllm-2026-11 (block 32, 8,191 blocks)", "exact")
    assert (made.expectation.granularity, made.expectation.note) == (32, None)
    assert prediction(recorded, vllm[0], block_size=128).expectation.granularity == 128


def test_a_block_size_that_nobody_tells_is_said_to_be_assumed(recorded, vllm):
    base_url, handler = vllm
    handler.metrics_status = 404
    said = "the server tells no block size and 16 is assumed: --rule-setting block_size=N"
    assert prediction(recorded, base_url).expectation.note == said
    assert prediction(recorded, base_url, block_size=32).expectation.note is None


def test_a_probe_compares_with_the_blocks_that_the_server_tells(vllm):
    start = Started(target=replace(load("vllm"), base_url=vllm[0]), key=None)
    known = documented_of(start, "hitrate-tiny", None)
    assert (known.documented.step, known.rule) == (32, "vllm-2026-11 (block 32, 8,191 blocks)")
    away = Started(target=replace(load("vllm"), base_url="http://127.0.0.1:1/v1"), key=None)
    assert documented_of(away, "hitrate-tiny", None).documented.step == 16


def test_a_reply_without_ids_is_tokenised_again_and_no_longer_exact(recorded, vllm):
    base_url, handler = vllm
    source = VllmTokens(base_url, "secret")
    (call, *_) = as_calls(recorded["calls"])
    assert source.tokens(call).generated == tuple(recorded["calls"][0]["token_ids"])
    assert source.exact
    reply = replace(call.reply, token_ids=None, reasoning="why ", text="yes")
    assert source.tokens(replace(call, reply=reply)).generated == list(b"why yes")
    assert not source.exact
    assert handler.keys == {"Bearer secret"}


def test_engines_that_tell_their_tokens_are_known_by_their_presets():
    assert isinstance(engine_tokens(load("llamacpp"), None), LlamaCppTokens)
    assert isinstance(engine_tokens(load("vllm"), None), VllmTokens)
    assert {engine_tokens(load(name), None) for name in ("sglang", "ollama", "openai", "practice")} == {None}
    assert set(TOLD_BY_ENGINE) == {"llamacpp", "vllm"}
