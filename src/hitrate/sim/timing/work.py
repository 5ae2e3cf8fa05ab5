"""An engine that keeps count of what its steps computed, so that times can be taken for sums of costs."""

from __future__ import annotations

from bisect import bisect_left

from hitrate.sim.timing.engine import Engine
from hitrate.sim.timing.engine_timing import COSTS, EngineTiming

Work = tuple[float, ...]
"""How many of each of `COSTS`, in that order."""


class CountingEngine(Engine):
    def __init__(self, timing: EngineTiming) -> None:
        super().__init__(timing)
        self.longest_step_s = 0.0
        self._starts: list[float] = []
        self._all_ends: list[float] = []
        self._done: list[Work] = [(0.0,) * len(COSTS)]
        """Up to the start of each stretch of steps, and to the end of the last one."""

    def _finish(self) -> None:
        count, decoding = self._count, self._decoding
        computed = [(request.chunk, request.context - request.left) for request in self._prefilling]
        work = (
            count,
            bool(computed),
            sum(chunk for chunk, _ in computed),
            sum(chunk * before + chunk * (chunk - 1) / 2 for chunk, before in computed),
            count * decoding,
            count * self._context + decoding * count * (count - 1) / 2,
        )
        self.longest_step_s = max(self.longest_step_s, self._each_s)
        self._starts.append(self._start)
        self._all_ends.append(self.next_moment)
        self._done.append(tuple(map(sum, zip(self._done[-1], work, strict=True))))
        super()._finish()

    def work(self, start: float, end: float) -> Work:
        """Between two moments that are over; of steps that only half lie between them, as much as does."""
        return tuple(after - before for before, after in zip(self._until(start), self._until(end), strict=True))

    def _until(self, moment: float) -> Work:
        place = bisect_left(self._all_ends, moment)
        done = self._done[place]
        if place == len(self._all_ends) or moment <= self._starts[place]:
            return done
        share = (moment - self._starts[place]) / (self._all_ends[place] - self._starts[place])
        return tuple(a + share * (b - a) for a, b in zip(done, self._done[place + 1], strict=True))
