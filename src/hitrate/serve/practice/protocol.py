"""uvicorn's HTTP protocol, with two moments that ASGI does not tell: a request was read, a client left."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

ARRIVAL = "hitrate.arrival"
"""Where an `Arrival` stands in the ASGI scope."""


class Arrival:
    """`read_ns`: the last byte of the request was read, by CLOCK_MONOTONIC; 0 before that.

    `woken` is the future that the request's task waits on, if it waits; it ends when the client goes away.
    """

    __slots__ = ("_protocol", "lost", "read_ns", "woken")

    def __init__(self, protocol: ArrivalProtocol | None = None) -> None:
        self._protocol = protocol
        self.read_ns = 0
        self.lost = False
        self.woken: asyncio.Future[None] | None = None

    def wake(self) -> None:
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(None)

    def lose(self) -> None:
        self.lost = True
        self.wake()

    def close(self) -> None:
        """Close the connection once what was written has left. `lose` follows."""
        if self._protocol is not None:
            self._protocol.transport.close()
        else:
            self.lose()


class ArrivalProtocol(HttpToolsProtocol):
    """A request handled while another one on the same connection still is (pipelining) learns of the client's leaving
    when it writes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._arrival = Arrival()
        self._stamp_ns = 0

    def data_received(self, data: bytes) -> None:
        self._stamp_ns = time.monotonic_ns()
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._arrival = Arrival(self)
        self.scope[ARRIVAL] = self._arrival  # type: ignore[literal-required]

    def on_message_complete(self) -> None:
        self._arrival.read_ns = self._stamp_ns
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._arrival.lose()
