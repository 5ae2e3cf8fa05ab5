"""Stamped reads in, stamped slices out; no socket. Read number n comes at stamp 10 n."""

import pytest

from hitrate.live.response import LONGEST_REPLY_BYTES, TOO_LONG, Response

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def response_of(*reads: bytes, closed: bool = False, error: Exception | None = None) -> Response:
    response = Response()
    for number, read in enumerate(reads, 1):
        response.feed(number * 10, read)
    if closed:
        response.end_of_stream(error)
    return response


@pytest.mark.parametrize(
    ("reads", "slices", "reusable"),
    [
        pytest.param([OK + b"Content-Length: 2\r\n\r\nhi"], [(10, 1, b"hi")], True, id="content length"),
        pytest.param(
            [OK + b"Content-Length: 2\r\n\r\nh", b"i"], [(10, 1, b"h"), (20, 2, b"i")], True, id="in two reads"
        ),
        pytest.param(
            [CHUNKED + b"1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"],
            [(10, 1, b"hi")],
            True,
            id="two chunks in one read",
        ),
        pytest.param(
            [CHUNKED + b"2;x=y\r", b"\nh", b"i\r\n0", b"\r\nTrailer: t\r\n\r\n"],
            [(20, 2, b"h"), (30, 3, b"i")],
            True,
            id="chunk cut anywhere",
        ),
        pytest.param([OK + b"Connection: close\r\nContent-Length: 0\r\n\r\n"], [], False, id="connection: close"),
        pytest.param([b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"], [(10, 1, b"hi")], False, id="HTTP/1.0"),
        pytest.param([b"HTTP/1.1 204 No Content\r\n\r\n"], [], True, id="no content"),
        pytest.param(
            [
                b"HTTP/1.1 100 Continue\r\n\r\n",
                b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\nx",
            ],
            [(20, 2, b"x")],
            True,
            id="1xx first",
        ),
        pytest.param(
            [OK + b"Content-Length: 2\r\n\r\nhi and more"], [(10, 1, b"hi")], False, id="more than was announced"
        ),
    ],
)
def test_whole_replies(reads, slices, reusable):
    response = response_of(*reads)
    assert response.complete
    assert response.fault is None
    assert response.slices == slices
    assert response.reusable is reusable


def test_headers_are_those_of_the_final_reply_and_stamped_when_they_were_whole():
    response = response_of(
        b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n", OK + b"X-A: 1\r\nx-a: 2\r\nContent-", b"Length: 1\r\n\r\n", b"x"
    )
    assert response.headers == {"x-a": "2", "content-length": "1"}
    assert (response.status, response.headers_ns, response.last_ns, response.reads) == (200, 30, 40, 4)


def test_a_body_without_length_ends_with_the_connection():
    assert not response_of(OK + b"\r\nhi").ended
    response = response_of(OK + b"\r\nhi", closed=True)
    assert response.complete
    assert not response.reusable
    assert response.body == b"hi"


@pytest.mark.parametrize(
    ("reads", "error", "fault"),
    [
        ([], None, "the server closed the connection without a reply"),
        ([OK], None, "the server cut the connection inside the reply, after 0 bytes of body"),
        ([CHUNKED + b"5\r\nhel"], None, "the server cut the connection inside the reply, after 3 bytes of body"),
        (
            [OK + b"Content-Length: 9\r\n\r\nhi"],
            None,
            "the server cut the connection inside the reply, after 2 bytes of body",
        ),
        (
            [OK + b"\r\nhi"],
            ConnectionResetError(),
            "the server cut the connection inside the reply, after 2 bytes of body",
        ),
        ([CHUNKED + b"2\r\nhi\r\nzz\r\n"], None, "malformed HTTP from the server: Invalid character in chunk size"),
        ([b"hello"], None, "malformed HTTP from the server: Expected HTTP/, RTSP/ or ICE/"),
        (
            [b"HTTP/1.1 101 S\r\nUpgrade: h2\r\nConnection: upgrade\r\n\r\n"],
            None,
            "the server switched to another protocol (HTTP 101)",
        ),
    ],
)
def test_faults_say_what_happened_and_keep_what_came(reads, error, fault):
    response = response_of(*reads, closed=True, error=error)
    assert response.fault == fault
    assert not response.complete
    assert not response.reusable
    assert response.closed_silently is (reads == [])
    assert response.body == b"".join(part for _, _, part in response.slices)


def test_reads_behind_the_end_change_nothing():
    response = response_of(OK + b"Content-Length: 2\r\n\r\nhi", b"HTTP/1.1 500 No\r\n\r\n", closed=True)
    assert (response.status, response.body, response.last_ns, response.fault) == (200, b"hi", 10, None)


@pytest.mark.parametrize(
    ("opening", "read", "most_reads"),
    [
        pytest.param(OK + b"\r\ndata: ", b"x" * 2**20, 64, id="one event without end"),
        pytest.param(CHUNKED, b"1\r\nx\r\n" * 2**16, 10, id="tiny chunks"),
        pytest.param(OK, b"a:b\r\n" * 2**16, 10, id="headers without end"),
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2**15, 82, id="1xx without end"),
    ],
)
def test_a_reply_without_end_is_given_up_and_dropped(opening, read, most_reads):
    response = Response()
    response.feed(10, opening)
    reads = next(number for number in range(1, most_reads + 1) if response.feed(20, read))
    assert reads > 5
    assert (response.fault, response.complete, response.reusable, response.slices) == (TOO_LONG, False, False, [])
    assert TOO_LONG == "the reply is longer than 64 MiB, the most that is read of one"


def test_a_reply_of_just_the_most_is_read_whole():
    head = OK + b"\r\n"
    response = response_of(head, b"x" * (LONGEST_REPLY_BYTES - len(head) - 100), closed=True)
    assert (response.fault, len(response.body)) == (None, LONGEST_REPLY_BYTES - len(head) - 100)
