"""What the proxy answers itself: why a request was not passed on, or not answered by the upstream."""

from __future__ import annotations

import msgspec

ERROR_TYPE = "hitrate_proxy"
"""`error.type` of every answer made here, which no upstream uses."""

_REASONS = {
    200: b"OK",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    405: b"Method Not Allowed",
    431: b"Request Header Fields Too Large",
    502: b"Bad Gateway",
    503: b"Service Unavailable",
    504: b"Gateway Timeout",
}


class OwnAnswer(Exception):
    """What the proxy says itself in answer to a request; the connection ends with it."""

    def __init__(self, status: int, content_type: bytes, content: bytes) -> None:
        super().__init__(status)
        self.status = status
        self._content_type = content_type
        self._content = content

    def response(self, *, body: bool = True) -> bytes:
        """The whole answer. `body` is False for HEAD."""
        return b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (
            self.status,
            _REASONS[self.status],
            self._content_type,
            len(self._content),
        ) + (self._content if body else b"")


class Refused(OwnAnswer):
    """`message` goes to the client, in the shape of the vendors' own errors; it names no key."""

    def __init__(self, status: int, message: str) -> None:
        content = msgspec.json.encode({"error": {"message": message, "type": ERROR_TYPE}})
        super().__init__(status, b"application/json", content)
        self.message = message
