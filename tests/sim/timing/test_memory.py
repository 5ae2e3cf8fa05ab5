from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hitrate.sim.timing.engine import Engine, Event
from hitrate.sim.timing.engine_timing import EngineTiming
from hitrate.sim.timing.memory import BlockMemory


def test_what_prompts_have_in_common_is_there_once() -> None:
    memory = BlockMemory(4)
    memory.expect(0, [1, 2, 3], 10)  # the last block is half full
    memory.expect(1, [1, 2, 3], 10)
    memory.expect(2, [1, 9], 11)  # and 3 tokens that are in no block

    assert [memory.enter(0), memory.enter(1), memory.added(2), memory.enter(2)] == [10, 0, 7, 7]
    assert [memory.leave(0), memory.leave(2), memory.leave(1)] == [0, 7, 10]


trees = st.lists(st.tuples(st.lists(st.sampled_from([1, 2]), max_size=4), st.integers(0, 3)), max_size=8)


@given(prompts=trees, order=st.randoms(use_true_random=False))
def test_all_that_came_is_freed(prompts: list, order) -> None:  # type: ignore[no-untyped-def]
    """Blocks are steps down a tree, and some tokens follow in none."""
    memory = BlockMemory(4)
    numbers = list(range(len(prompts)))
    for number, (steps, more) in enumerate(prompts):
        asked = [hash(tuple(steps[: end + 1])) for end in range(len(steps))]
        memory.expect(number, asked, 4 * len(asked) + more)
    used = 0
    for number in numbers:
        expected = memory.added(number)
        used += (added := memory.enter(number))
        assert added == expected
    distinct = {tuple(steps[: end + 1]) for steps, _ in prompts for end in range(len(steps))}
    assert used == 4 * len(distinct) + sum(more for _, more in prompts)
    order.shuffle(numbers)
    assert used == sum(map(memory.leave, numbers))


@pytest.mark.parametrize(("second", "scheduled"), [([1, 2], 0.0), ([3, 4], 2.0)])
def test_an_engine_lets_in_what_begins_alike(second: list[int], scheduled: float) -> None:
    """Two prompts of 8 and replies of 2 in 12 tokens: side by side only if they share their blocks."""
    memory = BlockMemory(4)
    timing = EngineTiming(step_s=1, prefill_token_s=0, kv_capacity_tokens=12, scheduled_ahead=False)
    engine = Engine(timing, memory)
    for number, asked in enumerate(([1, 2], second)):
        memory.expect(number, asked, 8)
        engine.arrive(number, 0.0, 8, 8, 2)

    assert Event(scheduled, "scheduled", 1) in engine.until(9)


class _FromTheStart(Engine):
    """Counts what prompts have in common all the time, not only when memory gets short."""

    def __init__(self, timing: EngineTiming, memory: BlockMemory) -> None:
        super().__init__(timing, memory)
        self._shares = True


@example(asked=[([], 0, 1)] * 5 + [([1, 1], 0, 1), ([1, 1, 1], 0, 2), ([2], 0, 2)], capacity=30, scheduled_ahead=True)
@given(
    asked=st.lists(st.tuples(st.lists(st.sampled_from([1, 2]), max_size=4), st.integers(0, 20), st.integers(1, 12))),
    capacity=st.integers(30, 80),
    scheduled_ahead=st.booleans(),
)
def test_it_makes_no_difference_when_sharing_is_first_looked_at(
    asked: list, capacity: int, scheduled_ahead: bool
) -> None:
    timing = EngineTiming(
        step_s=1,
        prefill_token_s=0.25,
        max_running_requests=5,
        kv_capacity_tokens=capacity,
        scheduled_ahead=scheduled_ahead,
    )
    told = []
    for engine_of in (Engine, _FromTheStart):
        memory = BlockMemory(4)
        engine, events, now = engine_of(timing, memory), [], 0.0
        for number, (steps, wait, output) in enumerate(asked):
            now += wait
            blocks = [hash(tuple(steps[: end + 1])) for end in range(len(steps))]
            events += engine.until(now)
            memory.expect(number, blocks, 4 * len(blocks) + 1)
            engine.arrive(number, now, 4 * len(blocks) + 1, 4 * len(blocks) + 1, output)
        told.append((events + engine.until(1e9), engine.preemptions))

    assert told[0] == told[1]
