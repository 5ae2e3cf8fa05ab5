"""Reads in, events out. A read is written as bytes; its number is its place from 1, its stamp ten times that."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core.sse import looks_like_events, split_events


def events_of(*reads: bytes) -> list[tuple[int, int, bytes]]:
    return [
        tuple(event) for event in split_events([(number * 10, number, read) for number, read in enumerate(reads, 1)])
    ]


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b"data: a\n\ndata: b\n\n", id="LF"),
        pytest.param(b"data: a\r\n\r\ndata: b\r\n\r\n", id="CRLF"),
        pytest.param(b"data: a\r\rdata: b\r\r", id="CR"),
        pytest.param(b"data: a\r\n\ndata: b\n\r\n", id="mixed"),
        pytest.param(b"data: a\n\r\n\rdata: b\r\r\n", id="mixed, more blank lines"),
        pytest.param(b"data:a\n\ndata:b\n\n", id="no space after the colon"),
        pytest.param(b": ping\n\ndata: a\n\n:\n\n: ping\ndata: b\n\n", id="comments"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\ndata: b\n\n", id="byte order mark"),
        pytest.param(b"event: x\nid: 7\nretry: 10\ndata: a\n\ndata: b\nevent: y\n\n", id="other fields"),
        pytest.param(b"data: a\n\ndata: b", id="cut off by the end of the stream"),
        pytest.param(b"data: a\n\ndata: b\n", id="no blank line at the end"),
        pytest.param(b"data:\n\ndata: a\n\ndata\n\nevent: x\n\ndata: b\n\n", id="events without data"),
        pytest.param(b"\n\n\ndata: a\n\n\n\n\ndata: b\n\n\n", id="many blank lines"),
        pytest.param(b"nonsense\ndatax: 1\ndata: a\n\ndata: b\n\n", id="unknown fields"),
    ],
)
def test_every_legal_shape_gives_the_same_events_however_it_is_cut(stream):
    assert [data for _, _, data in events_of(stream)] == [b"a", b"b"]
    assert [data for _, _, data in events_of(*(stream[i : i + 1] for i in range(len(stream))))] == [b"a", b"b"]


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b"data: {\ndata:  1\ndata:}\n\n", b"{\n 1\n}"),
        (b"data: a\ndata:\ndata: b\n\n", b"a\n\nb"),
        (b"data: a: b\n\n", b"a: b"),
        (b"data:  two spaces\n\n", b" two spaces"),
        (b"data: \xe2\x80\xa8 \x0b\x0c\x85 are no line ends\n\n", b"\xe2\x80\xa8 \x0b\x0c\x85 are no line ends"),
        (b'{"error":{"message":"overloaded"}}\n\n', b'{"error":{"message":"overloaded"}}'),
    ],
)
def test_data_is_kept_byte_for_byte_and_lines_are_joined(stream, data):
    assert [found for _, _, found in events_of(stream)] == [data]


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        pytest.param([b"data: a\n\ndata: b\n\n"], [(10, 1, b"a"), (10, 1, b"b")], id="two events in one read"),
        pytest.param([b"data: a\n\n", b"data: b\n\n"], [(10, 1, b"a"), (20, 2, b"b")], id="one read each"),
        pytest.param([b"da", b"ta: a", b"\n", b"\n"], [(20, 2, b"a")], id="stamped by the last byte of the data"),
        pytest.param([b"data: a\ndata: b", b"c\n", b"\n"], [(20, 2, b"a\nbc")], id="of the last data line"),
        pytest.param([b"data: a\nid: 1", b"2\n\n"], [(10, 1, b"a")], id="not by fields behind the data"),
        pytest.param(
            [b"data: a\r", b"\n", b"\r\ndata: b\r\n\r\n"], [(10, 1, b"a"), (30, 3, b"b")], id="CRLF cut in two"
        ),
        pytest.param([b"data: \xe2\x82", b"\xac\n\n"], [(20, 2, b"\xe2\x82\xac")], id="UTF-8 cut in two"),
        pytest.param([b"\xef\xbb", b"\xbfdata: a", b"\n\n"], [(20, 2, b"a")], id="byte order mark cut in two"),
        pytest.param(
            [b"data: a\n\n", b"", b": ping\n\n", b"data: b\n\n"], [(10, 1, b"a"), (40, 4, b"b")], id="empty reads"
        ),
        pytest.param([], [], id="nothing"),
        pytest.param([b": ping\n\n"], [], id="only comments"),
    ],
)
def test_an_event_carries_the_stamp_and_number_of_the_read_that_completed_its_data(reads, expected):
    assert events_of(*reads) == expected


def test_random_cuts_change_no_data_and_never_move_a_stamp_before_its_bytes():
    source = random.Random(7)
    shapes = [b"data: x%03d\r\n\r\n", b"data:y%03d\n\n", b": c%03d\r\r", b"data: z%03d\r\r"]
    stream = b"".join(source.choice(shapes) % number for number in range(60))
    whole = [data for _, _, data in events_of(stream)]
    for _ in range(50):
        cuts = sorted(source.sample(range(1, len(stream)), 20))
        reads = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        events = events_of(*reads)
        assert [data for _, _, data in events] == whole
        for stamp, read, data in events:
            assert stamp == read * 10
            assert data in b"".join(reads[:read])
            assert data not in b"".join(reads[: read - 1])


@pytest.mark.parametrize(
    ("body", "is_stream"),
    [
        (b"data: {}\n\n", True),
        (b"\xef\xbb\xbf\r\n: ping\n\n", True),
        (b"event: x\n", True),
        (b'{"data": 1}', False),
        (b"database error", False),
        (b"<html>", False),
        (b"", False),
    ],
)
def test_a_stream_is_known_by_its_first_line(body, is_stream):
    assert looks_like_events(body) is is_stream


LINES = [b"data: a\n\n", b'data: {"b": 1}\n\n', b"data:c\n\n", b"data: \n\n", b"data: d\ndata: e\n\n", b": ping\n\n"]
LINES += [b"data: f\r\n\r\n", b"data: g\n", b"\n", b"event: x\ndata: h\n\n", b"data: i", b'{"j": 1}\n\n']


@given(
    lines=st.lists(st.sampled_from(LINES[:2]) | st.sampled_from(LINES), max_size=6),
    cuts=st.lists(st.integers(0, 80), max_size=4),
)
def test_streams_of_plain_lines_are_split_like_any_other(lines, cuts):
    stream = b"".join(lines)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reads = [stream[a:b] for a, b in pairwise(edges)]
    assert events_of(*reads) == events_of(*reads, b"\n\n: a comment, which no stream of plain lines has")
