"""One keep-alive HTTP/1.1 connection that stamps what it reads.

The measuring path is as short as it can be: the request is bytes before the clock starts, the clock starts right
before the write, and the first thing done with a read is to stamp it.

Connections are direct: HTTP proxies named in the environment (`HTTPS_PROXY` and alike) are not used. HTTP/1.1 is
enough for every known target, so nothing else is offered.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from time import perf_counter_ns
from typing import cast

from hitrate.errors import Unreachable
from hitrate.live.response import Response
from hitrate.live.turns import Turns
from hitrate.targets.address import Address
from hitrate.targets.reaching import why_not_connected

WRITE_PIECE_BYTES = 256 * 1024
"""A larger request goes out in pieces, each when the socket has taken the one before."""


class Connection(asyncio.Protocol):
    """Carries one exchange at a time. `connect_s` includes the name look-up; `tls_s` is None on plain HTTP."""

    def __init__(self, loop: asyncio.AbstractEventLoop, turns: Turns | None = None) -> None:
        self.connect_s = 0.0
        self.tls_s: float | None = None
        self.session = ""
        self.closed = False
        self.transport: asyncio.Transport
        self._loop = loop
        self._turns = turns or Turns()
        self._response: Response | None = None
        self._done: asyncio.Future[Response]
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._first_byte_by = 0.0
        self._expires_at = 0.0
        self._timeout_ns = 0.0
        self._unsent = memoryview(b"")
        self._write_paused = False

    async def exchange(self, wire: bytes, *, timeout_s: float, first_byte_timeout_s: float | None = None) -> Response:
        """Send a whole request and return its reply, ended well or with a fault; never raises for a failed exchange.

        An exchange cancelled before its end closes the connection, since the rest of its reply could not be told from
        the next one.
        """
        self.begin(wire, timeout_s, first_byte_timeout_s)
        try:
            return await self._done
        except asyncio.CancelledError:
            if self._response is not None:
                self.abort()
            raise

    def begin(self, wire: bytes, timeout_s: float, first_byte_timeout_s: float | None) -> None:
        if self._response is not None:
            raise RuntimeError("a connection carries one exchange at a time")
        response = self._response = Response()
        self._done = self._loop.create_future()
        if self.closed:
            response.end_of_stream()
            self._finish()
            return
        now = self._loop.time()
        self._expires_at = now + timeout_s
        self._timeout_ns = timeout_s * 1e9
        self._first_byte_by = now + min(timeout_s, first_byte_timeout_s or timeout_s)
        if self._timer is None or self._timer_at > self._first_byte_by:
            self._wake_at(self._first_byte_by)
        if len(wire) <= WRITE_PIECE_BYTES:
            response.written_ns = perf_counter_ns()
            self.transport.write(wire)
        else:
            self._unsent = memoryview(wire)
            response.written_ns = perf_counter_ns()
            self._write_on()

    def abort(self) -> None:
        self.closed = True
        self.transport.abort()

    # asyncio calls these; the names are its own.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        raw_socket = transport.get_extra_info("socket")
        if raw_socket is not None:
            raw_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        stamp_ns = perf_counter_ns()
        if self._response is None:
            self.abort()  # nobody asked: whatever it is, the next reply could not be told from it
        elif self._response.feed(stamp_ns, data):
            self._finish()
        elif (
            stamp_ns - self._response.written_ns >= self._timeout_ns
        ):  # a flood of reads can keep the timer from its turn
            self._give_up(self._response)

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._response is not None:
            self._response.end_of_stream(error)
            self._finish()

    def pause_writing(self) -> None:
        self._write_paused = True

    def resume_writing(self) -> None:
        self._write_paused = False
        self._write_on()

    def _write_on(self) -> None:
        while self._unsent and not self._write_paused and not self.closed:
            piece, self._unsent = self._unsent[:WRITE_PIECE_BYTES], self._unsent[WRITE_PIECE_BYTES:]
            self.transport.write(piece)

    def _wake_at(self, when: float) -> None:
        """One timer serves exchange after exchange: it rings at or before a deadline, and is set anew if that moved."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._expire)
        self._timer_at = when

    def _expire(self) -> None:
        self._timer = None
        response = self._response
        if response is None:
            return
        deadline = self._expires_at if response.reads else self._first_byte_by
        if self._timer_at < deadline:
            self._wake_at(deadline)
        else:
            self._give_up(response)

    def _give_up(self, response: Response) -> None:
        waited_s = (perf_counter_ns() - response.written_ns) / 1e9
        response.fail(
            f"the reply was not finished after {waited_s:.3g} s" if response.reads else f"no reply in {waited_s:.3g} s"
        )
        self._finish()

    def _finish(self) -> None:
        response = self._response
        assert response is not None
        self._response = None
        if not self.closed and (self._unsent or not response.reusable):
            self.abort()
        self._unsent = memoryview(b"")
        self._turns.hand_over(self._done, response, response.received)


async def open_connection(
    address: Address, *, tls: ssl.SSLContext | None, timeout_s: float, turns: Turns
) -> Connection:
    """Connect, and shake hands where `tls` is given. Raises Unreachable with the address and the reason, one line."""
    loop = asyncio.get_running_loop()
    connection = Connection(loop, turns)
    try:
        async with asyncio.timeout(timeout_s):
            started_ns = perf_counter_ns()
            transport, _ = await loop.create_connection(lambda: connection, address.host, address.port)
            connected_ns = perf_counter_ns()
            connection.connect_s = (connected_ns - started_ns) / 1e9
            if tls is not None:
                secured = await loop.start_tls(transport, connection, tls, server_hostname=address.host)
                if secured is None:
                    raise ConnectionResetError("closed during the TLS handshake")
                connection.transport = secured
                connection.tls_s = (perf_counter_ns() - connected_ns) / 1e9
    except (OSError, TimeoutError) as error:
        if hasattr(connection, "transport"):
            connection.transport.abort()
        raise Unreachable(f"{address}: {why_not_connected(error, timeout_s)}") from error
    return connection
