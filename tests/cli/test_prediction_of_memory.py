"""Which rule holds for a llama.cpp server, by the memory of its model: as hitrate started it, or as its file tells."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from hitrate.caches.rules import make_cache, rule_set
from hitrate.cli.prediction import rule_of_memory, told_settings
from hitrate.core.model import Call
from hitrate.engines import running
from hitrate.engines.tiny_variants import variant_path
from hitrate.live.engine_tokens import LlamaCppTokens

PLAIN, SWA, RECURRENT = "llama.cpp-2026-10", "llama.cpp-swa-2026-10", "llama.cpp-recurrent-2026-10"
MESSAGES = [{"role": "user", "content": "Where?"}]


class Server(BaseHTTPRequestHandler):
    """Names a model file, two slots, and a template whose tokens are bytes."""

    model_path: str | None = None

    def do_GET(self) -> None:
        self._answer({"/props": {"model_path": self.model_path}, "/slots": [{"n_ctx": 512}] * 2}[self.path])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            self._answer({"tokens": list(body["content"].encode())})
        else:
            told = "".join(f"<{one['role']}>{one['content']}</>" for one in body["messages"])
            self._answer({"prompt": told + ("" if body.get("add_generation_prompt") is False else "<assistant>")})

    def _answer(self, value: Any) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[LlamaCppTokens, type[Server]]]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    handler = type("OneServer", (Server,), {})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield LlamaCppTokens(f"http://127.0.0.1:{server.server_port}/v1"), handler
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("variant", "name", "window"), [("tiny-swa", SWA, 128), ("tiny-recurrent", RECURRENT, None)])
def test_the_models_file_tells_the_rule(served, variant: str, name: str, window: int | None, tmp_path: Path) -> None:
    source, handler = served
    handler.model_path = str(variant_path(variant, tmp_path))
    rule = rule_of_memory(rule_set(PLAIN), source)
    assert rule is not None and rule.name == name
    told = told_settings(rule, source)
    assert told == {"slots": 2, "context_per_slot": 512, **({} if window is None else {"window": window})}
    make_cache(rule, **told)


@pytest.mark.parametrize("path", [None, "/no/such/model.gguf", __file__])
def test_without_a_file_that_can_be_read_the_plain_rule_stays(served, path: str | None) -> None:
    source, handler = served
    handler.model_path = path
    rule = rule_of_memory(rule_set(PLAIN), source)
    assert rule is not None and rule.name == PLAIN


def test_what_hitrate_started_is_known_with_its_settings(served) -> None:
    source, _ = served
    memory = {"window": 128, "checkpoints": 4, "micro_batch": 64}
    started = {"slots": 3, "kv_unified": False, "memory": memory}
    running.remember(int(source.base_url.rpartition(":")[2].removesuffix("/v1")), os.getpid(), started)
    rule = rule_of_memory(rule_set(PLAIN), source)
    assert rule is not None and rule.name == SWA
    assert told_settings(rule, source) == {"slots": 3, "kv_unified": False, **memory}
    assert told_settings(rule_set(PLAIN), source) == {"slots": 3, "kv_unified": False}


def test_another_rule_and_no_rule_stay(served) -> None:
    source, _ = served
    assert rule_of_memory(None, source) is None
    rule = rule_of_memory(rule_set("slots"), source)
    assert rule is not None and rule.name == "slots"


def test_where_user_messages_start_is_told_to_rules_that_ask(served) -> None:
    source, _ = served
    call = Call(
        target="t", dialect="openai-chat", model="m", session="s", body=json.dumps({"messages": MESSAGES}).encode()
    )
    assert source.tokens(call).places == {}
    source.tells_user_starts = True
    assert source.tokens(call).places == {"user_starts": [0]}
