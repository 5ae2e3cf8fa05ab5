"""Replies that end together go back to their callers a few a round of the event loop.

A caller decodes its reply as soon as it has it. Were all of them decoded before the loop looks at a socket again, the
stamps of the streams still running would be late by all of it; like this they are late by `BYTES_A_ROUND`, or by one
reply that is longer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

BYTES_A_ROUND = 16 * 1024
"""Less than a millisecond of decoding; one short reply a round would leave the interpreter cold for each."""


class Turns:
    """For all connections of one client."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[asyncio.Future[Any], Any, int]] = deque()

    def hand_over(self, caller: asyncio.Future[Any], result: Any, length: int) -> None:
        """Resolve `caller` with `result`, a reply of that many bytes, when those before it have had their turn."""
        self._waiting.append((caller, result, length))
        if len(self._waiting) == 1:
            caller.get_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        waiting = self._waiting
        room = BYTES_A_ROUND
        while waiting:
            caller, result, length = waiting[0]
            if not caller.done():  # else it was cancelled
                if length > room < BYTES_A_ROUND:
                    caller.get_loop().call_soon(self._next_round)
                    return
                room -= length
                caller.set_result(result)
            waiting.popleft()
