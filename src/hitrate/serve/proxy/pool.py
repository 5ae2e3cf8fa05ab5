"""Connections to one upstream: those that are free, and the opening of new ones."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from time import perf_counter_ns
from typing import TYPE_CHECKING, cast

from hitrate.serve.proxy.counters import Counters
from hitrate.serve.proxy.refusals import Refused
from hitrate.targets.address import Address
from hitrate.targets.reaching import why_not_connected

if TYPE_CHECKING:
    from hitrate.serve.proxy.relay import Relay

KEPT_IDLE_S = 60.0
"""A free connection is kept this long. Servers close theirs after 5 s and more, which is noticed at once."""

WRITE_LIMIT_BYTES = 1
"""A side is paused as soon as its socket does not take everything, and goes on when it has. Not 0, at which asyncio's
TLS pauses without need and for good."""


class UpstreamSide(asyncio.Protocol):
    """One connection to an upstream; it carries one request at a time and is `reused` from the second on."""

    __slots__ = ("_pool", "closed", "connect_s", "idle_since_ns", "relay", "reused", "transport", "write_paused")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.transport: asyncio.Transport
        self.relay: Relay | None = None
        self.closed = False
        self.reused = False
        self.write_paused = False
        self.connect_s = 0.0
        self.idle_since_ns = 0

    # A connection that breaks is closed before this side hears of it; uvloop raises on what is done to it meanwhile.

    def write(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)

    def write_eof(self) -> None:
        if not self.transport.is_closing() and self.transport.can_write_eof():
            self.transport.write_eof()

    def read_on(self, wanted: bool) -> None:
        if self.transport.is_closing():
            return
        if wanted:
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()

    def close(self) -> None:
        """At once, and for good: nobody waits for anything any more."""
        self.relay = None
        self.closed = True
        self.transport.abort()

    # asyncio calls these; the names are its own.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=WRITE_LIMIT_BYTES, low=0)
        raw_socket = transport.get_extra_info("socket")
        if raw_socket is not None:
            raw_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        stamp_ns = perf_counter_ns()
        if self.relay is not None:
            self.relay.upstream_bytes(stamp_ns, data)
        else:  # nobody asked: whatever it is, the next answer could not be told from it
            self._pool.forget(self)
            self.close()

    def eof_received(self) -> bool:
        self._lost(None)
        self.transport.abort()  # a request that it does not read would hold it open
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._lost(error)

    def pause_writing(self) -> None:
        self.write_paused = True
        if self.relay is not None:
            self.relay.upstream_writes(paused=True)

    def resume_writing(self) -> None:
        self.write_paused = False
        if self.relay is not None:
            self.relay.upstream_writes(paused=False)

    def _lost(self, error: Exception | None) -> None:
        self.closed = True
        relay, self.relay = self.relay, None
        if relay is None:
            self._pool.forget(self)
        else:
            relay.upstream_lost(self, error)


class Pool:
    """No limit on connections: a client beside another must not wait for it, as it would not without the proxy."""

    def __init__(
        self, name: str, address: Address, *, tls: ssl.SSLContext | None, connect_timeout_s: float, counters: Counters
    ) -> None:
        self.name = name
        self.address = address
        self._tls = tls
        self._connect_timeout_s = connect_timeout_s
        self._counters = counters
        self._free: deque[UpstreamSide] = deque()

    def take(self) -> UpstreamSide | None:
        """The free connection used last, which is the least likely to be closed meanwhile."""
        while self._free:
            connection = self._free.pop()
            if not connection.closed:
                connection.reused = True
                return connection
        return None

    async def open(self) -> UpstreamSide:
        """Raises Refused, 502, with the name of the upstream and the reason."""
        loop = asyncio.get_running_loop()
        started_ns = perf_counter_ns()
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                _, connection = await loop.create_connection(
                    lambda: UpstreamSide(self),
                    self.address.host,
                    self.address.port,
                    ssl=self._tls,
                    server_hostname=None if self._tls is None else self.address.host,
                )
        except (OSError, TimeoutError) as error:
            raise Refused(502, f"{self.name}: {why_not_connected(error, self._connect_timeout_s)}") from error
        connection.connect_s = (perf_counter_ns() - started_ns) / 1e9
        self._counters.connections_opened += 1
        return connection

    def give_back(self, connection: UpstreamSide, now_ns: int) -> None:
        """It has carried a request and its whole answer, and both sides left it open."""
        connection.relay = None
        if connection.closed:
            return
        connection.read_on(True)  # so that its end is noticed
        connection.idle_since_ns = now_ns
        self._free.append(connection)

    def forget(self, connection: UpstreamSide) -> None:
        if connection in self._free:
            self._free.remove(connection)

    def expire(self, now_ns: int) -> None:
        """Close what has been free for too long."""
        while self._free and now_ns - self._free[0].idle_since_ns > KEPT_IDLE_S * 1e9:
            self._free.popleft().close()

    def close(self) -> None:
        while self._free:
            self._free.pop().close()
