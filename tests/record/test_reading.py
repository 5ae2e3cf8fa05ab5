"""Exchanges in, calls out. In streams piece number n was read n * 10 ms after the request was written."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from types import SimpleNamespace

import pytest
from exchanges import REPLY, chat, exchange, streamed
from streams import (
    BEDROCK,
    CHAT,
    COMPLETION,
    GEMINI_ARRAY,
    GEMINI_CHUNKS,
    INVOKED,
    MESSAGES,
    RESPONSES,
    sse,
)

from hitrate.core.model import Timing
from hitrate.record.reading import call_of

ASKED = {"model": "practice-1", "messages": [{"role": "user", "content": "Hi"}]}
BODY = json.dumps(ASKED).encode()


EVENT_STREAM = {"content-type": "application/vnd.amazon.eventstream"}
NO_TYPE: dict[str, str] = {}


@pytest.mark.parametrize(
    ("path", "asked", "pieces", "headers", "wire", "ttft_ms"),
    [
        pytest.param("/v1/chat/completions", ASKED, CHAT, None, "openai-chat", 20, id="chat"),
        pytest.param("/v1/messages", ASKED, MESSAGES, None, "anthropic-messages", 30, id="messages"),
        pytest.param(
            "/v1/responses",
            {"model": "practice-1", "input": "Hi"},
            RESPONSES,
            None,
            "openai-responses",
            20,
            id="responses",
        ),
        pytest.param(
            "/v1beta/models/practice-1:streamGenerateContent?alt=sse",
            {"contents": []},
            sse(*GEMINI_CHUNKS),
            None,
            "gemini-generate",
            10,
            id="gemini",
        ),
        pytest.param(
            "/v1beta/models/practice-1:streamGenerateContent",
            {"contents": []},
            GEMINI_ARRAY,
            NO_TYPE,
            "gemini-generate",
            10,
            id="gemini, an array",
        ),
        pytest.param(
            "/model/practice-1/converse-stream",
            {"messages": []},
            BEDROCK,
            EVENT_STREAM,
            "bedrock-converse",
            20,
            id="converse",
        ),
        pytest.param(
            "/model/practice-1/invoke-with-response-stream",
            {**ASKED, "system": "s"},
            INVOKED,
            EVENT_STREAM,
            "anthropic-messages",
            30,
            id="invoke",
        ),
        pytest.param(
            "/completion",
            {"model": "practice-1", "prompt": "Hi"},
            COMPLETION,
            None,
            "llamacpp-completion",
            10,
            id="completion",
        ),
    ],
)
def test_streams_of_every_wire(path, asked, pieces, headers, wire, ttft_ms):
    more = {} if headers is None else {"response_headers": headers}
    call = call_of(streamed(json.dumps(asked).encode(), pieces, path=path, **more))
    assert (call.error, call.dialect, call.model) == (None, wire, "practice-1")
    assert (call.reply.text, call.usage.prompt_tokens, call.usage.cached_tokens) == ("Good day.", 40, 32)
    assert call.usage.output_tokens == 2
    assert call.timing == Timing(
        at=1.79e9,
        sent_at_s=1.0,
        headers_s=0.01,
        ttft_s=ttft_ms / 1e3,
        first_content_s=ttft_ms / 1e3,
        total_s=len(pieces) / 100,
        first_read_tokens=1,
    )
    assert json.loads(call.body) == asked


def test_a_reply_in_one_body():
    call = call_of(chat(1))
    assert (call.reply.text, call.usage.cached_tokens, call.status) == ("Yes.", 32, 200)
    assert call.timing == Timing(at=1.79e9 + 1, sent_at_s=1.0, headers_s=0.01, total_s=0.02)


def test_tokens_of_the_first_read_are_counted_and_make_its_time_a_bound():
    call = call_of(streamed(BODY, [CHAT[0] + CHAT[1] + CHAT[2], *CHAT[3:]]))
    assert (call.timing.ttft_s, call.timing.first_read_tokens) == (0.01, 2)


@pytest.mark.parametrize(
    "rewritten",
    [
        pytest.param(lambda data: data.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(lambda data: b"\xef\xbb\xbf: hello\n\n" + data, id="a mark and a comment"),
        pytest.param(lambda data: data.replace(b"data: ", b"data:"), id="no space"),
        pytest.param(lambda data: data.replace(b', "choices"', b'\ndata: , "choices"'), id="data over two lines"),
    ],
)
def test_other_ways_to_write_a_stream(rewritten):
    data = rewritten(b"".join(CHAT))
    half = data.index(b"day") + 20
    call = call_of(streamed(BODY, [data[:half], data[half:]]))
    assert (call.error, call.reply.text, call.timing.ttft_s, call.timing.first_read_tokens) == (
        None,
        "Good day.",
        0.01,
        1,
    )


def test_who_answered_and_at_which_tier():
    call = call_of(streamed(BODY, CHAT, response_headers={"content-type": "text/event-stream", "x-request-id": "q"}))
    assert call.response_headers == {
        "content-type": "text/event-stream",
        "x-request-id": "q",
        "system_fingerprint": "fp_1",
    }
    assert call.raw_usage["service_tier"] == "flex"
    assert call_of(streamed(BODY, RESPONSES, path="/v1/responses")).raw_usage["service_tier"] == "default"
    reply = json.dumps({**REPLY, "provider": "Acme", "service_tier": "priority"}).encode()
    call = call_of(exchange(BODY, reply))
    assert (call.response_headers["provider"], call.raw_usage["service_tier"]) == ("Acme", "priority")


def test_the_vendors_own_diagnosis_is_kept():
    assert call_of(streamed(BODY, MESSAGES, path="/v1/messages")).diagnosis == {"cache_miss_reason": "x"}
    assert call_of(streamed(BODY, CHAT)).diagnosis is None


def test_session_target_and_headers():
    call = call_of(chat(1, upstream="staging", request_headers={"session_id": "s", "content-encoding": ""}))
    assert (call.target, call.session, call.headers) == ("staging", "s", {"session_id": "s"})


def test_counts_in_headers():
    silent = json.dumps({**REPLY, "usage": {"completion_tokens": 2}}).encode()
    headers = {"fireworks-prompt-tokens": "40", "fireworks-cached-prompt-tokens": "32"}
    usage = call_of(exchange(BODY, silent, response_headers=headers)).usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.output_tokens) == (40, 32, 2)


# --- what is no call ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields", [{"path": "/v1/embeddings"}, {"method": "GET"}, {"path": "/v1/messages/count_tokens"}]
)
def test_exchanges_that_are_no_calls(fields):
    assert call_of(chat(1, **fields)) is None


def test_a_body_that_is_no_prompt_on_a_path_that_is_not_known():
    assert call_of(exchange(b'{"query":"x"}', b"{}", path="/search")) is None


# --- faults ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "error", "text"),
    [
        pytest.param(
            exchange(BODY, b'{"error":{"message":"slow down","code":"rate_limit"}}', status=429),
            "slow down (rate_limit)",
            None,
            id="refused",
        ),
        pytest.param(exchange(BODY, b"<html><title>Bad Gateway</title>", status=502), "Bad Gateway", None, id="a page"),
        pytest.param(
            exchange(BODY, b"", status=None, end="unanswered", error="connection refused", headers_ns=None),
            "connection refused",
            None,
            id="unanswered",
        ),
        pytest.param(
            streamed(BODY, CHAT[:2], end="cut", error="the upstream cut the reply after 120 bytes"),
            "the upstream cut the reply after 120 bytes",
            "Good ",
            id="cut",
        ),
        pytest.param(
            streamed(BODY, CHAT[:3], end="abandoned", error="the client went away"),
            "the client went away",
            "Good day.",
            id="abandoned",
        ),
        pytest.param(streamed(BODY, CHAT[:2], end="abandoned"), "abandoned", "Good ", id="abandoned without a word"),
        pytest.param(
            streamed(BODY, [CHAT[0], CHAT[1][:-20]]), "event 2 is malformed JSON", "", id="cut, and nobody noticed"
        ),
        pytest.param(exchange(BODY, b"\x00\x01"), "the reply is malformed JSON", None, id="no JSON"),
        pytest.param(
            exchange(b'{"mess', json.dumps(REPLY).encode()), None, "Yes.", id="a broken request that was answered"
        ),
        pytest.param(
            exchange(BODY, b"x", left_out=52_428_800),
            "52,428,800 bytes of the request and the reply were not kept, being over the limit of one call",
            None,
            id="too long",
        ),
    ],
)
def test_faults_are_said_and_what_came_is_kept(made, error, text):
    call = call_of(made)
    assert (call.error or "").startswith(error or "") and (call.error is None) == (error is None)
    assert (call.reply.text if call.reply else None) == text
    assert call.timing.total_s is None if made.end != "complete" else call.timing.total_s is not None
    assert call.body == made.request_body


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(CHAT, id="at the end mark, after the counts"),
        pytest.param([*CHAT[:3], b"data: [DONE]\n\n"], id="at the end mark, without counts"),
        pytest.param(CHAT[:-1], id="after the counts"),
    ],
)
def test_a_stream_left_at_its_end_is_whole(pieces):
    call = call_of(streamed(BODY, pieces, end="abandoned", error="the caller closed the response before its end"))
    assert (call.error, call.reply.text, call.timing.total_s) == (None, "Good day.", len(pieces) / 100)


# --- content codings ---------------------------------------------------------------------------------------------


def flushed_gzip(pieces: list[bytes]) -> list[bytes]:
    packer = zlib.compressobj(wbits=31)
    packed = [packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in pieces]
    return [*packed[:-1], packed[-1] + packer.flush()]


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP"])
def test_a_compressed_stream_keeps_its_moments(coding):
    headers = {"content-type": "text/event-stream", "content-encoding": coding}
    call = call_of(streamed(BODY, flushed_gzip(CHAT), response_headers=headers))
    assert (call.error, call.reply.text, call.timing.ttft_s) == (None, "Good day.", 0.02)
    assert call.response_headers["content-encoding"] == coding


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data)[2:-4]),
        ("gzip", lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:])),
        ("identity", bytes),
        ("deflate, gzip", lambda data: gzip.compress(zlib.compress(data))),
    ],
)
def test_compressed_bodies_both_ways(coding, pack):
    headers = {"content-encoding": coding}
    call = call_of(
        exchange(pack(BODY), pack(json.dumps(REPLY).encode()), request_headers=headers, response_headers=headers)
    )
    assert (call.error, call.body, call.usage.cached_tokens) == (None, BODY, 32)


class _Reversing:
    """Stands in for a library that is not among the requirements."""

    eof = False
    unused_data = b""

    def decompress(self, data, max_length=-1):
        return data[::-1]

    process = decompress


@pytest.mark.parametrize(
    ("coding", "module", "library"),
    [
        ("br", "brotli", SimpleNamespace(Decompressor=_Reversing)),
        ("br", "brotlicffi", SimpleNamespace(Decompressor=_Reversing)),
        ("zstd", "compression.zstd", SimpleNamespace(ZstdDecompressor=_Reversing)),
        ("zstd", "zstandard", SimpleNamespace(ZstdDecompressor=lambda: SimpleNamespace(decompressobj=_Reversing))),
    ],
)
def test_codings_that_need_a_library(monkeypatch, coding, module, library):
    for name in ("brotli", "brotlicffi", "compression", "compression.zstd", "backports.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    made = exchange(BODY, json.dumps(REPLY).encode()[::-1], response_headers={"content-encoding": coding})
    call = call_of(made)
    assert call.error.startswith(f"the reply is compressed as '{coding}', which needs the package ")
    assert (call.reply, call.usage.prompt_tokens, call.status) == (None, None, 200)
    monkeypatch.setitem(sys.modules, module, library)
    assert call_of(made).usage.cached_tokens == 32


def test_a_request_that_cannot_be_unpacked_is_kept_as_it_is():
    call = call_of(
        exchange(b"\x1f\x8bbroken", json.dumps(REPLY).encode(), request_headers={"content-encoding": "gzip"})
    )
    assert call.error.startswith("the request cannot be read: ")
    assert (call.body, call.usage.cached_tokens) == (b"\x1f\x8bbroken", 32)
