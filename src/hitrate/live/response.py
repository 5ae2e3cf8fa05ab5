"""One HTTP/1.1 reply as it arrives: stamped bytes in, stamped slices of the body out. No socket, no clock.

Nothing is decoded here. Whatever can wait until the last byte waits, because all streams of a run share one thread
and the time spent on one event is the delay of another one's stamp.
"""

from __future__ import annotations

import httptools

from hitrate.targets.content_coding import LONGEST_BYTES as LONGEST_REPLY_BYTES
from hitrate.targets.content_coding import TOO_LONG, Slice

_PART_BYTES = 100
"""What the interpreter needs for a chunk or a header, beside its bytes: a flood of tiny ones is mostly that."""


class Response:
    """Feed it every read in order, and tell it when the connection ends.

    `slices` are (stamp_ns, read, body bytes), one for every read that brought any: the stamp is the one handed to
    `feed`, `read` counts the calls of `feed` from 1. It has ended when it is `complete` or has a `fault` (one line);
    what came before a fault is kept, except of a reply that is too long. `reusable` says whether the connection can
    carry another request, `closed_silently` that it ended before any byte came; `headers` are to be asked for when it
    has ended.
    Informational replies (1xx) are passed over.
    """

    __slots__ = (
        "_chunks",
        "_headers",
        "_parser",
        "_parts",
        "closed_silently",
        "complete",
        "fault",
        "headers_ns",
        "last_ns",
        "on_body",
        "raw_headers",
        "reads",
        "received",
        "reusable",
        "slices",
        "status",
        "written_ns",
    )

    def __init__(self) -> None:
        self.written_ns = 0
        self.status: int | None = None
        self.raw_headers: list[tuple[bytes, bytes]] = []
        self.headers_ns: int | None = None
        self.slices: list[Slice] = []
        self.reads = 0
        self.last_ns = 0
        self.complete = False
        self.reusable = False
        self.fault: str | None = None
        self.closed_silently = False
        self._chunks = 0
        self._headers: dict[str, str] | None = None
        self.received = 0
        self._parts: list[bytes] = []
        self.on_body = self._parts.append  # for httptools, which calls it for every chunk
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)

    @property
    def ended(self) -> bool:
        return self.complete or self.fault is not None

    @property
    def body(self) -> bytes:
        return b"".join(part[2] for part in self.slices)

    @property
    def headers(self) -> dict[str, str]:
        """By lower-case name; of a repeated header the last value."""
        if self._headers is None:
            pairs = self.raw_headers
            self._headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in pairs}
        return self._headers

    def feed(self, stamp_ns: int, data: bytes) -> bool:
        """Take one read; True when the reply has ended with it. Bytes after the end are not looked at."""
        parser = self._parser
        if parser is None:
            return True
        self.last_ns = stamp_ns
        self.reads += 1
        self.received += len(data)
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.fail("the server switched to another protocol (HTTP 101)")
        except httptools.HttpParserError as error:
            if not self.complete:
                self.fail(f"malformed HTTP from the server: {error}")
            self.reusable = False
        if self._parts and not self.complete:
            self._take_parts()
        if self.received + (self._chunks + len(self.raw_headers)) * _PART_BYTES > LONGEST_REPLY_BYTES:
            self._give_up()
        if self.ended:
            self._parser = None  # parser and reply refer to each other; left alone, only the collector frees them
            return True
        return False

    def end_of_stream(self, error: Exception | None = None) -> None:
        """The connection is gone. That ends a reply without a length as it should, and cuts any other."""
        if self.ended:
            return
        framed = not self.headers.keys().isdisjoint(("content-length", "transfer-encoding"))
        if self.headers_ns is not None and not framed and error is None:
            self.complete = True
        elif self.reads == 0:
            self.closed_silently = True
            self.fail("the server closed the connection without a reply")
        else:
            received = sum(len(part[2]) for part in self.slices)
            self.fail(f"the server cut the connection inside the reply, after {received} bytes of body")
        self._parser = None

    def fail(self, fault: str) -> None:
        if not self.ended:
            self.fault = fault

    def _take_parts(self) -> None:
        if self._parts:
            self.slices.append((self.last_ns, self.reads, b"".join(self._parts)))
            self._chunks += len(self._parts)
            self._parts.clear()

    def _give_up(self) -> None:
        self.complete = self.reusable = False
        self.fault = TOO_LONG
        self.slices.clear()

    # httptools calls these; the names are its own.

    def on_message_begin(self) -> None:
        if self.complete:
            self.reusable = False  # something follows that nobody asked for

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.headers_ns is None:  # else it is a trailer
            self.raw_headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.complete:
            return
        assert self._parser is not None
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            self.raw_headers.clear()
            return
        self.status = status
        self.headers_ns = self.last_ns

    def on_message_complete(self) -> None:
        if self.headers_ns is not None and not self.complete:
            assert self._parser is not None
            self.complete = True
            self.reusable = self._parser.should_keep_alive()
            self._take_parts()
