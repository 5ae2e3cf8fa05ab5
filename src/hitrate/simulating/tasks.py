"""Points shared out in tasks, each of them to be done anywhere: in this process, in another, on another machine.

What comes of a point does not depend on the task it is in, nor on who does it, nor on when.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from hitrate.sim.capacity.curve import LruCurve
from hitrate.sim.capacity.rules import block_rule
from hitrate.simulating.packed import PackedTrace
from hitrate.simulating.replaying import Replayed, TraceSums, replay
from hitrate.simulating.wanted import Point

_S_PER_BLOCK = 1e-6
"""Of one cache, roughly, where Python is neither fast nor slow. What follows is in terms of that."""
_OF_A_FLEET = 2.0
_OF_A_REPLICA = 0.1
"""That a policy may look at."""
_OF_TIMING = 3.0
_OF_THE_WHOLE_TRACE = 1.5
_OF_THE_CURVE = 3.0
_LEAST_S = 0.25
"""Of a task: handing out less costs as much as doing it."""
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


class Answer(Struct, frozen=True, kw_only=True):
    sums: TraceSums
    replayed: tuple[Replayed, ...]
    curve: LruCurve | None


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
    sums, replayed = replay(trace, task.points, task.first, task.curve)
    return Answer(sums=sums, replayed=tuple(replayed), curve=task.curve)


def seconds(points: Sequence[Point], curve: LruCurve | None, blocks: int) -> float:
    """That replaying them takes on one processor, roughly."""
    return sum(_seconds(point, blocks) for point in points) + (0 if curve is None else _curve_seconds(blocks))


def share_out(points: Sequence[Point], curve: LruCurve | None, first: int, blocks: int, workers: int) -> list[Task]:
    """Tasks for all of them: neighbours together, as far as they do not take long.

    A rule that needs the whole trace in memory is alone, so that no other has to hold it meanwhile.
    """
    most = max(_LEAST_S, seconds(points, curve, blocks) / (workers * _TASKS_A_WORKER))
    tasks: list[Task] = []
    if curve is not None or not points:
        tasks.append(Task(places=(), points=(), first=first, seconds=_curve_seconds(blocks), curve=curve))
    together: list[int] = []
    taken = 0.0

    def finish() -> None:
        nonlocal taken
        if together:
            of_these = tuple(points[place] for place in together)
            tasks.append(Task(places=tuple(together), points=of_these, first=first, seconds=taken))
        together.clear()
        taken = 0.0

    for place, point in enumerate(points):
        needs = _seconds(point, blocks)
        if taken + needs > most or _alone(point):
            finish()
        together.append(place)
        taken += needs
        if _alone(point):
            finish()
    finish()
    return tasks


def put_together(tasks: Sequence[Task], answers: Sequence[Answer]) -> tuple[TraceSums, list[Replayed], LruCurve | None]:
    """What came of the trace, of each point, in the order they were given, and the curve."""
    found = {
        place: replayed
        for task, answer in zip(tasks, answers, strict=True)
        for place, replayed in zip(task.places, answer.replayed, strict=True)
    }
    curve = next((answer.curve for answer in answers if answer.curve is not None), None)
    return answers[0].sums, [found[place] for place in sorted(found)], curve


def longest_first(tasks: Sequence[Task]) -> list[int]:
    """Their numbers in the order to begin them: then the last ones to end are short."""
    return sorted(range(len(tasks)), key=lambda number: -tasks[number].seconds)


def _alone(point: Point) -> bool:
    return block_rule(point.rule).whole_trace


def _seconds(point: Point, blocks: int) -> float:
    times = _OF_THE_WHOLE_TRACE if _alone(point) else 1.0
    if point.replicas > 1:
        times = _OF_A_FLEET + _OF_A_REPLICA * point.replicas
    return _S_PER_BLOCK * blocks * times


def _curve_seconds(blocks: int) -> float:
    return _S_PER_BLOCK * blocks * _OF_THE_CURVE
