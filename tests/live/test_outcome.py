"""Stamped reads to the times of a call, without a socket: read number n arrives n ms after the request was written."""

import gzip

import pytest

from hitrate.core.model import Timing
from hitrate.live.outcome import one_line, read_outcome, timing_of
from hitrate.live.response import LONGEST_REPLY_BYTES, TOO_LONG, Response
from hitrate.targets.dialects.openai_chat import OpenAIChat

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
ROLE = b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n'
THINK = b'data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}\n\n'
CALL = b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}]}\n\n'
WORD = b'data: {"choices":[{"delta":{"content":"word"}}]}\n\n'
END = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
PING = b": ping\n\n"


def timing(*reads: bytes, chunk=lambda part: b"%x\r\n%b\r\n" % (len(part), part)) -> Timing:
    response = Response()
    response.written_ns = 1_000_000_000
    pieces = [HEAD, *(chunk(read) for read in reads), b"0\r\n\r\n"]
    for number, piece in enumerate(pieces, 1):
        response.feed(1_000_000_000 + number * 1_000_000, piece)
    outcome = read_outcome(response, OpenAIChat())
    assert outcome.error is None
    return timing_of(response, outcome, origin_ns=400_000_000, origin_unix=1.79e9)


@pytest.mark.parametrize(
    ("reads", "ttft_ms", "first_content_ms", "first_read_tokens"),
    [
        pytest.param([WORD, WORD, END], 2, 2, 1, id="text at once"),
        pytest.param([ROLE, WORD, END], 3, 3, 1, id="a role chunk is no token"),
        pytest.param([PING, ROLE, PING, WORD, END], 5, 5, 1, id="nor is a ping"),
        pytest.param([ROLE, THINK, THINK, WORD, END], 3, 5, 1, id="reasoning is"),
        pytest.param([ROLE, CALL, END], 3, None, 1, id="so is a tool call"),
        pytest.param([ROLE + WORD + WORD, WORD, END], 2, 2, 2, id="two tokens in the first read"),
        pytest.param([ROLE, WORD[:20], WORD[20:], END], 4, 4, 1, id="an event in two reads"),
        pytest.param([ROLE, WORD[:-1], WORD[-1:], END], 3, 3, 1, id="its blank line later"),
        pytest.param([WORD.replace(b"\n", b"\r\n"), END], 2, 2, 1, id="CRLF"),
        pytest.param([ROLE, END], None, None, 0, id="no token at all"),
    ],
)
def test_times_of_a_stream(reads, ttft_ms, first_content_ms, first_read_tokens):
    found = timing(*reads)
    assert found.ttft_s == (ttft_ms and ttft_ms / 1e3)
    assert found.first_content_s == (first_content_ms and first_content_ms / 1e3)
    assert found.first_read_tokens == first_read_tokens
    assert (found.headers_s, found.total_s) == (0.001, (len(reads) + 2) / 1e3)
    assert (found.sent_at_s, found.at) == (0.6, 1.79e9 + 0.6)


def test_nothing_written_has_no_times():
    response = Response()
    response.fail("connection refused")
    outcome = read_outcome(response, OpenAIChat())
    assert outcome.error == "connection refused"
    assert timing_of(response, outcome, origin_ns=0, origin_unix=0.0) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n\tb  c", "a b c"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("right\u202eleft\u200b", "right\\u202eleft\\u200b"),
        ("grüße 日本", "grüße 日本"),
        ("x" * 301, "x" * 297 + "..."),
    ],
)
def test_others_text_becomes_one_harmless_line(text, line):
    assert one_line(text) == line


def test_a_small_reply_that_unpacks_without_end_is_given_up():
    packed = gzip.compress(b"x" * (LONGEST_REPLY_BYTES + 1), 1)
    response = Response()
    response.feed(10, b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed)
    assert response.complete
    assert (read_outcome(response, OpenAIChat()).error, len(packed) < 2**20) == (TOO_LONG, True)


@pytest.mark.parametrize(
    ("kind", "body", "error"),
    [
        (b"text/html; charset=utf-8", b"<h1>It works!</h1>", "the reply is a page (text/html), not JSON"),
        (
            b"application/octet-stream",
            b"\n<!DOCTYPE html><title>Hi</title>",
            "the reply is a page (text/html), not JSON",
        ),
        (b"text/event-stream", b"<html></html>", "the reply is a page (text/html), not JSON"),
        (b"text/plain", b"OK", "the reply is text (text/plain), not JSON"),
    ],
)
def test_a_page_where_a_reply_should_be(kind, body, error):
    response = Response()
    response.feed(10, b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (kind, len(body), body))
    assert read_outcome(response, OpenAIChat()).error == f"{error}; is the base URL right?"


def test_json_is_read_whatever_it_is_called():
    body = b'{"choices":[{"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}'
    response = Response()
    response.feed(10, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    assert read_outcome(response, OpenAIChat()).reading.reply.text == "Yes."
