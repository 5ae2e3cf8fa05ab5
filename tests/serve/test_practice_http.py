"""The server over real sockets: endpoints, and every fault by the bytes a client gets."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from practice_fakes import Caller, chat_body, exchange, serving, words

from hitrate.core.model import StreamEvent
from hitrate.serve.practice.faults import KINDS, parse_fault
from hitrate.serve.practice.options import PracticeModel, PracticeOptions
from hitrate.targets.dialects.openai_chat import OpenAIChat

STREAM = {"stream": True, "stream_options": {"include_usage": True}, "max_tokens": 6}


@pytest.fixture(scope="module")
def port():
    with serving(models=(PracticeModel("practice", 0.3, 0.006, 0.0, 1.2), PracticeModel("plain"))) as port:
        yield port


@pytest.fixture(autouse=True)
def start_again(request):
    if "port" in request.fixturenames:
        exchange(request.getfixturevalue("port"), b"", path="/reset")


def get(port, path):
    status, headers, body, _ = exchange(port, b"", path=path, method="GET")
    return status, headers["content-type"], body.decode()


def events(text):
    """The JSON of each event, the end mark as text."""
    parts = [line.removeprefix("data: ") for line in text.decode().split("\n\n") if line]
    return [part if part == "[DONE]" else json.loads(part) for part in parts]


def test_a_stream_has_role_tokens_finish_usage_and_end(port):
    status, headers, text, whole = exchange(port, chat_body("hello", **STREAM))
    assert (status, whole, headers["content-type"]) == (200, True, "text/event-stream; charset=utf-8")
    first, *tokens, finish, usage, end = events(text)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [list(token["choices"][0]["delta"]) for token in tokens] == [["content"]] * 6
    assert (finish["choices"][0]["delta"], finish["choices"][0]["finish_reason"]) == ({}, "length")
    assert (usage["choices"], usage["usage"]["completion_tokens"], end) == ([], 6, "[DONE]")
    assert len({event["id"] for event in (first, *tokens, finish, usage)}) == 1


def test_usage_is_streamed_only_if_asked_for(port):
    text = exchange(port, chat_body("hello", stream=True))[2]
    assert b"usage" not in text


def test_a_stream_and_a_body_say_the_same(port):
    text = exchange(port, chat_body("hello", **STREAM))[2]
    whole = json.loads(exchange(port, chat_body("hello", max_tokens=6))[2])
    told = "".join(event["choices"][0]["delta"].get("content", "") for event in events(text)[:-2])
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": told}


def test_the_id_holds_the_moments_of_reading_and_of_the_first_token(port):
    before = time.monotonic_ns()
    _, headers, text, _ = exchange(port, chat_body("hello", **STREAM))
    prefix, read, first = events(text)[0]["id"].split("-")
    assert prefix == "chatcmpl"
    assert before < int(read) < int(first) < time.monotonic_ns()
    assert (headers["x-hitrate-replica"], headers["x-hitrate-expected-ttft-ms"]) == ("0", "1.004")


def test_internals_can_be_hidden():
    with serving(hide_internals=True) as port:
        _, headers, text, _ = exchange(port, chat_body("hello", **STREAM))
    assert not any(name.startswith("x-hitrate") for name in headers)
    assert events(text)[0]["id"] == "chatcmpl-1"


def test_models_are_listed_with_prices_per_token(port):
    status, kind, text = get(port, "/v1/models")
    first, second = json.loads(text)["data"]
    assert (status, kind, first["id"], second["id"]) == (200, "application/json", "practice", "plain")
    assert first["pricing"] == {
        "prompt": "0.0000003",
        "completion": "0.0000012",
        "input_cache_reads": "0.000000006",
        "input_cache_writes": "0",
    }
    assert second["pricing"] == {}
    assert "context_length" not in first
    assert json.loads(get(port, "/v1/models/plain")[2]) == second
    assert get(port, "/v1/models/none")[0] == 404


def test_state_metrics_and_reset(port):
    for _ in range(2):
        exchange(port, chat_body(words(40), max_tokens=2))
    state = json.loads(get(port, "/state")[2])
    assert (state["calls"], state["replicas"][0]["requests"], state["replicas"][0]["cached_tokens"]) == (2, 2, 32)
    _, kind, text = get(port, "/metrics")
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert samples['hitrate_practice_requests_total{replica="0"}'] == "2"
    assert samples['hitrate_practice_prompt_tokens_total{replica="0"}'] == "86"
    assert samples['hitrate_practice_cached_tokens_total{replica="0"}'] == "32"
    assert samples['hitrate_practice_output_tokens_total{replica="0"}'] == "4"
    assert samples['hitrate_practice_ttft_seconds_count{replica="0"}'] == "2"
    assert samples['hitrate_practice_ttft_seconds_bucket{replica="0",le="+Inf"}'] == "2"
    assert exchange(port, b"", path="/reset")[0] == 200
    assert json.loads(get(port, "/state")[2])["calls"] == 0
    exchange(port, chat_body(words(40), max_tokens=2))
    assert json.loads(get(port, "/state")[2])["replicas"][0]["cached_tokens"] == 0


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/health", 200), ("GET", "/nowhere", 404), ("GET", "/v1/chat/completions", 404), ("GET", "/reset", 405)],
)
def test_other_paths_answer_with_json(port, method, path, status):
    found, kind, text = get(port, path)
    assert (found, kind) == (status, "application/json")
    assert ("error" in json.loads(text)) == (status != 200)


def test_errors_are_json_with_the_wait_in_a_header():
    with serving(rpm_limit=1) as port:
        exchange(port, chat_body("hello"))
        status, headers, text, _ = exchange(port, chat_body("hello"))
    assert (status, headers["retry-after"], headers["content-type"]) == (429, "60", "application/json")
    assert json.loads(text)["error"]["code"] == "rate_limit_exceeded"


def test_a_client_that_leaves_frees_its_slot():
    with serving(rule="slots", slots=1, context_tokens=1000, base_ms=60_000) as port:
        body = chat_body("hello", **STREAM)
        request = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
        with socket.create_connection(("127.0.0.1", port)) as leaving:
            leaving.sendall(request)
            assert leaving.recv(4096).startswith(b"HTTP/1.1 200")
            assert json.loads(get(port, "/state")[2])["replicas"][0]["in_flight"] == 1
        deadline = time.monotonic() + 10
        while json.loads(get(port, "/state")[2])["replicas"][0]["in_flight"]:
            assert time.monotonic() < deadline


def test_a_prompt_is_readable_from_its_first_token_though_nobody_sees_it_yet():
    with serving(decode_rate=8) as port, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(exchange, port, chat_body(words(40), max_tokens=20))
        deadline = time.monotonic() + 10
        while 'ttft_seconds_count{replica="0"} 1' not in get(port, "/metrics")[2]:
            assert time.monotonic() < deadline
        quick = exchange(port, chat_body(words(40), max_tokens=1))
        assert not slow.done()
    assert json.loads(quick[2])["usage"]["prompt_tokens_details"]["cached_tokens"] == 32


def read_back(text):
    """What hitrate's own dialect makes of a stream."""
    parts = [part for part in text.replace(b"\r\n", b"\n").split(b"\n\n") if part.startswith(b"data:")]
    return OpenAIChat().read_stream([StreamEvent(0, 0, part[5:].strip()) for part in parts])


