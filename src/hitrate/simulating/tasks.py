"""Points shared out in tasks, each of them to be done anywhere: in this process, in another, on another machine.

What comes of a point does not depend on the task it is in, nor on who does it, nor on when.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from hitrate.sim.capacity.curve import LruCurve
from hitrate.sim.capacity.kernel import Kernel, blocks_in_python
from hitrate.sim.capacity.rules import block_rule
from hitrate.simulating.packed import PackedTrace
from hitrate.simulating.replaying import Replayed, TraceSums, make_cache, replay
from hitrate.simulating.shards import Shard, Share, can_be_shared_out, replay_shard, together
from hitrate.simulating.wanted import Point

_S_PER_BLOCK = 1e-6
"""Of one cache, roughly, where Python is neither fast nor slow. What follows is in terms of that."""
_OF_COMPILED = 0.2
_OF_A_FLEET = 2.0
_OF_A_REPLICA = 0.1
"""That a policy may look at."""
_OF_TIMING = 3.0
_OF_THE_WHOLE_TRACE = 1.5
_OF_THE_CURVE = 3.0
_OF_A_SHARD = 0.4
"""To route all requests and to count them, whoever serves them."""
_LEAST_S = 0.25
"""Of a task: handing out less costs as much as doing it."""
_LEAST_OF_SHARDS_S = 2.0
"""Of a point that is worth shards."""
_START_S = 1.5
"""Until a process of several that start has imported what it needs, and to end it. To load compiled rules takes about
as long, but here as there."""
_TASKS_A_WORKER = 8
"""So that at the end none waits long for another."""


class Task(Struct, frozen=True, kw_only=True):
    """Points that are replayed in one reading of a trace. Picklable, as is its answer."""

    places: tuple[int, ...]
    """Of its points among all."""
    points: tuple[Point, ...]
    first: int
    """The first request counted."""
    seconds: float
    """What it will take, roughly."""
    curve: LruCurve | None = None
    """To be filled, too."""
    shard: Shard | None = None
    """Of its only point, which is shared out by replica."""


class Answer(Struct, frozen=True, kw_only=True):
    sums: TraceSums
    replayed: tuple[Replayed, ...] = ()
    curve: LruCurve | None = None
    share: Share | None = None
    """In place of the point's, of a shard."""


class Doing(Protocol):
    """Who does tasks."""

    workers: int
    """How many at a time."""

    def do(self, trace: PackedTrace, tasks: Sequence[Task]) -> list[Answer]:
        """In the order of the tasks. Errors of the first task that has one, as if it were done here."""
        ...


class Watch(Protocol):
    """Who wants to know how far it is."""

    def read(self, requests: int) -> None:
        """So many of the trace so far."""
        ...

    def done(self, tasks: int, of: int) -> None: ...


def perform(trace: PackedTrace, task: Task) -> Answer:
    """HitrateError as `replay` has them."""
    if task.shard is not None:
        sums, share = replay_shard(trace, task.points[0], task.first, task.shard)
        return Answer(sums=sums, share=share)
    sums, replayed = replay(trace, task.points, task.first, task.curve)
    return Answer(sums=sums, replayed=tuple(replayed), curve=task.curve)


def share_out(points: Sequence[Point], curve: LruCurve | None, first: int, blocks: int, workers: int) -> list[Task]:
    """Tasks for all of them: neighbours together, as far as they do not take long; a fleet that the others would have
    to wait for in shards, where it can be.

    A rule that needs the whole trace in memory is alone, so that no other has to hold it meanwhile.
    """
    each = list(_seconds(points, blocks))
    takes = sum(each) + (0 if curve is None else _curve_seconds(blocks))
    most = max(_LEAST_S, takes / (workers * _TASKS_A_WORKER))
    tasks: list[Task] = []
    if curve is not None or not points:
        tasks.append(Task(places=(), points=(), first=first, seconds=_curve_seconds(blocks), curve=curve))
    room = 0.0  # in the last task, for further points
    for place, (point, needs) in enumerate(zip(points, each, strict=True)):
        shards = _shards(point, needs, takes, workers)
        if shards > 1:
            tasks += _in_shards(place, point, first, needs, shards)
            room = 0.0
        elif needs <= room and not _whole(point):
            tasks[-1] = _with(tasks[-1], place, point, needs)
            room -= needs
        else:
            tasks.append(Task(places=(place,), points=(point,), first=first, seconds=needs))
            room = 0.0 if _whole(point) else most - needs
    return tasks


