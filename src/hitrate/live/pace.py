"""Keeps a run below a number of requests per minute."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Pace:
    """Calls leave at least 60 / `requests_per_minute` seconds apart, in the order they asked; None does not wait.

    `clock` gives monotonic seconds. Safe for any number of tasks of one event loop.
    """

    def __init__(
        self,
        requests_per_minute: float | None,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._gap = None if requests_per_minute is None else 60.0 / requests_per_minute
        self._clock = clock
        self._sleep = sleep
        self._next = 0.0

    async def turn(self) -> None:
        if self._gap is None:
            return
        now = self._clock()
        mine = max(now, self._next)
        self._next = mine + self._gap
        if mine > now:
            await self._sleep(mine - now)