STREAM_FAULTS = [name for name in KINDS if name not in ("429", "500")]


@pytest.fixture(scope="module")
def answers():
    """What a client gets under each fault; servers side by side, because most of their life is waiting."""

    def ask(name):
        with serving(faults=(parse_fault(name),)) as port:
            return exchange(port, chat_body("hello", **STREAM))

    with ThreadPoolExecutor(8) as pool:
        return dict(zip(STREAM_FAULTS, pool.map(ask, STREAM_FAULTS), strict=True))


@pytest.mark.parametrize("name", STREAM_FAULTS)
def test_every_fault_of_a_stream_reaches_the_client(port, answers, name):
    good = exchange(port, chat_body("hello", **STREAM))[2]
    status, _, text, whole = answers[name]
    assert status == 200
    assert whole == (name != "cut")
    reading = read_back(text)
    assert reading.complete == (name not in ("cut", "error-after-200"))
    assert bool(reading.fault) == (name in ("malformed", "cut", "error-after-200"))
    assert (b"[DONE]" in text) == (name not in ("cut", "error-after-200", "no-done"))
    if name == "error-after-200":
        assert b'"type":"server_error"' in text
    if name in ("split", "merge", "slow", "early-role"):
        assert [event["choices"] for event in events(text)[:-1]] == [event["choices"] for event in events(good)[:-1]]
    usages = {"no-usage": None, "null-details": None, "no-details": None, "cut": None, "error-after-200": None}
    assert reading.usage.cached_tokens == usages.get(name, 0)
    if name == "null-details":
        assert reading.usage.cached_source == "null"
    marks = {"crlf": b"\r\n\r\n", "no-space": b'data:{"', "comment": b": keep-alive\n\n"}
    assert all((mark in text) == (fault == name) for fault, mark in marks.items())
    assert (b'"role"' in text) == (name != "no-role")
    assert (b"reasoning_content" in text) == (name == "reasoning-first")


def test_a_body_can_be_cut_too():
    with serving(faults=(parse_fault("cut"),)) as port:
        status, _, text, whole = exchange(port, chat_body("hello"))
    assert (status, whole) == (200, False)
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


def test_equal_seeds_give_equal_runs():
    def run(seed):
        with serving(seed=seed, replicas=5, jitter=0.2, faults=(parse_fault("500:probability=0.3"),)) as port:
            answers = [exchange(port, chat_body(f"question {number}", **STREAM)) for number in range(12)]
        return [
            (status, headers.get("x-hitrate-replica"), headers.get("x-hitrate-expected-ttft-ms"), len(text))
            for status, headers, text, _ in answers
        ]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_who_waits_is_let_in_when_those_ahead_are_written_though_nobody_else_comes():
    """Two end one after the other; what the second leaves to be written is due when nothing else happens any more."""
    options = {
        "rule": "slots",
        "slots": 1,
        "replicas": 2,
        "routing": "session-affinity",
        "write_delay_ms": 300.0,
        "decode_rate": 100.0,
    }

    def body(key, tokens):
        return chat_body("hello", user=key, max_tokens=tokens)

    homes = {}
    for key in "abcdefgh":
        accepted = Caller(PracticeOptions(**options)).accept("/v1/chat/completions", body(key, 1))
        homes.setdefault(accepted.job.replica, key)

    with serving(**options) as port, ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(exchange, port, body(homes[0], 1)), pool.submit(exchange, port, body(homes[1], 10))]
        while sum(row["in_flight"] for row in json.loads(get(port, "/state")[2])["replicas"]) < 2:
            pass
        asked.append(pool.submit(exchange, port, body(homes[1], 1)))

        assert [answer.result(timeout=20)[0] for answer in asked] == [200, 200, 200]
