"""Heads of requests and responses, as the bytes they came in. No socket, no clock.

llhttp (httptools) decides whether a head is sound, which keeps out what two parsers could read in two ways; the lines
themselves stay as they are, since order, case and repetition of headers are to reach the other side untouched.
"""

from __future__ import annotations

import httptools

from hitrate.record.header_lines import TOKEN_HEADER, HeaderLines

HEAD_END = b"\r\n\r\n"
LONGEST_HEAD_BYTES = 256 * 1024
"""More than any server takes; what has no end by then is no HTTP."""


class Malformed(Exception):
    """Not HTTP/1.x as its standard has it; the text says what was wrong."""


class Head(HeaderLines):
    __slots__ = ("keep_alive",)

    def __init__(self, lines: list[bytes], version: bytes) -> None:
        super().__init__(lines)
        self.keep_alive = _keeps_alive(self.tokens(b"connection"), version)

    @property
    def chunked(self) -> bool:
        return b"transfer-encoding" in self.names and self.tokens(b"transfer-encoding")[-1] == b"chunked"

    @property
    def content_length(self) -> int | None:
        value = self.value(b"content-length")
        return None if value is None else int(value)


class RequestHead(Head):
    __slots__ = ("method", "target", "version")

    def __init__(self, raw: bytes) -> None:
        """`raw` ends with the empty line. Raises Malformed."""
        _check(httptools.HttpRequestParser, raw)
        start, *lines = raw[: -len(HEAD_END)].split(b"\r\n")
        parts = start.split(b" ")
        if len(parts) != 3:
            raise Malformed("no HTTP version in the request line")
        self.method, self.target, self.version = parts
        if self.version not in (b"HTTP/1.1", b"HTTP/1.0"):
            raise Malformed(f"{self.version.decode('latin-1')} is not spoken here")
        super().__init__(lines, self.version)
        if self.names.count(b"host") > 1:
            raise Malformed("more than one Host header")

    def rewritten(self, target: bytes, host: bytes) -> bytes:
        """The head for the upstream: the request target and the Host header are its, the proxy's own token is gone."""
        out = [b"%b %b %b" % (self.method, target, self.version)]
        if b"host" not in self.names:
            out.append(b"Host: " + host)
        for name, line in zip(self.names, self.lines, strict=True):
            if name == b"host":
                line = line[:5] + b" " + host
            elif name == TOKEN_HEADER:
                continue
            out.append(line)
        out.append(HEAD_END[:2])
        return b"\r\n".join(out)


class ResponseHead(Head):
    __slots__ = ("status",)

    def __init__(self, raw: bytes) -> None:
        """`raw` ends with the empty line. Raises Malformed."""
        _check(httptools.HttpResponseParser, raw)
        start, *lines = raw[: -len(HEAD_END)].split(b"\r\n")
        version, _, rest = start.partition(b" ")
        self.status = int(rest[:3])
        super().__init__(lines, version)


class _NoCallbacks:
    """llhttp reports to nobody: it is asked for its verdict alone."""


_NOBODY = _NoCallbacks()


def _check(parser: type[httptools.HttpRequestParser] | type[httptools.HttpResponseParser], raw: bytes) -> None:
    try:
        parser(_NOBODY).feed_data(raw)
    except httptools.HttpParserUpgrade:
        return  # a head like any other; what follows it is decided by the answer
    except httptools.HttpParserError as error:
        raise Malformed(str(error)) from None


def _keeps_alive(connection: list[bytes], version: bytes) -> bool:
    if b"close" in connection:
        return False
    return version != b"HTTP/1.0" or b"keep-alive" in connection
