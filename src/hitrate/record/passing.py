"""The copy of what passes, through a proxy or a client: one `Passing` becomes one `Exchange`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from time import perf_counter_ns, time

from hitrate.core.headers import kept_request_headers, kept_response_headers
from hitrate.logs.secret_values import mask_query
from hitrate.record.exchange import End, Exchange
from hitrate.record.header_lines import LONGEST_NAMES, TOKEN_HEADER, HeaderLines
from hitrate.record.masking import Secrets

Keep = Callable[[bytes], object]

_TOKEN_HEADER = TOKEN_HEADER.decode()

_LONGEST_NAME = 256
"""Of a header that is kept."""

_Allowed = Callable[[Iterable[tuple[str, str]]], dict[str, str]]
"""Those of some headers that a `Call` may hold."""


class Passing:
    """Takes the bytes of both bodies without their transfer coding, up to `limit` of each."""

    __slots__ = (
        "_head",
        "_headers_ns",
        "_method",
        "_request",
        "_response",
        "_response_head",
        "_secrets",
        "_stamps",
        "_status",
        "_target",
        "_upstream",
        "connect_s",
        "sent_ns",
    )

    def __init__(
        self,
        upstream: str,
        method: bytes,
        target: bytes,
        head: HeaderLines,
        limit: int,
        further_secrets: tuple[bytes, ...] = (),
    ) -> None:
        self.connect_s: float | None = None
        self.sent_ns = 0
        """When the last byte of the request was written; 0 before any was. Frozen once an answer began."""
        self._upstream = upstream
        self._method = method
        self._target = target
        self._head = head
        self._request = _Kept(limit)
        self._response = _Kept(limit)
        self._status: int | None = None
        self._response_head: HeaderLines | None = None
        self._headers_ns: int | None = None
        self._stamps: list[tuple[int, int]] = []
        self._secrets = Secrets(head, target, further_secrets)

    @property
    def keep_request(self) -> Keep:
        """Takes bytes of the request's body; `counted` has to follow."""
        return self._request.pieces.append

    @property
    def keep_response(self) -> Keep:
        """Takes bytes of the response's body; `read` has to follow."""
        return self._response.pieces.append

    def counted(self) -> None:
        """A read of the request has been fed."""
        self._request.count()

    def response_head(self, status: int, head: HeaderLines, stamp_ns: int) -> None:
        self._status = status
        self._response_head = head
        self._headers_ns = stamp_ns

    def read(self, stamp_ns: int) -> None:
        """A read of the response has been fed."""
        kept = self._response
        if len(kept.pieces) != kept.counted:
            kept.count()
            self._stamps.append((kept.total, stamp_ns))

    def exchange(self, end: End, error: str | None, ended_ns: int) -> Exchange:
        """Call it once, when the exchange is over: at `ended_ns`."""
        now_ns = perf_counter_ns()
        sent_ns = self.sent_ns or ended_ns
        head = self._response_head
        if head is not None:
            self._secrets.add_response_headers(head)
        secrets, mask = self._secrets, self._secrets.mask
        # The request's body first: it may tell of a secret that the rest repeats.
        coding = _coding(self._head)
        request_body, request_coding, _ = _without_secrets(self._request, coding, secrets.mask_request)
        coding = "" if head is None else _coding(head)
        response_body, response_coding, place = _without_secrets(self._response, coding, secrets.mask_response)
        request_headers = _kept_headers(self._head, kept_request_headers, request_coding, mask)
        response_headers = {} if head is None else _kept_headers(head, kept_response_headers, response_coding, mask)
        reads = [(so_far, max(stamp_ns - sent_ns, 0)) for so_far, stamp_ns in self._stamps]
        if place is not None:
            reads = [(place(so_far), moment) for so_far, moment in reads]
        return Exchange(
            upstream=self._upstream,
            method=self._method.decode("latin-1"),
            path=mask(mask_query(self._target)).decode("latin-1"),
            at=time() - (now_ns - sent_ns) / 1e9,
            sent_at_s=sent_ns / 1e9,
            connect_s=self.connect_s,
            request_headers=request_headers,
            request_body=request_body,
            status=self._status,
            response_headers=response_headers,
            response_body=response_body,
            reads=tuple(reads),
            headers_ns=None if self._headers_ns is None else max(self._headers_ns - sent_ns, 0),
            total_ns=max(ended_ns - sent_ns, 0) if self.sent_ns else None,
            end=end,
            error=None if error is None else mask(error.encode()).decode(),
            left_out=self._request.left_out + self._response.left_out,
        )


def _coding(head: HeaderLines) -> str:
    return (head.value(b"content-encoding") or b"").decode("latin-1").lower()


def _kept_headers(head: HeaderLines, allowed: _Allowed, coding: str, mask: Callable[[bytes], bytes]) -> dict[str, str]:
    names = tuple(head.names)
    find = _kept_places if sum(map(len, names)) <= LONGEST_NAMES else _kept_places.__wrapped__
    lines = head.lines
    headers = {
        own: mask(lines[place][len(own) + 1 :].strip(b" \t")).decode("latin-1") for place, own in find(names, allowed)
    }
    if coding:
        headers["content-encoding"] = coding
    return headers


@lru_cache(maxsize=256)
def _kept_places(names: tuple[bytes, ...], allowed: _Allowed) -> list[tuple[int, str]]:
    """Of headers that are kept as they were sent, with their names as text."""
    texts = [(place, name.decode("latin-1")) for place, name in enumerate(names) if len(name) <= _LONGEST_NAME]
    left_out = (_TOKEN_HEADER, "content-encoding")
    return [(place, name) for place, name in texts if allowed([(name, "")]) and name not in left_out]


def _without_secrets(
    kept: _Kept, coding: str, mask: Callable[[bytes, str], tuple[bytes, bool] | None]
) -> tuple[bytes, str, Callable[[int], int] | None]:
    """The body of one side, the content coding that is left, and where a place in the body is in it now; None: unmoved.

    A coding is taken off where a secret was inside.
    """
    body = kept.body()
    masked = mask(body, coding)
    if masked is None:
        kept.left_out += len(body)
        return b"", coding, lambda place: 0
    clean, unpacked = masked
    if clean is body:
        return body, coding, None
    if unpacked:
        return clean, "", lambda place: len(clean) if place >= len(body) else 0
    return clean, coding, lambda place: min(len((mask(body[:place], "") or (b"",))[0]), len(clean))


class _Kept:
    """The bytes of one body, as many as may be kept, and the count of all."""

    __slots__ = ("_limit", "counted", "left_out", "pieces", "total")

    def __init__(self, limit: int) -> None:
        self.pieces: list[bytes] = []
        self.total = 0
        self.left_out = 0
        self._limit = limit
        self.counted = 0
        """Pieces that are in `total`."""

    def count(self) -> None:
        """What was appended since the last time."""
        pieces = self.pieces
        if len(pieces) == self.counted + 1:
            self.total += len(pieces[-1])
        else:
            self.total += sum(map(len, pieces[self.counted :]))
        if self.total > self._limit:
            self._trim()
        self.counted = len(pieces)

    def body(self) -> bytes:
        return self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)

    def _trim(self) -> None:
        too_many = self.total - self._limit - self.left_out
        self.left_out += too_many
        while too_many:
            last = self.pieces.pop()
            if len(last) > too_many:
                self.pieces.append(last[:-too_many])
                return
            too_many -= len(last)
