"""Many points replayed by as many as there are to do it: in this process, by processes of this machine, by a cluster.

Whoever does it, the same comes of it, to the byte.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType

from hitrate.core.records import Records
from hitrate.core.trace import Chunk, Trace
from hitrate.sim.capacity.curve import LruCurve
from hitrate.simulating.packed import PackedTrace
from hitrate.simulating.replaying import Replayed, TraceSums, replay
from hitrate.simulating.shards import can_be_shared_out
from hitrate.simulating.tasks import Answer, Doing, Task, Watch, perform, put_together, share_out, worth_processes
from hitrate.simulating.wanted import Point


class Unwatched:
    """Nobody wants to know how far it is."""

    def read(self, requests: int) -> None:
        pass

    def done(self, tasks: int, of: int) -> None:
        pass


class Scale:
    """On how much a replay may spread, in a `with` block. With one worker and no cluster it stays in this process.

    `cluster` is the address of a Dask scheduler, which then decides how many workers there are.
    """

    def __init__(self, workers: int = 1, cluster: str | None = None, watch: Watch | None = None) -> None:
        self.workers = workers
        self.watch = watch or Unwatched()
        self._address = cluster
        self._cluster: Doing | None = None
        self._kept = ExitStack()

    def __enter__(self) -> Scale:
        """A cluster that is not there is to be told before a long trace is read."""
        if self._address is not None:
            from hitrate.simulating.cluster import Cluster

            self._cluster = self._kept.enter_context(Cluster(self._address, self.watch))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster = None
        self._kept.close()

    def spreads(self, points: Sequence[Point], curve: LruCurve | None) -> bool:
        """Whether the trace has to be packed for it."""
        parts = len(points) + (curve is not None) + any(map(can_be_shared_out, points))
        return self._cluster is not None or (self.workers > 1 and parts > 1)

    def replay(
        self, trace: Trace, points: Sequence[Point], first: int, curve: LruCurve | None
    ) -> tuple[TraceSums, list[Replayed], LruCurve | None]:
        """As `replaying.replay`, and the curve filled. Spread only where the trace is packed.

        HitrateError where workers are ended from outside again and again; for a cluster see `cluster.Cluster.do`.
        """
        if not isinstance(trace, PackedTrace):
            sums, replayed = replay(trace, points, first, curve)
            return sums, replayed, curve
        who, tasks = self._shared_out(points, curve, first, trace.blocks)
        return put_together(tasks, who.do(trace, tasks))

    def _shared_out(
        self, points: Sequence[Point], curve: LruCurve | None, first: int, blocks: int
    ) -> tuple[Doing, list[Task]]:
        if self._cluster is not None:
            return self._cluster, share_out(points, curve, first, blocks, self._cluster.workers)
        alone = share_out(points, curve, first, blocks, 1)
        shared = share_out(points, curve, first, blocks, self.workers)
        if not worth_processes(alone, shared, self.workers):
            return Here(self.watch), alone
        # The import costs a tenth of a second, which most replays do not need.
        from hitrate.simulating.processes import Processes

        return Processes(self.workers, self.watch), shared


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
