"""Heads of requests and responses, as the bytes they came in. No socket, no clock.

llhttp (httptools) decides whether a head is sound, which keeps out what two parsers could read in two ways; the lines
themselves stay as they are, since order, case and repetition of headers are to reach the other side untouched.
"""

from __future__ import annotations

import httptools

HEAD_END = b"\r\n\r\n"
LONGEST_HEAD_BYTES = 256 * 1024
"""More than any server takes; what has no end by then is no HTTP."""

TOKEN_HEADER = b"x-hitrate-token"


class Malformed(Exception):
    """Not HTTP/1.x as its standard has it; the text says what was wrong."""


class Head:
    """`lines` are the headers as sent, without their ends; `names` their names in lower case, one for one."""

    __slots__ = ("keep_alive", "lines", "names")

    def __init__(self, lines: list[bytes], version: bytes) -> None:
        self.lines = lines
        self.names = [line.partition(b":")[0].lower() for line in lines]
        self.keep_alive = _keeps_alive(self.tokens(b"connection"), version)

    def values(self, name: bytes) -> list[bytes]:
        """In the order sent; `name` is in lower case."""
        if name not in self.names:
            return []
        return [
            line.partition(b":")[2].strip(b" \t")
            for line, own in zip(self.lines, self.names, strict=True)
            if own == name
        ]

    def value(self, name: bytes) -> bytes | None:
        """The last one sent."""
        return found[-1] if (found := self.values(name)) else None

    def tokens(self, name: bytes) -> list[bytes]:
        """Members of a list-valued header, in lower case."""
        return [part.strip(b" \t").lower() for value in self.values(name) for part in value.split(b",")]

    def pairs(self) -> list[tuple[str, str]]:
        """Name in lower case and value, header by header."""
        return [
            (name.decode("latin-1"), line[len(name) + 1 :].strip(b" \t").decode("latin-1"))
            for name, line in zip(self.names, self.lines, strict=True)
        ]

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
