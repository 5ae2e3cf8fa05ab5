"""Replies that end together go back to their callers one a round of the event loop.

A caller decodes its reply as soon as it has it. Were all of them decoded before the loop looks at a socket again, the
stamps of the streams still running would be late by all of it; like this they are late by one at most.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any


class Turns:
    """For all connections of one client."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[asyncio.Future[Any], Any]] = deque()

    def hand_over(self, caller: asyncio.Future[Any], result: Any) -> None:
        """Resolve `caller` with `result` when those before it have had their turn."""
        self._waiting.append((caller, result))
        if len(self._waiting) == 1:
            caller.get_loop().call_soon(self._next)

    def _next(self) -> None:
        caller, result = self._waiting[0]
        if not caller.done():  # else it was cancelled
            caller.set_result(result)
        self._waiting.popleft()
        if self._waiting:
            self._waiting[0][0].get_loop().call_soon(self._next)
