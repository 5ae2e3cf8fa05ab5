"""Open connections, kept by session.

A session keeps its connection, because behind a load balancer that works on connections the connection decides on
the replica: sharing it between sessions, or opening one a call, would measure another routing than the user has.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque

from hitrate.live.connection import Connection, open_connection
from hitrate.live.turns import Turns
from hitrate.targets.address import Address


class Pool:
    """At most `limit` connections to one address.

    `connect_times_s` has one entry for every connection ever opened, with the TLS handshake in it.
    """

    def __init__(self, address: Address, *, tls: ssl.SSLContext | None, limit: int, connect_timeout_s: float) -> None:
        self.connect_times_s: list[float] = []
        self._address = address
        self._tls = tls
        self._limit = limit
        self._connect_timeout_s = connect_timeout_s
        self._turns = Turns()
        self._count = 0
        self._free: list[Connection] = []
        self._kept: dict[str, Connection] = {}
        self._busy: set[Connection] = set()
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self, session: str, *, fresh: bool = False) -> tuple[Connection, bool]:
        """A connection for one exchange, and whether it was opened for it. Raises Unreachable.

        First the session's own; then the free one used last; then a new one; at the limit the one of the session
        that has been silent longest, or the next to come back. `fresh` insists on a new one.
        """
        while True:
            connection = None if fresh else self._idle(session)
            if connection is None and self._count >= self._limit:
                spare = self._silent_longest()
                if spare is not None and fresh:
                    self._discard(spare)
                else:
                    connection = spare
            if connection is not None:
                connection.session = session
                self._busy.add(connection)
                return connection, False
            if self._count < self._limit:
                connection = await self._open()
                connection.session = session
                self._busy.add(connection)
                return connection, True
            await self._one_back()

    def release(self, connection: Connection) -> None:
        """The exchange is over, well or badly."""
        self._busy.discard(connection)
        if connection.closed:
            self._count -= 1
        elif connection.session and connection.session not in self._kept:
            self._kept[connection.session] = connection
        else:
            self._free.append(connection)
        self._wake_one()

    def end_session(self, session: str) -> None:
        """The session makes no further call; its connection may serve others."""
        connection = self._kept.pop(session, None)
        if connection is not None:
            connection.session = ""
            self._free.append(connection)

    async def open_ahead(self, connections: int) -> None:
        """Have `connections` free ones open, as far as the limit allows. Raises Unreachable if any fails."""
        self._free = [connection for connection in self._free if self._alive(connection)]
        missing = min(connections - len(self._free), self._limit - self._count)
        opened = await asyncio.gather(*(self._open() for _ in range(missing)), return_exceptions=True)
        self._free += [one for one in opened if isinstance(one, Connection)]
        for failure in opened:
            if isinstance(failure, BaseException):
                raise failure

    async def close(self) -> None:
        for connection in (*self._free, *self._kept.values(), *self._busy):
            connection.abort()
        self._free.clear()
        self._kept.clear()
        await asyncio.sleep(0)  # lets the transports tell their connections

    def _idle(self, session: str) -> Connection | None:
        own = self._kept.pop(session, None) if session else None
        if own is not None and self._alive(own):
            return own
        while self._free:
            connection = self._free.pop()
            if self._alive(connection):
                return connection
        return None

    def _silent_longest(self) -> Connection | None:
        while self._kept:
            connection = self._kept.pop(next(iter(self._kept)))  # release puts a session back at the end
            if self._alive(connection):
                return connection
        return self._free.pop() if self._free else None

    async def _open(self) -> Connection:
        self._count += 1
        try:
            connection = await open_connection(
                self._address, tls=self._tls, timeout_s=self._connect_timeout_s, turns=self._turns
            )
        except BaseException:
            self._count -= 1
            self._wake_one()
            raise
        self.connect_times_s.append(connection.connect_s + (connection.tls_s or 0.0))
        return connection

    def _alive(self, connection: Connection) -> bool:
        """Closed ones are taken out of the count when they are met."""
        if connection.closed:
            self._count -= 1
        return not connection.closed

    def _discard(self, connection: Connection) -> None:
        connection.abort()
        self._count -= 1

    async def _one_back(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._wake_one()  # the turn was given and not used
            raise

    def _wake_one(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
