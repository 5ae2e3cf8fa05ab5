"""Literal bytes from the server in, one Call out."""

import gzip
import zlib

import pytest
from wire_server import (
    ALL,
    CLOSE,
    COUNTS,
    DONE,
    HEL,
    LO,
    RESET,
    ROLE,
    STOP,
    STREAM,
    THINK,
    USAGE,
    WHOLE,
    WireServer,
    call_once,
    chunked,
    stream,
    with_length,
)

from hitrate.errors import TargetError
from hitrate.live.client import Client
from hitrate.targets.dialects.openai_chat import OpenAIChat


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(stream(*WHOLE), id="one chunk an event"),
        pytest.param(stream(*WHOLE, end=b"\r\n\r\n"), id="CRLF"),
        pytest.param(stream(*WHOLE, end=b"\r\r"), id="CR"),
        pytest.param(stream(*(event.replace(b"data: ", b"data:") for event in WHOLE)), id="no space"),
        pytest.param(stream(b": ping", ROLE, b": ping\n\n: ping", *WHOLE[1:]), id="comments"),
        pytest.param(stream(b"\xef\xbb\xbf" + ROLE, *WHOLE[1:]), id="byte order mark"),
        pytest.param(stream(*(b"event: message\nid: 1\nretry: 9\n" + event for event in WHOLE)), id="other fields"),
        pytest.param(stream(ROLE.replace(b'"choices"', b'\ndata: "choices"'), *WHOLE[1:]), id="multi-line data"),
        pytest.param([STREAM + b"Transfer-Encoding: chunked\r\n\r\n", *chunked(ALL)], id="all in one chunk"),
        pytest.param(
            [STREAM + b"Transfer-Encoding: chunked\r\n\r\n", *chunked(*(ALL[i : i + 1] for i in range(len(ALL))))],
            id="one chunk a byte, UTF-8 cut",
        ),
        pytest.param([part[i : i + 7] for part in stream(*WHOLE) for i in range(0, len(part), 7)], id="split segments"),
        pytest.param(with_length(ALL, headers=b"Content-Type: text/event-stream\r\n"), id="content length"),
        pytest.param([STREAM + b"\r\n", ALL, CLOSE], id="until the connection closes"),
        pytest.param([STREAM + b"\r\n", ALL.removesuffix(b"\n\n"), CLOSE], id="no blank line at the end"),
        pytest.param([b"HTTP/1.1 100 Continue\r\n\r\n", *stream(*WHOLE)], id="100 Continue first"),
        pytest.param(with_length(ALL), id="no content type"),
        pytest.param(with_length(ALL, headers=b"Content-Type: application/json\r\n"), id="wrong content type"),
        pytest.param(stream(HEL, LO, STOP, USAGE, DONE), id="no role chunk"),
        pytest.param(stream(ROLE, HEL, LO, STOP[:-1] + b"," + COUNTS + b"}", DONE), id="usage in the last chunk"),
        pytest.param(stream(ROLE[:-1] + b"," + COUNTS + b"}", HEL, LO, STOP, DONE), id="usage in the first chunk"),
        pytest.param(stream(ROLE, HEL, LO, STOP, USAGE), id="no [DONE]"),
        pytest.param(with_length(gzip.compress(ALL), headers=b"Content-Encoding: gzip\r\n"), id="gzip all the same"),
        pytest.param(with_length(zlib.compress(ALL), headers=b"Content-Encoding: deflate\r\n"), id="deflate"),
        pytest.param(
            with_length(zlib.compress(ALL, wbits=-15), headers=b"Content-Encoding: deflate\r\n"), id="bare deflate"
        ),
    ],
)
def test_every_shape_of_a_stream_gives_the_same_text_and_usage(run, reply):
    call = run(call_once(WireServer(reply)))
    assert call.error is None
    assert call.status == 200
    assert call.reply.text == "Hellö"
    assert call.reply.finish_reason == "stop"
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens) == (90, 64, 2)
    timing = call.timing
    assert 0 < timing.headers_s <= timing.ttft_s == timing.first_content_s <= timing.total_s
    assert timing.first_read_tokens >= 1


def test_a_plain_reply_has_no_ttft(run):
    body = (
        b'{"id":"r1","choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],'
        + COUNTS
        + b"}"
    )
    call = run(call_once(WireServer(with_length(body)), stream=False))
    assert (call.reply.text, call.usage.cached_tokens, call.error) == ("Hi", 64, None)
    assert call.timing.ttft_s is None
    assert call.timing.total_s > 0


def test_reasoning_is_the_first_token_but_not_the_first_content(run):
    call = run(call_once(WireServer(stream(ROLE, THINK, THINK, HEL, STOP, DONE))))
    assert (call.reply.reasoning, call.reply.text) == ("hmhm", "Hel")
    assert call.timing.ttft_s <= call.timing.first_content_s


def test_tokens_that_share_the_first_read_are_counted_and_make_the_ttft_an_upper_bound(run):
    call = run(call_once(WireServer([b"".join(stream(ROLE, THINK, HEL, LO, STOP, DONE))])))
    assert call.timing.first_read_tokens == 3
    assert call.timing.ttft_is_upper_bound


