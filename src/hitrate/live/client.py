"""The measuring client: one exchange in, one `Call` out, whatever happened on the way."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter_ns, time
from types import TracebackType
from typing import Any, Self

import msgspec

from hitrate.core.headers import kept_request_headers, kept_response_headers
from hitrate.core.model import Call
from hitrate.errors import KeyRefused, TargetError, Unreachable
from hitrate.live.connection import Connection
from hitrate.live.outcome import read_outcome, refusal_text, timing_of
from hitrate.live.pool import Pool
from hitrate.live.request import default_lines, header_lines, length_line, open_head, request_head
from hitrate.live.response import Response
from hitrate.live.retry import wait_before_retry
from hitrate.targets.address import parse_base_url
from hitrate.targets.dialects import aws_eventstream
from hitrate.targets.dialects.header_counts import with_header_counts
from hitrate.targets.dialects.interface import Dialect
from hitrate.targets.reaching import tls_context

REHEARSALS = 8
"""After this many runs the interpreter has specialised the decoding code."""

_REHEARSED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    b'3b\r\ndata: {"id":"r","choices":[{"delta":{"content":"ready"}}]}\n\n\r\n',
    b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n",
)


_ACCEPT = {"sse": "text/event-stream", "aws-eventstream": aws_eventstream.CONTENT_TYPE}


Sign = Callable[[str, bytes], Mapping[str, str]]
"""Headers that sign a POST to an address with a body."""


class _Asked(msgspec.Struct):
    model: str | None = None


_decode_asked = msgspec.json.Decoder(_Asked).decode


class _Sent(msgspec.Struct):
    """One exchange, or the reason why there was none. `opened` is the connection if it was opened for it."""

    response: Response
    opened: Connection | None


class Client:
    """Calls one target. Use it as `async with Client(...) as client`; closing it drops every connection.

    `headers` go with every request and may hold the key; values are neither stored nor printed, except those of
    headers that bear on caching (`core.headers`). `timeout_s` bounds a whole exchange, `first_byte_timeout_s` the
    wait for its first byte. A 429, or a 503 that says when to come back, is waited out up to `max_retries` times, if
    the wait asked for is at most `longest_wait_s`; `on_wait(seconds, status)` hears of each. `tls` replaces the
    default certificate check. `sign` gives further headers for the address and body of a call, anew for every try.
    `sleep` is a seam for tests.
    """

    def __init__(
        self,
        base_url: str,
        *,
        target: str,
        dialect: Dialect,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 600.0,
        first_byte_timeout_s: float | None = None,
        connect_timeout_s: float = 10.0,
        max_connections: int = 1000,
        max_retries: int = 5,
        longest_wait_s: float = 120.0,
        on_wait: Callable[[float, int], None] = lambda seconds, status: None,
        tls: ssl.SSLContext | None = None,
        sign: Sign | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.address = parse_base_url(base_url)
        self.resent = 0
        """Requests sent a second time because the server had closed a kept connection in between."""
        self._target = target
        self._dialect = dialect
        self._timeout_s = timeout_s
        self._first_byte_timeout_s = first_byte_timeout_s
        self._max_retries = max_retries
        self._longest_wait_s = longest_wait_s
        self._on_wait = on_wait
        self._sign = sign
        self._sleep = sleep
        self._lines = default_lines(self.address.host_header) | header_lines(headers or {})
        self._heads: dict[tuple[str, bool], bytes] = {}
        self._kept_headers = kept_request_headers((headers or {}).items())
        self._secrets = _secrets(headers or {})
        self._origin_ns = perf_counter_ns()
        self._origin_unix = time()
        if self.address.scheme == "https" and tls is None:
            tls = tls_context()
        self._pool = Pool(
            self.address,
            tls=tls if self.address.scheme == "https" else None,
            limit=max_connections,
            connect_timeout_s=connect_timeout_s,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.close()

    @property
    def connect_times_s(self) -> list[float]:
        """One entry for every connection opened so far: name look-up, TCP and TLS."""
        return self._pool.connect_times_s

    def now_s(self) -> float:
        """Seconds on the clock of `Timing.sent_at_s`."""
        return (perf_counter_ns() - self._origin_ns) / 1e9

    async def warm(self, connections: int = 1) -> None:
        """Open connections ahead and run the decoding once over a canned stream, so that call 1 pays for neither.

        Raises Unreachable.
        """
        await self._pool.open_ahead(connections)
        for _ in range(REHEARSALS):
            response = Response()
            response.written_ns = perf_counter_ns()
            for piece in _REHEARSED:
                response.feed(perf_counter_ns(), piece)
            self._call_of(_Sent(response, None), b"{}", None, "", 0, "", {}, ())

    def end_session(self, session: str) -> None:
        """The session makes no further call; its connection may serve others."""
        self._pool.end_session(session)

    async def call(
        self,
        body: bytes,
        *,
        session: str = "",
        turn: int = 0,
        label: str = "",
        headers: Mapping[str, str] | None = None,
        stream: bool = True,
        model: str | None = None,
    ) -> Call:
        """Send `body`, as `Dialect.build` made it, and read the whole reply.

        `stream` says what the body asks for, `model` whom, on wires that name the model in the address. Never raises
        for an exchange that failed: the Call holds what came, and the reason in `error`. A session keeps its
        connection from call to call. TTFT counts from the write of the last try.
        """
        model = _model_in(body) if model is None else model
        waits: list[float] = []
        while True:
            head = self._head(model or "", stream, headers or {}, body)
            wire = b"".join((head, length_line(len(body)), body))
            sent = await self._send(wire, session)
            wait = self._wait(sent.response, tries=len(waits) + 1)
            if wait is None:
                return self._call_of(sent, body, model, session, turn, label, headers or {}, tuple(waits))
            self._on_wait(wait, sent.response.status or 0)
            await self._sleep(wait)
            waits.append(wait)

    async def get_json(self, path: str, *, from_root: bool = False) -> Any:
        """GET `path` under the base URL, or under the host. Raises Unreachable or, for other failures, TargetError."""
        return await self._json("GET", path, None, from_root)

    async def post_json(self, path: str, value: Any, *, from_root: bool = False) -> Any:
        """POST `value` as JSON; otherwise as `get_json`."""
        return await self._json("POST", path, msgspec.json.encode(value), from_root)

    async def _json(self, method: str, path: str, body: bytes | None, from_root: bool) -> Any:
        lines = self._lines | {"accept": "Accept: application/json"}
        target = self.address.target_of(path, from_root=from_root)
        head = request_head(method, target, lines, length=None if body is None else len(body))
        response = (await self._send(head + (body or b""), "")).response
        what = f"{method} {self.address}{target.partition('?')[0]}"
        if response.status is None:
            raise Unreachable(f"{what}: {response.fault}")
        if response.status >= 300:
            said = self._without_secrets(refusal_text(response, response.body))
            refused = KeyRefused if response.status in (401, 403) else TargetError
            raise refused(f"{what}: HTTP {response.status}: {said}")
        try:
            return msgspec.json.decode(response.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise TargetError(f"{what}: {response.fault or f'the reply is not JSON ({error})'}") from None

    def _head(self, model: str, stream: bool, headers: Mapping[str, str], body: bytes) -> bytes:
        """Kept for the next call where a call has no headers of its own."""
        if self._sign is not None:
            target = self.address.target_of(self._dialect.request_path(model, stream))
            headers = {**headers, **self._sign(f"{self.address}{target}", body)}
        known = self._heads.get((model, stream))
        if known is not None and not headers:
            return known
        accept = {"accept": f"Accept: {_ACCEPT[self._dialect.framing] if stream else 'application/json'}"}
        target = self.address.target_of(self._dialect.request_path(model, stream))
        head = open_head("POST", target, self._lines | accept | header_lines(headers))
        if not headers:
            self._heads[model, stream] = head
        return head

    async def _send(self, wire: bytes, session: str) -> _Sent:
        """One exchange. It is repeated, once, if a kept connection turns out to be dead before any byte came back."""
        for fresh in (False, True):
            try:
                connection, opened = await self._pool.acquire(session, fresh=fresh)
            except Unreachable as error:
                response = Response()
                response.fail(error.message)
                return _Sent(response, None)
            try:
                response = await connection.exchange(
                    wire, timeout_s=self._timeout_s, first_byte_timeout_s=self._first_byte_timeout_s
                )
            finally:
                self._pool.release(connection)
            if opened or not response.closed_silently:
                break
            self.resent += 1
        return _Sent(response, connection if opened else None)

    def _wait(self, response: Response, *, tries: int) -> float | None:
        if response.status not in (429, 503) or tries > self._max_retries:
            return None
        if b"insufficient_quota" in response.body:  # OpenAI's 429 for an empty account: no wait helps
            return None
        wait = wait_before_retry(response.status, response.headers, tries=tries, now=time())
        return wait if wait is not None and wait <= self._longest_wait_s else None

    def _call_of(
        self,
        sent: _Sent,
        body: bytes,
        model: str | None,
        session: str,
        turn: int,
        label: str,
        headers: Mapping[str, str],
        waits: tuple[float, ...],
    ) -> Call:
        response = sent.response
        outcome = read_outcome(response, self._dialect)
        timing = timing_of(response, outcome, origin_ns=self._origin_ns, origin_unix=self._origin_unix)
        if timing is not None and sent.opened is not None:
            timing = msgspec.structs.replace(timing, connect_s=sent.opened.connect_s, tls_s=sent.opened.tls_s)
        return Call(
            target=self._target,
            dialect=self._dialect.name,
            body=body,
            model=model,
            session=session,
            turn=turn,
            label=label,
            headers=self._kept_headers | kept_request_headers(headers.items()) if headers else self._kept_headers,
            status=response.status,
            usage=with_header_counts(outcome.reading.usage, response.headers),
            timing=timing,
            reply=outcome.reading.reply,
            response_headers=kept_response_headers(response.headers.items()),
            waits=waits,
            error=None if outcome.error is None else self._without_secrets(outcome.error),
            raw_usage=outcome.reading.raw_usage,
        )

    def _without_secrets(self, text: str) -> str:
        """Some servers repeat the key they refuse."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _secrets(headers: Mapping[str, str]) -> tuple[str, ...]:
    values = (value.strip() for name, value in headers.items() if not kept_request_headers([(name, value)]))
    words = {word for value in values for word in (value, value.rpartition(" ")[2]) if len(word) >= 8}
    return tuple(sorted(words, key=len, reverse=True))


def _model_in(body: bytes) -> str | None:
    try:
        return _decode_asked(body).model
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