def worth_processes(alone: Sequence[Task], shared: Sequence[Task], workers: int) -> bool:
    """Whether so many processes, still to be started, end sooner with `shared` than this one with `alone`."""
    workers = min(workers, len(shared))
    if workers < 2:
        return False
    takes = [task.seconds for task in shared]
    return sum(task.seconds for task in alone) > _START_S + max(sum(takes) / workers, *takes)


def put_together(tasks: Sequence[Task], answers: Sequence[Answer]) -> tuple[TraceSums, list[Replayed], LruCurve | None]:
    """What came of the trace, of each point, in the order they were given, and the curve."""
    found: dict[int, Replayed] = {}
    shares: dict[int, list[Share]] = {}
    for task, answer in zip(tasks, answers, strict=True):
        if answer.share is None:
            found.update(zip(task.places, answer.replayed, strict=True))
        else:
            shares.setdefault(task.places[0], []).append(answer.share)
    found.update((place, together(parts)) for place, parts in shares.items())
    curve = next((answer.curve for answer in answers if answer.curve is not None), None)
    return answers[0].sums, [found[place] for place in sorted(found)], curve


def _with(task: Task, place: int, point: Point, needs: float) -> Task:
    return replace(task, places=(*task.places, place), points=(*task.points, point), seconds=task.seconds + needs)


def _shards(point: Point, needs: float, takes: float, workers: int) -> int:
    """As many as let all end at about the same time; 1 where it is not worth it."""
    if needs < _LEAST_OF_SHARDS_S or not can_be_shared_out(point):
        return 1
    return min(workers, point.replicas, ceil(needs * workers / takes))


def _in_shards(place: int, point: Point, first: int, needs: float, shards: int) -> Iterator[Task]:
    takes = needs * (_OF_A_SHARD + (1 - _OF_A_SHARD) / shards)
    for number in range(shards):
        yield Task(places=(place,), points=(point,), first=first, seconds=takes, shard=Shard(number, shards))


def longest_first(tasks: Sequence[Task]) -> list[int]:
    """Their numbers in the order to begin them: then the last ones to end are short."""
    return sorted(range(len(tasks)), key=lambda number: -tasks[number].seconds)


def _whole(point: Point) -> bool:
    return block_rule(point.rule).whole_trace


def _seconds(points: Sequence[Point], blocks: int) -> Iterator[float]:
    """Of each."""
    plain: dict[tuple[str, Kernel], int] = {}
    for point in points:
        times = _OF_THE_WHOLE_TRACE if _whole(point) else 1.0
        if point.replicas == 1 and point.timing is None and point.store is None:
            form = point.rule, point.kernel
            if form not in plain:
                plain[form] = blocks_in_python(make_cache(replace(point, capacity=1), 1), blocks)
            yield _S_PER_BLOCK * times * (plain[form] + _OF_COMPILED * (blocks - plain[form]))
            continue
        if point.replicas > 1:
            times = _OF_A_FLEET + (0 if can_be_shared_out(point) else _OF_A_REPLICA * point.replicas)
        if point.timing is not None:
            times += _OF_TIMING
        yield _S_PER_BLOCK * blocks * times


def _curve_seconds(blocks: int) -> float:
    return _S_PER_BLOCK * blocks * _OF_THE_CURVE
