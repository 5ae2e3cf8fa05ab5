"""Server-sent events out of the socket reads they came in.

The grammar is that of https://html.spec.whatwg.org/multipage/server-sent-events.html (lines end in LF, CR or CRLF,
mixed at will; one space after the colon is optional; a leading byte order mark and comments are dropped; several
`data` lines of one event are joined with LF). Two leniencies, because model servers need them:

- an event that the end of the stream cuts off before its blank line still counts (the grammar would drop it);
- a line that starts with `{` counts as data: some servers put an error object into the stream without `data:`.

Events without data or with empty data (keep-alives) are left out. `event`, `id` and `retry` lines are read over: in
the dialects spoken here the data repeats the event's type.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import repeat

from hitrate.core.model import StreamEvent

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")

_LINE_FEED, _RETURN = b"\n\r"

_new_tuple = tuple.__new__  # calling `StreamEvent` would run Python code once for every token


def split_events(slices: Iterable[tuple[int, int, bytes]]) -> list[StreamEvent]:
    """The events of one finished stream. A slice is (stamp_ns, read, bytes), in the order of arrival.

    An event takes the stamp of the slice that held the last byte of its last data line, not that of the blank line
    behind it: some servers write the two apart, and the token was there with the first. Only looking back from the
    end of the stream, as here, can tell that the line was whole.
    """
    arrived = list(slices)
    text = b"".join([part[2] for part in arrived])
    lines = _plain_lines(text)
    if lines is not None and len(arrived) == 1:
        stamp_ns, read, _ = arrived[0]
        return list(map(_new_tuple, repeat(StreamEvent), zip(repeat(stamp_ns), repeat(read), lines)))
    if lines is not None:
        ends = _ends_of_plain(lines)
    else:
        arrived = _with_line_feeds(arrived)
        lines, ends = _lines_of_any(b"".join([part[2] for part in arrived]))

    events: list[StreamEvent] = []
    arrived_end = 0
    for stamp_ns, read, piece in arrived:
        arrived_end += len(piece)
        done = len(events)
        whole = bisect_right(ends, arrived_end, done)
        events += [_new_tuple(StreamEvent, (stamp_ns, read, data)) for data in lines[done:whole]]
    return events


def looks_like_events(body: bytes) -> bool:
    """Whether a body is an event stream whatever its content type says: servers and proxies mislabel both ways."""
    return body[:256].removeprefix(BYTE_ORDER_MARK).lstrip().startswith(FIELDS)


def _plain_lines(text: bytes) -> list[bytes] | None:
    """Each event's data in a stream of nothing but `data: ...` and a blank line, as most servers write; else None."""
    if not (text.startswith(b"data: ") and text.endswith(b"\n\n")):
        return None
    lines = text.split(b"\n\ndata: ")
    lines[0] = lines[0][6:]
    lines[-1] = lines[-1][:-2]
    all_data = b"".join(lines)
    return lines if _LINE_FEED not in all_data and _RETURN not in all_data and all(lines) else None


def _ends_of_plain(lines: list[bytes]) -> list[int]:
    """As those of `_lines_of_any`."""
    end = -2
    return [end := end + 8 + len(line) for line in lines]


def _lines_of_any(text: bytes) -> tuple[list[bytes], list[int]]:
    """Each event's data, never empty, and where in `text`, whose lines end in LF, its last data line ends."""
    lines: list[bytes] = []
    ends: list[int] = []
    position = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
    for block in text[position:].split(b"\n\n"):
        data, length = _data_of(block)
        if data:
            lines.append(data)
            ends.append(position + length)
        position += len(block) + 2
    return lines, ends


def _data_of(block: bytes) -> tuple[bytes, int]:
    """The data of the lines between two blank ones, and where in the block the last data line ends."""
    data: list[bytes] = []
    data_end = position = 0
    for line in block.split(b"\n"):
        position += len(line)
        if line.startswith(b"data:"):
            data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            data_end = position
        elif line.startswith(b"{"):
            data.append(line)
            data_end = position
        position += 1
    return b"\n".join(data), data_end


def _with_line_feeds(slices: list[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    """The slices with every line end as LF, also a CRLF that two reads share."""
    unified = []
    after_return = False
    for stamp_ns, read, data in slices:
        if data:
            rest = data[1:] if after_return and data.startswith(b"\n") else data
            after_return = data.endswith(b"\r")
            unified.append((stamp_ns, read, rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")))
    return unified
