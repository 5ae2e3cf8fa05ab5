"""Where a message ends, however its bytes come."""

from contextlib import suppress

import httptools
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proxy_rig import chunks

from hitrate.serve.proxy import framing as framing_module
from hitrate.serve.proxy.framing import Chunked, Length, UntilClose, response_framing
from hitrate.serve.proxy.heads import Malformed, ResponseHead


def fed(framing, *pieces):
    """How many bytes were taken, and the body."""
    body, taken = [], 0
    for piece in pieces:
        own = framing.feed(piece, body.append) if not framing.complete else 0
        taken += own
    return taken, b"".join(body)


@pytest.mark.parametrize(
    ("pieces", "taken", "body"),
    [
        ([b"0\r\n\r\nNEXT"], 5, b""),
        ([b"3\r\nabc\r\n0\r\n\r\nNEXT"], 13, b"abc"),
        ([b"3;ext=1\r\nabc\r\n00\r\nTrailer: x\r\n\r\nNEXT"], 32, b"abc"),
        ([b"A \r\n0123456789\r\n0\r\n\r\n"], 21, b"0123456789"),
        ([b"3\r", b"\na", b"bc", b"\r", b"\n0", b"\r\n", b"\r", b"\nN"], 13, b"abc"),
    ],
)
def test_chunks(pieces, taken, body):
    framing = Chunked()
    assert fed(framing, *pieces) == (taken, body)
    assert framing.complete


@pytest.mark.parametrize(
    "wire",
    [
        b"\r\n",
        b"x\r\n",
        b"3\nabc\r\n",
        b" 3\r\nabc\r\n",
        b"-3\r\nabc\r\n",
        b"0x3\r\nabc\r\n",
        b"3\r\nabcd\r\n",
        b"3\r\nabc\n",
        b"3 3\r\nabc\r\n",
        b"1234567890abcdef0\r\n",
        b"0\r\nTrailer: x\n\r\n",
        b"0\r\n0\r\n\r\n",
        b"1;" + b"x" * 70_000,
    ],
)
def test_chunks_that_are_none(wire):
    with pytest.raises(Malformed):
        fed(Chunked(), wire)


class Seen:
    """What httptools makes of a response."""

    def __init__(self):
        self.body, self.complete = b"", False

    def on_body(self, data):
        self.body += data

    def on_message_complete(self):
        self.complete = True


ALPHABET = st.sampled_from([b"0", b"3", b"a", b";x", b"\r\n", b"\r", b"\n", b" ", b"abc", b"T: v"])


@pytest.fixture(params=[0, framing_module._SPLIT_FROM_BYTES], ids=["all-at-once", "one-by-one"])
def split_from(request):
    """Bytes from which on chunks are looked for together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing_module, "_SPLIT_FROM_BYTES", request.param)
        patch.setattr(framing_module, "_known_sizes", {b"3": 3, b"A": 10, b"a": 10, b"003": 3})
        yield


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ALPHABET, max_size=12).map(b"".join), st.integers(0, 30))
def test_chunks_are_no_others_than_httptools_sees(split_from, wire, cut):
    """Two readings of where a message ends would let bytes of one pass for another."""
    seen, framing, body = Seen(), Chunked(), []
    parser = httptools.HttpResponseParser(seen)
    parser.set_dangerous_leniencies(lenient_spaces_after_chunk_size=True)
    with suppress(httptools.HttpParserError):
        parser.feed_data(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + wire)
    try:
        taken = framing.feed(wire[:cut], body.append)
        if not framing.complete:
            taken += framing.feed(wire[cut:], body.append)
    except Malformed:
        assert not seen.complete
        return
    assert not framing.complete or seen.complete
    if framing.complete:
        assert b"".join(body) == seen.body
        assert wire[:taken].endswith(b"\r\n")


PAYLOAD = st.sampled_from([b"abc", b"0123456789", b"a\r\n", b"\r\n\r\n0\r\nabc", b"3\r\nabc\r\n", b"x" * 300])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PAYLOAD), st.sampled_from([b"", b"T: v\r\n"]), st.lists(st.integers(0, 400), max_size=4).map(sorted))
def test_chunks_however_they_are_cut(split_from, payloads, trailers, cuts):
    wire = chunks(*payloads, trailers=trailers)
    ends = [*cuts, len(wire)]
    pieces = [wire[start:end] for start, end in zip([0, *cuts], ends, strict=True)]
    framing = Chunked()
    assert fed(framing, *pieces, b"NEXT") == (len(wire), b"".join(payloads))
    assert framing.complete


def test_many_chunks_are_kept_in_one_piece():
    """And the next message is left alone."""
    framing, body = Chunked(), []
    wire = chunks(*[b"%03d" % number for number in range(500)])
    framing.feed(b"3\r\nabc\r\n", body.append)
    assert framing.feed(wire + b"NEXT", body.append) == len(wire)
    assert body == [b"abc", b"".join(b"%03d" % number for number in range(500))]


@given(st.binary(max_size=50), st.integers(0, 40), st.integers(0, 50))
def test_lengths(data, length, cut):
    framing = Length(length)
    taken, body = fed(framing, data[:cut], data[cut:])
    assert (taken, body) == (min(length, len(data)), data[:length])
    assert framing.complete == (len(data) >= length)


def test_until_close():
    framing = UntilClose()
    assert fed(framing, b"abc", b"0\r\n\r\n") == (8, b"abc0\r\n\r\n")
    assert not framing.complete


@pytest.mark.parametrize(
    ("method", "status", "headers", "framing"),
    [
        (b"GET", 200, b"Content-Length: 3\r\n", Length),
        (b"GET", 200, b"", UntilClose),
        (b"GET", 200, b"Transfer-Encoding: chunked\r\n", Chunked),
        (b"GET", 200, b"Transfer-Encoding: gzip\r\n", UntilClose),
        (b"HEAD", 200, b"Transfer-Encoding: chunked\r\n", Length),
        (b"HEAD", 200, b"Content-Length: 3\r\n", Length),
        (b"POST", 204, b"", Length),
        (b"POST", 304, b"Content-Length: 3\r\n", Length),
    ],
)
def test_the_framing_of_an_answer(method, status, headers, framing):
    found = response_framing(ResponseHead(b"HTTP/1.1 %d OK\r\n%b\r\n" % (status, headers)), method)
    assert type(found) is framing
    assert found.complete == (method == b"HEAD" or status in (204, 304))
