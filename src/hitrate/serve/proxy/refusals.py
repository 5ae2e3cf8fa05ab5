"""What the proxy answers itself: why a request was not passed on, or not answered by the upstream."""

from __future__ import annotations

import msgspec

ERROR_TYPE = "hitrate_proxy"
"""`error.type` of every answer made here, which no upstream uses."""

_REASONS = {
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    405: b"Method Not Allowed",
    431: b"Request Header Fields Too Large",
    502: b"Bad Gateway",
    503: b"Service Unavailable",
    504: b"Gateway Timeout",
}


class Refused(Exception):
    """`status` and `message` go to the client; the message names no key."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def response(self, *, body: bool = True) -> bytes:
        """The whole answer, in the shape of the vendors' own errors. `body` is False for HEAD."""
        content = msgspec.json.encode({"error": {"message": self.message, "type": ERROR_TYPE}})
        return (
            b"HTTP/1.1 %d %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
            % (self.status, _REASONS[self.status], len(content))
            + (content if body else b"")
        )
