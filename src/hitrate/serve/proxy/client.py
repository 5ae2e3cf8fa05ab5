"""The client's side: its requests, one after the other, and what is written back."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from time import perf_counter_ns
from typing import TYPE_CHECKING, cast

from hitrate.serve.proxy.framing import Framing
from hitrate.serve.proxy.heads import HEAD_END, LONGEST_HEAD_BYTES, Malformed, RequestHead
from hitrate.serve.proxy.peers import has_closed
from hitrate.serve.proxy.pool import WRITE_LIMIT_BYTES
from hitrate.serve.proxy.refusals import OwnAnswer, Refused
from hitrate.serve.proxy.relay import Relay

if TYPE_CHECKING:
    from hitrate.serve.proxy.proxy import Proxy

AHEAD_LIMIT_BYTES = 64 * 1024
"""Of requests sent before the one in front was answered (pipelining); past it the client is not read."""

LINGER_S = 5.0
"""A client that was answered before it had sent its request whole may go on for so long: to close on it would throw
away the answer it has not read."""

_AT_ONCE = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
"""SO_LINGER: close with a reset."""


class ClientSide(asyncio.Protocol):
    __slots__ = (
        "_active_ns",
        "_ahead",
        "_ended",
        "_lingers",
        "_proxy",
        "_reading",
        "_relay",
        "_stopping",
        "transport",
        "write_paused",
    )

    def __init__(self, proxy: Proxy) -> None:
        self.transport: asyncio.Transport
        self.write_paused = False
        self._proxy = proxy
        self._relay: Relay | None = None
        self._ahead = b""
        """Read and not yet passed on: the start of a head, or requests behind the one under way."""
        self._reading = True
        self._ended = False
        """The client has shut its sending side and still waits for answers."""
        self._lingers = False
        self._stopping = False
        self._active_ns = 0

    # For the relay.

    def write(self, data: bytes) -> None:
        if not self.transport.is_closing():  # uvloop raises on a connection that broke and has not told so yet
            self._proxy.counters.bytes_to_clients += len(data)
            self.transport.write(data)

    def answered(self, *, keep: bool) -> None:
        """The answer is written whole; `keep` says whether the connection is good for another request."""
        relay, self._relay = self._relay, None
        self._active_ns = perf_counter_ns()
        if not keep or self._stopping or (self._ended and not self._ahead):
            self._close(whole=relay is None or relay.request.complete)
            return
        self.update_reading()
        self._next_request()

    def refuse(self, answer: OwnAnswer, head: RequestHead | None = None, request: Framing | None = None) -> None:
        """Answer in the upstream's place, and close."""
        self._relay = None
        self.write(answer.response(body=head is None or head.method != b"HEAD"))
        self._close(whole=request is not None and request.complete)

    def cut(self, *, reset: bool) -> None:
        """End the answer where it is, visibly. `reset` where an orderly end would look like its end."""
        self._relay = None
        if reset:
            raw_socket = self.transport.get_extra_info("socket")
            if raw_socket is not None:
                raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            self.transport.abort()
        else:
            self.transport.close()

    def switched(self) -> None:
        """From here on it is a tunnel: what was read ahead belongs into it."""
        ahead, self._ahead = self._ahead, b""
        if ahead and self._relay is not None:
            self._relay.client_bytes(ahead)
        self.update_reading()

    def update_reading(self) -> None:
        """Read on unless the upstream takes no more, or too much has been read ahead."""
        blocked = self._relay is not None and self._relay.blocked
        wanted = not blocked and len(self._ahead) <= AHEAD_LIMIT_BYTES
        if wanted != self._reading and not self.transport.is_closing():
            self._reading = wanted
            if wanted:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()

    # For the proxy.

    def look(self, now_ns: int, idle_ns: float) -> None:
        """Called about once a second: end what has been still for too long."""
        relay = self._relay
        if relay is None:
            if now_ns - self._active_ns > (LINGER_S * 1e9 if self._lingers else idle_ns):
                self.transport.abort()
        elif now_ns - max(relay.active_ns, self._active_ns) > idle_ns:
            relay.stalled(idle_ns / 1e9)
        elif self._ended and has_closed(self.transport):
            self._abandon()

    def stop(self, *, now: bool, why: str = "the proxy was stopped") -> None:
        """End after the answer under way, or at once."""
        self._stopping = True
        relay = self._relay
        if relay is None or relay not in self._proxy.running:
            self.transport.close()
        elif now:
            self._relay = None
            relay.client_gone(why)
            self.transport.abort()

    # asyncio calls these; the names are its own.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=WRITE_LIMIT_BYTES, low=0)
        raw_socket = transport.get_extra_info("socket")
        if raw_socket is not None:
            raw_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._active_ns = perf_counter_ns()
        self._proxy.clients.add(self)

    def data_received(self, data: bytes) -> None:
        self._active_ns = perf_counter_ns()
        self._proxy.counters.bytes_from_clients += len(data)
        relay = self._relay
        if self._lingers:
            return
        if relay is not None and not self._ahead and (relay.tunnel or not relay.request.complete):
            self._feed(relay, data)
        else:
            self._ahead = self._ahead + data if self._ahead else data
            if relay is None:
                self._next_request()
            else:
                self.update_reading()

    def eof_received(self) -> bool:
        relay = self._relay
        if relay is None or self._lingers:
            return False
        if relay.tunnel:
            relay.client_ended()
        elif not relay.request.complete or has_closed(self.transport):
            self._abandon()
        else:
            self._ended = True
        return True

    def connection_lost(self, error: Exception | None) -> None:
        self._proxy.clients.discard(self)
        self._lingers = True
        relay, self._relay = self._relay, None
        if relay is not None:
            relay.client_gone()

    def pause_writing(self) -> None:
        self.write_paused = True
        if self._relay is not None:
            self._relay.client_writes(paused=True)

    def resume_writing(self) -> None:
        self.write_paused = False
        if self._relay is not None:
            self._relay.client_writes(paused=False)

    # In between.

    def _next_request(self) -> None:
        data = self._ahead.lstrip(b"\r\n")  # RFC 9112, 2.2: empty lines in front of a request are no fault
        end = data.find(HEAD_END) + len(HEAD_END)
        if end < len(HEAD_END):
            self._ahead = data
            if self._ended:
                self._close(whole=True)
            elif len(data) > LONGEST_HEAD_BYTES:
                self._proxy.counters.refused += 1
                self.refuse(Refused(431, f"a head of more than {LONGEST_HEAD_BYTES // 1024} KiB is no request"))
            return
        head = None
        try:
            head = RequestHead(data[:end])
            self._relay = relay = self._proxy.relay(self, head)
        except Malformed as error:
            self._proxy.counters.refused += 1
            self.refuse(Refused(400, f"not a request in HTTP/1.x: {error}"))
            return
        except OwnAnswer as answer:
            self._proxy.counters.refused += answer.status != 200
            self.refuse(answer, head)
            return
        self._ahead = b""
        self._feed(relay, data[end:], start=True)

    def _feed(self, relay: Relay, data: bytes, *, start: bool = False) -> None:
        try:
            taken = relay.start(data) if start else relay.client_bytes(data)
        except Malformed as error:
            self._relay = None
            relay.client_gone(f"the client's request is broken: {error}")
            self.refuse(Refused(400, f"the body of the request is broken: {error}"))
            return
        if taken != len(data):
            self._ahead = data[taken:]
            if self._relay is None and not self._lingers:  # it was answered before it was whole
                self._next_request()
        self.update_reading()

    def _abandon(self) -> None:
        relay, self._relay = self._relay, None
        if relay is not None:
            relay.client_gone()
        self.transport.abort()

    def _close(self, *, whole: bool) -> None:
        """Once everything is written. A client that has not sent its request `whole` may still be doing so."""
        self._ahead = b""
        self._lingers = True
        if whole or self._ended or self.transport.is_closing():
            self.transport.close()
            return
        self._active_ns = perf_counter_ns()
        self.transport.write_eof()
        if not self._reading:
            self._reading = True
            self.transport.resume_reading()
