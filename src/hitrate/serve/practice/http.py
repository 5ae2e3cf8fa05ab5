"""The hot path: one bare ASGI callable that reads a request, waits for the moments its answer is due, and writes.

All of an answer is prepared while the engine "computes"; what is left at a token's moment is one write. Moments are
absolute, so a late timer delays one token and not all behind it.
"""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from hitrate.serve.practice import timeline
from hitrate.serve.practice.figures import figure
from hitrate.serve.practice.protocol import ARRIVAL, Arrival
from hitrate.serve.practice.service import Accepted, Service
from hitrate.serve.practice.timeline import Write
from hitrate.serve.practice.wire import RESPONSE_ID, Answer, Headers, Refused
from hitrate.serve.practice.wires import Found

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_NO_CACHE = (b"cache-control", b"no-cache")


class ClientGone(Exception):
    """The client went away, or the server stops."""


class ModelCalls:
    """Answers the calls of every wire format. One of its `Exchange`s lives as long as a call."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.live: set[Exchange] = set()

    async def __call__(self, found: Found, scope: Message, receive: Receive, send: Send) -> None:
        exchange = Exchange(self.service, found, scope.get(ARRIVAL) or Arrival(), send)
        self.live.add(exchange)
        try:
            await exchange.run(scope, receive)
        except ClientGone:
            pass
        except Exception:
            traceback.print_exc(file=sys.stderr)
            exchange.arrival.close()
        finally:
            self.live.discard(exchange)

    def stop(self) -> None:
        """End every answer under way."""
        for exchange in self.live:
            exchange.arrival.close()


class Exchange:
    """One request and its answer."""

    def __init__(self, service: Service, found: Found, arrival: Arrival, send: Send) -> None:
        self.service = service
        self.wire, self.place = found
        self.arrival = arrival
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._response_id = b""

    async def run(self, scope: Message, receive: Receive) -> None:
        body = await _read(receive)
        read_ns = self.arrival.read_ns or time.monotonic_ns()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            accepted = self.service.accept(
                self.wire,
                body,
                headers,
                now=time.monotonic,
                read_at=read_ns / 1e9,
                admitted=self.arrival.wake,
                place=self.place,
                query=dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"))),
            )
        except Refused as refused:
            await self._refuse(refused)
            return
        try:
            await self._answer(accepted, read_ns)
        except BaseException:
            self.service.engine.abort(accepted.job, now=time.monotonic())
            raise
        finally:
            self._schedule_advance()

    async def _refuse(self, refused: Refused) -> None:
        data = self.wire.error(refused)
        headers: Headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(data))]
        headers += self.wire.error_headers(refused)
        if refused.retry_after is not None:
            headers.append((b"retry-after", b"%d" % refused.retry_after))
        await self._send({"type": "http.response.start", "status": refused.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": data})

    async def _answer(self, accepted: Accepted, read_ns: int) -> None:
        job, service = accepted.job, self.service
        while job.first_token_at is None:
            await self._wait(None)
        if self.wire.id_prefix:
            self._response_id = b"%s-%d" % (self.wire.id_prefix, job.call)
        answer = service.answer(accepted, created=int(time.time()))
        pace = timeline.pace_of(time.monotonic(), job.first_token_at, service.options.decode_rate, accepted.faults)
        if accepted.request.stream:
            writes = timeline.stream(self.wire, answer, pace, accepted.faults)
            whole = await self._write_stream(accepted, answer, writes, read_ns)
        else:
            write = timeline.whole_body(self.wire, answer, pace, accepted.faults)
            # The prompt is computed now, as it is for a stream, though nobody sees a token yet.
            await self._wait(pace.first_token)
            service.engine.first_token(job, now=time.monotonic())
            whole = await self._write_body(accepted, answer, write, read_ns)
        if whole:
            service.finish(accepted, now=time.monotonic)
        else:
            service.engine.abort(job, now=time.monotonic())

    async def _start(self, accepted: Accepted, answer: Answer, headers: Headers) -> None:
        if self.service.vendor is not None:
            told = ((name, figure(figure_name, answer)) for name, figure_name in self.service.vendor.headers.items())
            headers += [(name.encode(), str(value).encode()) for name, value in told if value is not None]
        if not self.service.options.hide_internals:
            expected = accepted.job.expected_ttft_s or 0.0
            headers.append((b"x-hitrate-replica", b"%d" % accepted.job.replica))
            headers.append((b"x-hitrate-expected-ttft-ms", b"%.3f" % (expected * 1000)))
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _write_stream(self, accepted: Accepted, answer: Answer, writes: Iterable[Write], read_ns: int) -> bool:
        """False when a fault ended the answer early."""
        await self._start(accepted, answer, [(b"content-type", self.wire.framing.content_type), _NO_CACHE])
        for write in writes:
            await self._wait(write.due)
            if write.first_token:
                self.service.engine.first_token(accepted.job, now=self._stamp(read_ns))
            await self._send({"type": "http.response.body", "body": self._identified(write.data), "more_body": True})
            if write.close:
                await self._close()
                return False
        await self._send({"type": "http.response.body", "body": b""})
        return "error-after-200" not in accepted.faults

    async def _write_body(self, accepted: Accepted, answer: Answer, write: Write, read_ns: int) -> bool:
        """False when a fault ended the answer early."""
        await self._wait(write.due)
        self._stamp(read_ns)
        data = self._identified(write.data)
        # A body that is cut announces one byte more than it has.
        length = len(data) + write.close
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % length)]
        await self._start(accepted, answer, headers)
        await self._send({"type": "http.response.body", "body": data, "more_body": write.close})
        if write.close:
            await self._close()
        return not write.close and "error-after-200" not in accepted.faults

    def _stamp(self, read_ns: int) -> float:
        """Put this moment, at which the first byte of the reply is handed to the socket, into the response id."""
        now_ns = time.monotonic_ns()
        if self.wire.id_prefix and not self.service.options.hide_internals:
            self._response_id = b"%s-%d-%d" % (self.wire.id_prefix, read_ns, now_ns)
        return now_ns / 1e9

    def _identified(self, data: bytes) -> bytes:
        # Binary frames are full of that byte.
        return data.replace(RESPONSE_ID, self._response_id) if self._response_id else data

    async def _wait(self, due: float | None) -> None:
        """Until `due`, or until woken when it is None. Raises ClientGone as soon as the client is."""
        delay = None if due is None else due - time.monotonic()
        if not self.arrival.lost and (delay is None or delay > 0):
            self.arrival.woken = self._loop.create_future()
            timer = None if delay is None else self._loop.call_later(delay, self.arrival.wake)
            try:
                await self.arrival.woken
            finally:
                self.arrival.woken = None
                if timer is not None:
                    timer.cancel()
        if self.arrival.lost:
            raise ClientGone

    async def _close(self) -> None:
        """Close the connection and wait until it is, so that the server does not think the answer was forgotten."""
        self.arrival.close()
        try:
            await self._wait(None)
        except ClientGone:
            return

    def _schedule_advance(self) -> None:
        """What this exchange leaves to be done later is done in its time, though nobody else comes meanwhile."""
        engine = self.service.engine
        if engine.next_due is not None:
            later_s = self.service.options.write_delay_ms / 1000 + 0.001
            self._loop.call_later(later_s, lambda: engine.advance(time.monotonic()))


async def _read(receive: Receive) -> bytes:
    parts = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)
