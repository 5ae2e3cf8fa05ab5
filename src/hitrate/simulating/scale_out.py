"""Many points replayed by as many as there are to do it: in this process, by processes of this machine, by a cluster.

Whoever does it, the same comes of it, to the byte.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from hitrate.core.records import Records
from hitrate.core.trace import Chunk, Trace
from hitrate.sim.capacity.curve import LruCurve
from hitrate.simulating.packed import PackedTrace
from hitrate.simulating.replaying import Replayed, TraceSums, replay
from hitrate.simulating.tasks import Answer, Doing, Task, Watch, perform, put_together, seconds, share_out
from hitrate.simulating.wanted import Point

_WORTH_PROCESSES_S = 2.0
"""Of work: less is done here before a process has started."""


class Unwatched:
    """Nobody wants to know how far it is."""

    def read(self, requests: int) -> None:
        pass

    def done(self, tasks: int, of: int) -> None:
        pass


class Scale(Struct, kw_only=True):
    """On how much a replay may spread. With one worker and no cluster it stays in this process, without a file."""

    workers: int = 1
    cluster: str | None = None
    """Address of a Dask scheduler, which then decides how many workers there are."""
    watch: Watch = Unwatched()

    def spreads(self, points: Sequence[Point], curve: LruCurve | None) -> bool:
        """Whether the trace has to be packed for it."""
        parts = len(points) + (curve is not None)
        return self.cluster is not None or (self.workers > 1 and parts > 1)

    def replay(
        self, trace: Trace, points: Sequence[Point], first: int, curve: LruCurve | None
    ) -> tuple[TraceSums, list[Replayed], LruCurve | None]:
        """As `replaying.replay`, and the curve filled. Spread only where the trace is packed.

        HitrateError where workers are ended from outside again and again; Unreachable for a cluster that is not there.
        """
        if not isinstance(trace, PackedTrace):
            sums, replayed = replay(trace, points, first, curve)
            return sums, replayed, curve
        with self._doing(seconds(points, curve, trace.blocks)) as who:
            tasks = share_out(points, curve, first, trace.blocks, who.workers)
            return put_together(tasks, who.do(trace, tasks))

    @contextmanager
    def _doing(self, takes_s: float) -> Iterator[Doing]:
        # Each import costs a tenth of a second or more, which most replays do not need.
        if self.cluster is not None:
            from hitrate.simulating.cluster import Cluster

            with Cluster(self.cluster, self.watch) as cluster:
                yield cluster
        elif self.workers > 1 and takes_s > _WORTH_PROCESSES_S:
            from hitrate.simulating.processes import Processes

            yield Processes(self.workers, self.watch)
        else:
            yield Here(self.watch)


class Here:
    """This process."""

    workers = 1

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def do(self, trace: PackedTrace, tasks: Sequence[Task]) -> list[Answer]:
        answers = []
        for task in tasks:
            answers.append(perform(trace, task))
            self._watch.done(len(answers), len(tasks))
        return answers


class Watched:
    """A trace that tells how much of it was read."""

    def __init__(self, trace: Trace, watch: Watch) -> None:
        self.facts = trace.facts
        self._trace = trace
        self._watch = watch

    def chunks(self) -> Iterator[Chunk]:
        read = 0
        for chunk in self._trace.chunks():
            yield chunk
            read += len(chunk.input_tokens)
            self._watch.read(read)

    def records(self) -> Records:
        return self._trace.records()


def processors() -> int:
    """That this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