def test_usage_that_does_not_come_stays_unknown(run):
    call = run(call_once(WireServer(stream(ROLE, HEL, STOP, DONE))))
    assert call.error is None
    assert call.usage.prompt_tokens is call.usage.cached_tokens is None


@pytest.mark.parametrize(
    ("reply", "text", "error"),
    [
        pytest.param(
            [b"".join(stream(ROLE, HEL)[:-1]), CLOSE],
            "Hel",
            f"the server cut the connection inside the reply, after {len(ROLE + HEL) + 4} bytes of body",
            id="cut between chunks",
        ),
        pytest.param(
            [b"".join(stream(ROLE, HEL)[:-1]) + b"ff\r\ndata: {", CLOSE],
            "Hel",
            f"the server cut the connection inside the reply, after {len(ROLE + HEL) + 11} bytes of body",
            id="cut inside a chunk",
        ),
        pytest.param(
            [b"".join(stream(ROLE, HEL)[:-1]) + b"xyz\r\n"],
            "Hel",
            "malformed HTTP from the server: Invalid character in chunk size",
            id="malformed chunk size",
        ),
        pytest.param(
            stream(ROLE, HEL, b'data: {"choices": [{', STOP, DONE),
            "Hel",
            "event 3 is malformed JSON (",
            id="malformed event",
        ),
        pytest.param(
            stream(ROLE, HEL, b'data: {"error":{"message":"overloaded","code":529}}'),
            "Hel",
            "event 3: the server sent an error after status 200: overloaded (529)",
            id="error event after status 200",
        ),
        pytest.param(
            stream(ROLE, HEL, b'{"error":{"message":"overloaded"}}'),
            "Hel",
            "event 3: the server sent an error after status 200: overloaded",
            id="error line without data:",
        ),
        pytest.param(stream(ROLE, HEL), "Hel", "the stream ended before the reply was finished", id="no end mark"),
        pytest.param(stream(b": ping"), None, "the reply holds no message", id="no event at all"),
        pytest.param(with_length(b""), None, "the reply is malformed JSON (", id="nothing at all"),
        pytest.param(
            with_length(b'{"error":{"message":"no","code":"bad"}}', headers=b"Content-Type: text/event-stream\r\n"),
            None,
            "the server answered with an error: no (bad)",
            id="error body under the content type of a stream",
        ),
        pytest.param(
            with_length(b"\x1b\x02", headers=b"Content-Encoding: compress\r\n"),
            None,
            "the reply is compressed as 'compress', which cannot be read",
            id="unknown coding",
        ),
        pytest.param(
            with_length(b"\x1f\x8bnope-nope-nope", headers=b"Content-Encoding: gzip\r\n"),
            None,
            "the reply's gzip data is broken (",
            id="broken gzip",
        ),
    ],
)
def test_a_broken_reply_keeps_what_came_and_says_why(run, reply, text, error):
    call = run(call_once(WireServer(reply)))
    assert call.status == 200
    assert call.error.startswith(error)
    assert (call.reply and call.reply.text) == text
    assert call.timing is not None


def test_a_reset_inside_the_reply_is_a_cut(run):
    # Whether bytes sent before a reset still arrive is up to the kernel; the call fails in one line either way.
    call = run(call_once(WireServer([b"".join(stream(ROLE, HEL)[:-1]), RESET])))
    assert call.error.startswith(("the server cut the connection", "the server closed the connection"))
    assert call.timing.total_s is None


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (
            b"404 Not Found",
            b'{"error":{"message":"no model x","type":"invalid","code":"model_not_found"}}',
            "no model x (model_not_found)",
        ),
        (b"400 Bad Request", b'{"object":"error","message":"too\\nlong","code":40303}', "too long (40303)"),
        (b"400 Bad Request", b'{"error":"model is required"}', "model is required"),
        (b"422 Unprocessable", b'{"detail":[{"loc":["body"],"msg":"bad"}]}', '[{"loc":["body"],"msg":"bad"}]'),
        (b"401 Unauthorized", b'{"message":"Unauthorized"}', "Unauthorized"),
        (b"500 Oops", b"<html><head><title>500 &amp; gone</title></head><body>x</body></html>", "500 & gone"),
        (b"502 Bad Gateway", b"<!DOCTYPE html><h1>Bad</h1> <p>gateway</p>", "Bad gateway"),
        (b"500 Oops", b"upstream \x1b[31m failed", "upstream \\x1b[31m failed"),
        (b"503 Service Unavailable", b"", "HTTP 503 Service Unavailable"),
        (b"599 Odd", b"", "HTTP 599"),
        (b"500 Oops", b"x" * 1000, "x" * 297 + "..."),
    ],
)
def test_an_error_status_is_told_in_one_line(run, status, body, error):
    call = run(call_once(WireServer(with_length(body, status=status)), max_retries=0))
    assert call.status == int(status.split()[0])
    assert call.error == error
    assert call.reply is None


