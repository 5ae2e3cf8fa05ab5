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

from collections.abc import Iterable

from hitrate.core.model import StreamEvent

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def split_events(slices: Iterable[tuple[int, int, bytes]]) -> list[StreamEvent]:
    """The events of one finished stream. A slice is (stamp_ns, read, bytes), in the order of arrival.

    An event takes the stamp of the slice that held the last byte of its last data line, not that of the blank line
    behind it: some servers write the two apart, and the token was there with the first. Only looking back from the
    end of the stream, as here, can tell that the line was whole.
    """
    arrived = [part for part in slices if part[2]]
    text = b"".join(part[2] for part in arrived)
    position = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0

    events: list[StreamEvent] = []
    data: list[bytes] = []
    data_end = 0
    current = 0
    current_end = len(arrived[0][2]) if arrived else 0

    # bytes.splitlines knows LF, CR and CRLF and, unlike str.splitlines, nothing else.
    lines = text[position:].splitlines(keepends=True)
    lines.append(b"\n")
    for line in lines:
        content = line.rstrip(b"\r\n")
        if content:
            value = _data_of(content)
            if value is not None:
                data.append(value)
                data_end = position + len(content)
        elif data:
            payload = data[0] if len(data) == 1 else b"\n".join(data)
            data = []
            if payload:
                while current_end < data_end:
                    current += 1
                    current_end += len(arrived[current][2])
                events.append(StreamEvent(arrived[current][0], arrived[current][1], payload))
        position += len(line)
    return events


def looks_like_events(body: bytes) -> bool:
    """Whether a body is an event stream whatever its content type says: servers and proxies mislabel both ways."""
    return body[:256].removeprefix(BYTE_ORDER_MARK).lstrip().startswith(FIELDS)


def _data_of(line: bytes) -> bytes | None:
    if line.startswith(b"data:"):
        return line[6:] if line.startswith(b"data: ") else line[5:]
    if line.startswith(b"{"):
        return line
    return b"" if line == b"data" else None
