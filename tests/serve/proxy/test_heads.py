"""Heads: what is read of them, and what is changed in a request's."""

import pytest

from hitrate.serve.proxy.heads import Malformed, RequestHead, ResponseHead

SENT = (
    b"POST /v1/x?a=b HTTP/1.1\r\n"
    b"hOsT:localhost:8787\r\n"
    b"X-Twice: 1\r\n"
    b"Authorization:  Bearer k \r\n"
    b"X-Hitrate-Token: t\r\n"
    b"x-twice:2\r\n"
    b"Empty:\r\n"
    b"\r\n"
)


def test_a_request_is_changed_in_target_host_and_token_alone():
    assert RequestHead(SENT).rewritten(b"/base/x?a=b", b"up:1") == (
        b"POST /base/x?a=b HTTP/1.1\r\n"
        b"hOsT: up:1\r\n"
        b"X-Twice: 1\r\n"
        b"Authorization:  Bearer k \r\n"
        b"x-twice:2\r\n"
        b"Empty:\r\n"
        b"\r\n"
    )


def test_what_is_read_of_a_head():
    head = RequestHead(SENT)
    assert (head.method, head.target, head.version) == (b"POST", b"/v1/x?a=b", b"HTTP/1.1")
    assert head.values(b"x-twice") == [b"1", b"2"]
    assert head.value(b"x-twice") == b"2"
    assert head.value(b"authorization") == b"Bearer k"
    assert (head.value(b"empty"), head.value(b"absent")) == (b"", None)
    assert head.pairs()[:2] == [("host", "localhost:8787"), ("x-twice", "1")]


def test_a_request_without_host_is_given_one():
    assert RequestHead(b"GET / HTTP/1.0\r\nA: b\r\n\r\n").rewritten(b"/", b"up") == (
        b"GET / HTTP/1.0\r\nHost: up\r\nA: b\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("version", "headers", "keeps"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"Connection: close\r\n", False),
        (b"1.1", b"Connection: TE, Close\r\n", False),
        (b"1.1", b"Connection: TE\r\nConnection: close\r\n", False),
        (b"1.0", b"", False),
        (b"1.0", b"Connection: Keep-Alive\r\n", True),
    ],
)
def test_keep_alive(version, headers, keeps):
    assert RequestHead(b"GET / HTTP/%b\r\n%b\r\n" % (version, headers)).keep_alive is keeps
    assert ResponseHead(b"HTTP/%b 200 OK\r\n%b\r\n" % (version, headers)).keep_alive is keeps


@pytest.mark.parametrize(
    ("headers", "chunked", "length"),
    [
        (b"", False, None),
        (b"Content-Length: 12\r\n", False, 12),
        (b"Transfer-Encoding: chunked\r\n", True, None),
        (b"Transfer-Encoding: gzip, Chunked\r\n", True, None),
        (b"Transfer-Encoding: gzip\r\nTransfer-Encoding:chunked\r\n", True, None),
    ],
)
def test_how_a_body_is_framed(headers, chunked, length):
    head = RequestHead(b"POST / HTTP/1.1\r\n%b\r\n" % headers)
    assert (head.chunked, head.content_length) == (chunked, length)


@pytest.mark.parametrize("line", [b"HTTP/1.1 200 OK", b"HTTP/1.1 200 ", b"HTTP/1.1 200", b"HTTP/1.0 200 a b \xfc"])
def test_status_lines(line):
    assert ResponseHead(line + b"\r\n\r\n").status == 200


@pytest.mark.parametrize("line", [b"HTTP/2 200", b"HTTP/1.1 20", b"HTTP/1.1 2000 x", b"ICY 200 OK", b"HTTP/1.1"])
def test_status_lines_that_are_none(line):
    with pytest.raises(Malformed):
        ResponseHead(line + b"\r\n\r\n")


@pytest.mark.parametrize(
    "start",
    [
        b"GET / HTTP/2.0",
        b"PRI * HTTP/2.0",
        b"GET /",
        b"GET /a b HTTP/1.1",
        b"get / HTTP/1.1",
        b"GET  / HTTP/1.1",
        b"\x16\x03",
    ],
)
def test_request_lines_that_are_none(start):
    with pytest.raises(Malformed):
        RequestHead(start + b"\r\n\r\n")
