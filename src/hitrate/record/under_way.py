"""One try of a call under way through a client of httpx's kind: what passes is copied, and ends as an `Exchange`.

Nothing here raises: the call that is recorded must neither fail nor change because of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import Any
from urllib.parse import urlsplit

from hitrate.logs.providers import target_of_url
from hitrate.record.endpoints import endpoint_of
from hitrate.record.exchange import End
from hitrate.record.header_lines import HeaderLines
from hitrate.record.in_process import Recording
from hitrate.record.passing import Passing

_ENDPOINTS = ("/chat/completions", "/completions", "/responses", "/messages", "/models")
"""What clients put behind a base URL."""

_REQUEST_WRITTEN = ("http11.send_request_body.complete", "http2.send_request_body.complete")
_HEADERS_READ = ("http11.receive_response_headers.complete", "http2.receive_response_headers.complete")
_CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete", "socks.start_tls.complete")


def begin(recording: Recording, request: Any) -> UnderWay | None:
    """None for what is no call of a model, and where what was asked cannot be understood."""
    try:
        url = request.url
        target: bytes = url.raw_path
        if not _is_call(request.method, target):
            return None
        return UnderWay(recording, request, target)
    except Exception as error:
        recording.complain(f"a request cannot be recorded ({type(error).__name__}: {error})")
        return None


@functools.lru_cache(maxsize=256)
def _is_call(method: str, target: bytes) -> bool:
    return endpoint_of(method, target.decode("latin-1")) is not None


def _harmless(method: Callable[..., None]) -> Callable[..., None]:
    """A step of recording that fails ends the recording of this exchange alone."""

    @functools.wraps(method)
    def step(self: UnderWay, *values: Any) -> None:
        if self._passing is None:
            return
        try:
            method(self, *values)
        except Exception as error:
            self._passing = None
            self._recording.complain(f"an exchange cannot be recorded ({type(error).__name__}: {error})")

    return step


class UnderWay:
    """`ended`, `failed` and `closed` may come in any order and more than once; the first of them counts."""

    def __init__(self, recording: Recording, request: Any, target: bytes) -> None:
        self._recording = recording
        self._began_ns = perf_counter_ns()
        self._connecting_ns = 0
        self._headers_ns = 0
        self._answered = False
        upstream = _upstream(request.url, target.decode("latin-1"))
        lines = _lines(request.headers.raw)
        self._passing: Passing | None = Passing(
            upstream, request.method.encode("latin-1"), target, lines, recording.max_body_kept
        )

    @_harmless
    def request_bytes(self, data: bytes) -> None:
        assert self._passing is not None
        self._passing.keep_request(data)
        self._passing.counted()

    @_harmless
    def traced(self, event: str) -> None:
        """An event of httpcore's `trace` extension (https://www.encode.io/httpcore/extensions/)."""
        assert self._passing is not None
        if event in _REQUEST_WRITTEN:
            if not self._answered:
                self._passing.sent_ns = perf_counter_ns()
        elif event in _HEADERS_READ:
            self._headers_ns = perf_counter_ns()
        elif event == "connection.connect_tcp.started":
            self._connecting_ns = perf_counter_ns()
        elif event in _CONNECTED and self._connecting_ns:
            self._passing.connect_s = (perf_counter_ns() - self._connecting_ns) / 1e9

    @_harmless
    def answered(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        assert self._passing is not None
        self._answered = True
        if not self._passing.sent_ns:  # a transport that tells nothing: the request was handed over at this moment
            self._passing.sent_ns = self._began_ns
        self._passing.response_head(status, _lines(headers), self._headers_ns or perf_counter_ns())

    def response_bytes(self, data: bytes) -> None:
        passing = self._passing
        if passing is None:
            return
        try:  # not as a `_harmless` step: this one is taken for each chunk of a stream
            passing.keep_response(data)
            passing.read(perf_counter_ns())
        except Exception as error:
            self._passing = None
            self._recording.complain(f"an exchange cannot be recorded ({type(error).__name__}: {error})")

    def ended(self) -> None:
        self._end("complete", None)

    def failed(self, error: BaseException) -> None:
        if not isinstance(error, Exception):  # cancelled, interrupted: the caller's doing
            self._end("abandoned", f"the caller gave up ({type(error).__name__})")
        else:
            text = f"{type(error).__name__}: {error}".rstrip(": ")
            self._end("cut" if self._answered else "unanswered", text)

    def closed(self) -> None:
        self._end("abandoned", "the caller closed the response before its end")

    @_harmless
    def _end(self, end: End, error: str | None) -> None:
        passing, self._passing = self._passing, None
        assert passing is not None
        try:
            exchange = passing.exchange(end, error, perf_counter_ns())
        except Exception as trouble:
            self._recording.complain(f"an exchange cannot be recorded ({type(trouble).__name__}: {trouble})")
        else:
            self._recording.record(exchange)


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> HeaderLines:
    return HeaderLines([name + b": " + value for name, value in headers])


def _upstream(url: Any, target: str) -> str:
    """The target that the host belongs to, else the base URL as far as it can be told."""
    return _upstream_of(f"{url.scheme}://{url.netloc.decode('latin-1')}", target.partition("?")[0])


@functools.lru_cache(maxsize=256)
def _upstream_of(origin: str, path: str) -> str:
    known = target_of_url(origin)
    if known:
        return known
    base = next((path.removesuffix(end) for end in _ENDPOINTS if path.endswith(end)), "")
    if not base and "/models/" in path:
        base = path.partition("/models/")[0]
    host = urlsplit(origin).netloc.rpartition("@")[2]
    return f"{urlsplit(origin).scheme}://{host}{base}"
