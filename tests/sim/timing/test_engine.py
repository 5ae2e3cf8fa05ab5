from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from step_by_step import step_by_step

from hitrate.sim.timing.engine import Engine, Event
from hitrate.sim.timing.engine_timing import EngineTiming

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
    max_batched_tokens=st.integers(4, 20),
    kv_capacity_tokens=st.none() | st.integers(20, 60),
    chunked_prefill=st.booleans(),
    scheduled_ahead=st.booleans(),
)

requests = st.lists(
    st.tuples(st.integers(0, 2000), st.integers(1, 30), st.integers(0, 29), st.integers(1, 40)), max_size=12
)


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
