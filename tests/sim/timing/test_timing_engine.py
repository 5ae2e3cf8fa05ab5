"""An engine's moments: some by hand, all others as the slow way has them."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from step_by_step import step_by_step

from hitrate.sim.timing.engine import Engine, Event
from hitrate.sim.timing.engine_timing import EngineTiming


def told(arrivals: list[tuple[float, int, int]], **settings: float | bool | None) -> dict[int, list[float]]:
    """When each request of (moment, prompt, output tokens) is scheduled, has its first token, and ends. A step takes
    1 s and a prompt token 0.5 s."""
    timing = EngineTiming(**{"step_s": 1.0, "prefill_token_s": 0.5, "scheduled_ahead": False, **settings})  # type: ignore[arg-type]
    engine, events = Engine(timing), []
    for number, (now, prompt, output) in enumerate(arrivals):
        events += engine.until(now)
        assert engine.arrive(number, now, prompt, prompt, output)
    events += engine.until(inf)
    return {number: [event.moment for event in events if event.number == number] for number in range(len(arrivals))}


@pytest.mark.parametrize(
    ("arrivals", "settings", "moments"),
    [
        ([(5, 4, 3)], {}, {0: [5, 8, 10]}),
        ([(0, 4, -1)], {}, {0: [0, 3, 3]}),
        ([(0, 4, 2), (0, 2, 1)], {}, {0: [0, 4, 5], 1: [0, 4, 4]}),
        ([(0, 4, 3), (3.5, 2, 1)], {}, {0: [0, 3, 6], 1: [4, 6, 6]}),
        ([(0, 4, 3), (3.5, 2, 1)], {"scheduled_ahead": True}, {0: [0, 3, 5], 1: [5, 7, 7]}),
        ([(0, 2, 1), (0, 2, 1)], {"max_running_requests": 1}, {0: [0, 2, 2], 1: [2, 4, 4]}),
        ([(0, 2, 1), (0, 2, 1)], {"max_running_requests": 1, "scheduled_ahead": True}, {0: [0, 2, 2], 1: [2, 4, 4]}),
        ([(0, 10, 1)], {"max_batched_tokens": 4, "max_running_requests": 2}, {0: [0, 8, 8]}),
        ([(0, 2, 4), (0, 8, 1)], {"max_batched_tokens": 4, "max_running_requests": 2}, {0: [0, 3, 9], 1: [0, 8, 8]}),
        ([(0, 4, 4), (0, 4, 4)], {"prefill_token_s": 0, "kv_capacity_tokens": 10}, {0: [0, 1, 4], 1: [0, 1, 7]}),
        ([(0, 6, 4), (0, 6, 4)], {"prefill_token_s": 0, "kv_capacity_tokens": 10}, {0: [0, 1, 4], 1: [4, 5, 8]}),
        ([(0, 2, 3)], {"sequence_s": 1.0, "context_token_s": 0.25}, {0: [0, 2, 2 + 2.75 + 3.0]}),
        ([(0, 4, 1)], {"prefill_step_s": 2.0, "prefill_context_s": 0.5}, {0: [0, 8, 8]}),
    ],
    ids=[
        "alone",
        "a reply of unknown length",
        "side by side",
        "who comes in a step is in the next",
        "or in the one after that",
        "one at a time",
        "one at a time, and nothing else to wait for",
        "in chunks",
        "in chunks beside a reply",
        "gives way",
        "waits for memory",
        "longer and longer steps",
        "pairs of a prompt",
    ],
)
def test_moments_by_hand(arrivals: list, settings: dict, moments: dict) -> None:
    assert told(arrivals, **settings) == moments


def test_who_can_never_be_served_is_refused() -> None:
    whole = EngineTiming(step_s=1, prefill_token_s=1, chunked_prefill=False, max_batched_tokens=300)
    small = EngineTiming(step_s=1, prefill_token_s=1, kv_capacity_tokens=300)

    for timing in (whole, small):
        assert Engine(timing).arrive(0, 0.0, 299, 299, 1)
        assert not Engine(timing).arrive(0, 0.0, 299, 9, 2)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"step_s": 0}, "a step takes some time"),
        ({"sequence_s": -1}, "sequence_s is -1; expected a number of seconds, at least 0"),
        ({"prefill_token_s": nan}, "prefill_token_s is nan"),
        ({"max_running_requests": 0}, "max_running_requests is 0; expected at least 1"),
        ({"max_batched_tokens": 255}, "max_batched_tokens is 255; each of the 256 running requests takes one a step"),
        ({"kv_capacity_tokens": 0}, "kv_capacity_tokens is 0; expected at least 1, or none at all"),
    ],
)
def test_engines_that_there_are_not(values: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        EngineTiming(**{"step_s": 1.0, "prefill_token_s": 1.0, **values})


dyadic = st.integers(0, 64).map(lambda n: n / 64)

timings = st.builds(
    lambda **given: EngineTiming(**given),
    step_s=st.integers(1, 64).map(lambda n: n / 64),
    prefill_step_s=dyadic,
    prefill_token_s=dyadic,
    prefill_context_s=dyadic,
    sequence_s=dyadic,
    context_token_s=dyadic,
    max_running_requests=st.integers(1, 4),
    max_batched_tokens=st.integers(4, 40),
    kv_capacity_tokens=st.none() | st.integers(20, 60),
    chunked_prefill=st.sampled_from([True, True, False]),
    scheduled_ahead=st.booleans(),
)

requests = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 7]) | st.integers(0, 500), st.integers(1, 20), st.integers(0, 19), st.integers(1, 15)
    ),
    min_size=2,
    max_size=12,
)
"""64ths of a second since the one before, prompt, cached and output tokens."""


def engine_events(timing: EngineTiming, arrivals: list) -> tuple[list[Event], list[int], int]:
    engine, events, refused = Engine(timing), [], []
    for number, (now, prompt, new, output) in enumerate(arrivals):
        events += engine.until(now)
        if not engine.arrive(number, now, prompt, new, output):
            refused.append(number)
    events += engine.until(float("inf"))
    return events, refused, engine.preemptions


@settings(max_examples=200, deadline=None)
@given(timing=timings, asked=requests)
def test_steps_passed_over_together_are_the_steps_one_by_one(timing: EngineTiming, asked: list) -> None:
    """Costs are multiples of 1/64, so that no sum is rounded and moments are equal to the last bit."""
    arrivals, now = [], 0.0
    for wait, prompt, cached, output in asked:
        now += wait / 64
        arrivals.append((now, prompt, max(1, prompt - cached), output))
    served = [one for one in arrivals if timing.fits(one[1], one[3])]

    events, _, preemptions = engine_events(timing, served)

    slow, gave_way = step_by_step(timing, served)
    assert sorted(events) == sorted(slow)
    assert [event.moment for event in events] == sorted(event.moment for event in events)
    assert preemptions == gave_way
