"""A limit of requests per minute, over a sliding window."""

from __future__ import annotations

import math
from collections import deque

WINDOW_S = 60.0


class RateLimit:
    """At most `requests` in any 60 s. Refused requests do not count."""

    def __init__(self, requests: int) -> None:
        self._requests = requests
        self._taken: deque[float] = deque()

    def take(self, now: float) -> int | None:
        """Take a place at `now`. None when there was one, else the whole seconds until there is."""
        while self._taken and self._taken[0] <= now - WINDOW_S:
            self._taken.popleft()
        if len(self._taken) < self._requests:
            self._taken.append(now)
            return None
        return max(1, math.ceil(self._taken[0] + WINDOW_S - now))

    def reset(self) -> None:
        self._taken.clear()
