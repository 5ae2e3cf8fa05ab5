"""`Exchange`: one HTTP request and its response as they were carried. What the proxy and the hooks hand to the record.

It knows nothing of models, wires or usage, so that making one costs next to nothing while traffic flows;
`record.reading` makes a `Call` of it later, in another process.
"""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

End = Literal["complete", "cut", "abandoned", "unanswered"]
"""`complete`: the response came whole. `cut`: the upstream ended it early. `abandoned`: the client went away before its
end. `unanswered`: no response began (refused, reset, timed out)."""


class Exchange(Struct, frozen=True, kw_only=True, array_like=True):
    """Bodies without transfer coding (chunks joined), with content coding as sent (gzip stays gzip).

    Headers are those of `core.headers` alone, in lower case, plus `content-encoding` of both sides; the value of every
    header or query parameter that carried a secret has been replaced by `***` wherever it occurred.
    """

    upstream: str
    """Name of the target it went to, as the user gave it: a preset's name or a base URL."""
    method: str
    path: str
    """As sent to the upstream, behind its host; a query parameter that carries a key is masked."""
    at: float
    """Unix time at which the last byte of the request was written to the upstream; else when it was given up."""
    sent_at_s: float
    """The same moment on a monotonic clock of the recording process, in seconds."""
    connect_s: float | None = None
    """Time to connect, TLS included; None on a connection that was open already."""
    request_headers: dict[str, str] = {}
    request_body: bytes = b""
    status: int | None = None
    response_headers: dict[str, str] = {}
    response_body: bytes = b""
    reads: tuple[tuple[int, int], ...] = ()
    """Per socket read with bytes of the response body: how many bytes of the body had come with it, and the
    nanoseconds from `at` to it."""
    headers_ns: int | None = None
    """Nanoseconds from `at` to the end of the response's headers."""
    total_ns: int | None = None
    """Nanoseconds from `at` to the last byte of the response, or to where it ended early."""
    end: End = "complete"
    error: str | None = None
    """One line that says why `end` is not `complete`."""
    left_out: int = 0
    """Bytes of the bodies that were carried and are not kept, being over the limit of one exchange."""


class Sink(Protocol):
    """Where exchanges go."""

    def record(self, exchange: Exchange) -> bool:
        """Keep an exchange. Once this returned True it survives the death of the process. False: it could not be kept,
        which the sink counts and says. Never raises; returns within a fraction of a millisecond."""
        ...
