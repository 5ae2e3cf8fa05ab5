"""The copy of what passes: one `Recording` becomes one `Exchange`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter_ns, time

from hitrate.core.headers import kept_request_headers, kept_response_headers
from hitrate.record.exchange import End, Exchange
from hitrate.serve.proxy.heads import TOKEN_HEADER, Head, RequestHead, ResponseHead
from hitrate.serve.proxy.masking import Secrets, mask_query

_TOKEN_HEADER = TOKEN_HEADER.decode()


class Recording:
    """Takes the bytes of both bodies without their transfer coding, up to `limit` for both together."""

    __slots__ = (
        "_head",
        "_headers_ns",
        "_left",
        "_left_out",
        "_request",
        "_response",
        "_response_bytes",
        "_response_head",
        "_secrets",
        "_stamps",
        "_target",
        "_upstream",
        "connect_s",
        "sent_ns",
    )

    def __init__(
        self, upstream: str, head: RequestHead, target: bytes, limit: int, further_secrets: tuple[bytes, ...] = ()
    ) -> None:
        self.connect_s: float | None = None
        self.sent_ns = 0
        """When the last byte of the request was written; 0 before any was. Frozen once an answer began."""
        self._upstream = upstream
        self._head = head
        self._target = target
        self._left = limit
        self._left_out = 0
        self._request: list[bytes] = []
        self._response: list[bytes] = []
        self._response_bytes = 0
        self._response_head: ResponseHead | None = None
        self._headers_ns: int | None = None
        self._stamps: list[tuple[int, int]] = []
        self._secrets = Secrets(head, further_secrets)

    def keep_request(self, data: bytes) -> None:
        self._keep(self._request, data)

    def keep_response(self, data: bytes) -> None:
        self._response_bytes += len(data)
        self._keep(self._response, data)

    def response_head(self, head: ResponseHead, stamp_ns: int) -> None:
        self._response_head = head
        self._headers_ns = stamp_ns

    def read(self, stamp_ns: int) -> None:
        """A read of the response has been fed."""
        if self._response_bytes > (self._stamps[-1][0] if self._stamps else 0):
            self._stamps.append((self._response_bytes, stamp_ns))

    def exchange(self, end: End, error: str | None, ended_ns: int) -> Exchange:
        """Call it once, when the exchange is over: at `ended_ns`."""
        now_ns = perf_counter_ns()
        sent_ns = self.sent_ns or ended_ns
        head = self._response_head
        if head is not None:
            self._secrets.add_response_headers(head)
        request_headers, request_body, _ = self._kept(self._head, kept_request_headers, self._request)
        response_headers, response_body, place = self._kept(head, kept_response_headers, self._response)
        mask = self._secrets.mask
        return Exchange(
            upstream=self._upstream,
            method=self._head.method.decode("latin-1"),
            path=mask(mask_query(self._target)).decode("latin-1"),
            at=time() - (now_ns - sent_ns) / 1e9,
            sent_at_s=sent_ns / 1e9,
            connect_s=self.connect_s,
            request_headers=request_headers,
            request_body=request_body,
            status=None if head is None else head.status,
            response_headers=response_headers,
            response_body=response_body,
            reads=tuple([(place(so_far), max(stamp_ns - sent_ns, 0)) for so_far, stamp_ns in self._stamps]),
            headers_ns=None if self._headers_ns is None else max(self._headers_ns - sent_ns, 0),
            total_ns=max(ended_ns - sent_ns, 0) if self.sent_ns else None,
            end=end,
            error=None if error is None else mask(error.encode()).decode(),
            left_out=self._left_out,
        )

    def _keep(self, kept: list[bytes], data: bytes) -> None:
        if len(data) > self._left:
            self._left_out += len(data) - self._left
            data = data[: self._left]
        if data:
            self._left -= len(data)
            kept.append(data)

    def _kept(
        self, head: Head | None, keep: Callable[[Iterable[tuple[str, str]]], dict[str, str]], pieces: list[bytes]
    ) -> tuple[dict[str, str], bytes, Callable[[int], int]]:
        """Headers and body of one side without secrets, and where a place in the body is in what is kept of it."""
        headers: dict[str, str] = {}
        if head is not None:
            headers = keep(head.pairs())
            headers.pop(_TOKEN_HEADER, None)
            coding = head.value(b"content-encoding")
            if coding is not None:
                headers["content-encoding"] = coding.decode("latin-1").lower()
        mask = self._secrets.mask
        for name, value in headers.items():
            headers[name] = mask(value.encode("latin-1")).decode("latin-1")
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        masked = self._secrets.mask_body(body, headers.get("content-encoding", ""))
        if masked is None:
            self._left_out += len(body)
            return headers, b"", lambda place: 0
        kept, unpacked = masked
        if kept is body:
            return headers, body, lambda place: place
        if unpacked:
            del headers["content-encoding"]
            return headers, kept, lambda place: len(kept) if place >= len(body) else 0
        return headers, kept, lambda place: min(len(mask(body[:place])), len(kept))
