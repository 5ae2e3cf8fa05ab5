"""How points are shared out: all of them, in even parts, and nothing of it in the answers."""

from __future__ import annotations

import sys

import pytest
from made_traces import Chats
from msgspec.structs import replace

from hitrate.sim.capacity.curve import LruCurve
from hitrate.sim.capacity.definitions import DEFINITIONS
from hitrate.simulating.packed import packed
from hitrate.simulating.replaying import replay
from hitrate.simulating.tasks import Task, longest_first, perform, put_together, share_out, worth_processes
from hitrate.simulating.wanted import Point

M = 1_000_000


def one(rule: str = "leaf-lru", replicas: int = 1, policy: str | None = None) -> Point:
    return Point(rule=rule, definition="tokens", capacity=100, replicas=replicas, policy=policy)


FLEET = one(replicas=8, policy="cache-aware")


@pytest.mark.parametrize(
    ("points", "blocks", "workers", "parts"),
    [
        ([one()] * 5, 1_000, 2, [(0, 1, 2, 3, 4)]),  # next to no work
        ([one()] * 5, M, 2, [(0,), (1,), (2,), (3,), (4,)]),  # a second each
        ([one()] * 8, M // 10, 2, [(0, 1), (2, 3), (4, 5), (6, 7)]),  # a tenth of a second each
        ([one(), one("optimal"), one(), one()], 1_000, 2, [(0,), (1,), (2, 3)]),
        ([one(), FLEET, FLEET, one()], M // 20, 4, [(0, 1), (2, 3)]),  # the fleet takes 0.14 s, one 0.05 s
    ],
)
def test_neighbours_are_together_as_far_as_they_do_not_take_long(points, blocks, workers, parts) -> None:
    tasks = share_out(points, None, 3, blocks, workers)

    assert [task.places for task in tasks] == parts
    assert [task.points for task in tasks] == [tuple(points[place] for place in part) for part in parts]
    assert {task.first for task in tasks} == {3}


def test_the_curve_is_a_part_of_its_own() -> None:
    curve = LruCurve(DEFINITIONS["tokens"], 16)
    tasks = share_out([one(), one()], curve, 0, 1_000, 2)

    assert [(task.places, task.curve) for task in tasks] == [((), curve), ((0, 1), None)]
    assert [(task.places, task.curve) for task in share_out([], None, 0, 1_000, 2)] == [((), None)]


@pytest.mark.parametrize(
    ("seconds", "workers", "worth"),
    [
        ([1.5, 1.5], 2, False),  # as long, with the second and a half that they take to start
        ([1.6, 1.6], 2, True),
        ([0.9, 0.9], 8, False),  # of eight processes two have something to do
        ([0.3] * 8, 8, True),
        ([9.0, 0.5], 8, False),  # all wait for one
        ([9.0], 8, False),
        ([9.0, 9.0], 1, False),
    ],
)
def test_processes_are_started_where_they_end_sooner(seconds: list[float], workers: int, worth: bool) -> None:
    tasks = [Task(places=(), points=(), first=0, seconds=takes) for takes in seconds]

    assert worth_processes(tasks, tasks, workers) is worth


def test_shards_are_weighed_against_one_process_that_needs_none() -> None:
    fleet = [one(replicas=8, policy="random")]  # two seconds a million blocks; of two shards each 1.4

    weighed = [
        worth_processes(share_out(fleet, None, 0, blocks, 1), share_out(fleet, None, 0, blocks, 2), 2)
        for blocks in (2 * M, 3 * M)
    ]
    assert weighed == [False, True]


@pytest.mark.parametrize(
    ("point", "seconds"),
    [
        (one("vllm"), 2 + 8 * 0.2),  # in Python until two million came
        (replace(one("vllm"), kernel="fast"), 10 * 0.2),
        (replace(one("vllm"), kernel="python"), 10),
        (one("block-lfu"), 10),  # has no compiled form
        (one("optimal"), 15),
        (one("vllm", replicas=2, policy="cache-aware"), 22),
    ],
)
def test_compiled_rules_take_less(point: Point, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr("hitrate.sim.capacity.kernel._PAYS_AFTER", 2 * M)

    assert [task.seconds for task in share_out([point], None, 0, 10 * M, 1)] == [pytest.approx(seconds)]
    monkeypatch.setitem(sys.modules, "numba", None)
    assert [task.seconds for task in share_out([one("vllm")], None, 0, 10 * M, 1)] == [10]


def test_the_longest_are_begun_first() -> None:
    tasks = [Task(places=(), points=(), first=0, seconds=seconds) for seconds in (1.0, 3.0, 2.0, 3.0)]

    assert longest_first(tasks) == [1, 3, 2, 0]


def test_what_comes_of_it_is_in_the_order_that_was_asked_for() -> None:
    rules = ("vllm", "optimal", "fifo", "leaf-lru", "optimal", "vllm")
    points = [Point(rule=rule, definition="tokens", capacity=50 + 20 * n) for n, rule in enumerate(rules)]
    together, single = LruCurve(DEFINITIONS["tokens"], 16, 10), LruCurve(DEFINITIONS["tokens"], 16, 10)
    with packed(Chats()) as trace:
        tasks = share_out(points, together, 10, trace.blocks, 2)
        sums, replayed, curve = put_together(tasks, [perform(trace, task) for task in tasks])
        expected = replay(trace, points, 10, single)

    assert len(tasks) == 6
    assert (sums, replayed) == expected
    assert curve is not None
    assert curve.points(range(1, 200)) == single.points(range(1, 200))