def test_a_redirect_is_named_and_not_followed(run):
    reply = with_length(b"", status=b"307 Temporary Redirect", headers=b"Location: https://b.example/v1?sig=1\r\n")
    call = run(call_once(WireServer(reply)))
    assert call.error == "HTTP 307 Temporary Redirect to https://b.example/v1: use that address"


def test_keys_appear_nowhere_in_the_call(run):
    refused = with_length(
        b'{"error":{"message":"Incorrect API key sk-verysecret"}}',
        status=b"401 Unauthorized",
        headers=b"Set-Cookie: c=sk-verysecret\r\nX-Request-Id: q1\r\n",
    )
    server = WireServer(refused)
    call = run(
        call_once(
            server,
            headers={"X-Session-Affinity": "s1", "X-Api-Key": "other-secret"},
            session="s",
        )
    )
    assert b"X-Api-Key: other-secret\r\n" in server.requests[0][0]
    assert call.headers == {"x-session-affinity": "s1"}
    assert call.response_headers == {"x-request-id": "q1"}

    async def with_client_key():
        server = WireServer(refused)
        async with (
            server,
            Client(
                server.url, target="t", dialect=OpenAIChat(), headers={"Authorization": "Bearer sk-verysecret"}
            ) as client,
        ):
            call = await client.call(b"{}")
        assert b"Authorization: Bearer sk-verysecret\r\n" in server.requests[0][0]
        return call

    call = run(with_client_key())
    assert call.error == "Incorrect API key ***"
    assert "verysecret" not in repr(call)


def test_the_request_goes_out_as_written(run):
    server = WireServer(stream(*WHOLE))
    call = run(call_once(server, body=b'{"model": "m-1",  "n": 1}'))
    head, body = server.requests[0]
    assert body == b'{"model": "m-1",  "n": 1}'
    assert head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % server.port)
    assert b"\r\nAccept-Encoding: identity\r\n" in head
    assert b"\r\nAccept: text/event-stream\r\n" in head
    assert (call.target, call.dialect, call.model, call.body) == ("t", "openai-chat", "m-1", body)


class Waits:
    """Stands in for sleeping."""

    def __init__(self):
        self.slept = []
        self.told = []

    async def sleep(self, seconds):
        self.slept.append(seconds)

    def tell(self, seconds, status):
        self.told.append((seconds, status))

    @property
    def options(self):
        return {"sleep": self.sleep, "on_wait": self.tell}


def limited(
    headers: bytes, status: bytes = b"429 Too Many Requests", body: bytes = b'{"error":"slow down"}'
) -> list[bytes]:
    return with_length(body, status=status, headers=headers)


def test_a_429_is_waited_out_as_the_server_says_and_counted(run):
    waits = Waits()
    server = WireServer(
        limited(b"Retry-After: 2\r\n"), limited(b"Retry-After-Ms: 1500\r\n", b"503 Busy"), limited(b""), stream(*WHOLE)
    )
    call = run(call_once(server, **waits.options))
    assert call.error is None
    assert call.waits == (2.0, 1.5, 4.0)
    assert waits.slept == [2.0, 1.5, 4.0]
    assert waits.told == [(2.0, 429), (1.5, 503), (4.0, 429)]
    assert server.connections_of_requests == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("reply", "options", "waits"),
    [
        pytest.param(limited(b"Retry-After: 3\r\n"), {"max_retries": 2}, (3.0, 3.0), id="too often"),
        pytest.param(limited(b"Retry-After: 3600\r\n"), {}, (), id="too long"),
        pytest.param(limited(b"", b"503 Loading"), {}, (), id="503 without a time"),
        pytest.param(limited(b"", body=b'{"error":{"code":"insufficient_quota"}}'), {}, (), id="no money"),
    ],
)
def test_a_wait_that_is_no_use_is_not_waited(run, reply, options, waits):
    call = run(call_once(WireServer(*[reply] * 3), **Waits().options, **options))
    assert call.status in (429, 503)
    assert call.waits == waits
    assert call.error


def test_json_can_be_asked_for_beside_the_calls(run):
    async def main():
        server = WireServer(
            with_length(b'{"data":[{"id":"m"}]}'),
            with_length(b"ok"),
            with_length(b'{"error":"no slots"}', status=b"501 Not Implemented"),
            with_length(b'{"tokens":[1]}'),
        )
        async with server, Client(server.url + "?api-version=1", target="t", dialect=OpenAIChat()) as client:
            assert await client.get_json("/models") == {"data": [{"id": "m"}]}
            with pytest.raises(TargetError, match=r"GET .*/health: the reply is not JSON"):
                await client.get_json("/health", from_root=True)
            with pytest.raises(TargetError, match=r"GET .*/slots: HTTP 501: no slots"):
                await client.get_json("/slots", from_root=True)
            assert await client.post_json("/tokenize", {"content": "hi"}, from_root=True) == {"tokens": [1]}
        heads = [head.split(b" HTTP/1.1")[0] for head, _ in server.requests]
        assert heads == [
            b"GET /v1/models?api-version=1",
            b"GET /health?api-version=1",
            b"GET /slots?api-version=1",
            b"POST /tokenize?api-version=1",
        ]
        assert server.requests[3][1] == b'{"content":"hi"}'

    run(main())
