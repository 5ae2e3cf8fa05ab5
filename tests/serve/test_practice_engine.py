"""The engine's state machine under a clock of our own."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hitrate.caches.block_chain import BlockChainCache
from hitrate.caches.slots import SlotCache
from hitrate.errors import ContextTooSmall
from hitrate.serve.practice.engine import PracticeEngine, jitter_factor
from hitrate.serve.practice.options import PracticeOptions
from hitrate.sim.routing.interface import RoutingRequest


class Driver:
    """An engine, the time, and jobs that are told when they are admitted."""

    def __init__(self, make_cache=lambda: BlockChainCache(4), **options):
        self.engine = PracticeEngine(PracticeOptions(**options), make_cache)
        self.calls = 0
        self.told = []

    def arrive(self, tokens, now, *, affinity=None, namespace=None, read_at=None):
        self.calls += 1
        call = self.calls
        request = RoutingRequest(tuple(tokens), affinity, namespace)
        return self.engine.arrive(
            call,
            request,
            now=now,
            read_at=now if read_at is None else read_at,
            admitted=lambda: self.told.append(call),
        )

    def serve(self, tokens, now, *, generated=(), **how):
        """One whole job, first token and end in the same moment; returns what it was served."""
        job = self.arrive(tokens, now, **how)
        self.engine.first_token(job, now=now)
        self.engine.finish(job, generated, len(generated), now=now)
        return job.cached_tokens


def test_first_token_is_due_after_base_and_the_prefill_of_what_is_not_cached():
    driver = Driver(base_ms=15, prefill_rate=2500)
    cold = driver.arrive(range(2500), 10.0)
    driver.engine.first_token(cold, now=11.0)
    warm = driver.arrive(range(2500), 20.0)
    assert (cold.cached_tokens, cold.first_token_at) == (0, 11.015)
    # An exact resend is served all blocks but the last: 2496 tokens.
    assert (warm.cached_tokens, warm.first_token_at) == (2496, pytest.approx(20.015 + 4 / 2500))


def test_handling_time_is_part_of_the_base():
    job = Driver(base_ms=15, prefill_rate=1000).arrive(range(100), 5.009, read_at=5.0)
    assert job.first_token_at == pytest.approx(5.115)


@pytest.mark.parametrize(
    ("block_size", "prompt", "cached"),
    # vLLM's rule: full blocks, never the last token.
    [(16, 100, 96), (16, 96, 80), (16, 97, 96), (64, 100, 64), (64, 64, 0), (1, 100, 99)],
)
def test_a_resend_is_served_in_whole_blocks(block_size, prompt, cached):
    driver = Driver(lambda: BlockChainCache(block_size))
    assert driver.serve(range(prompt), 0.0) == 0
    assert driver.serve(range(prompt), 1.0) == cached


def test_identical_calls_at_once_all_miss_until_the_first_token():
    driver = Driver()
    first, second = driver.arrive(range(9), 0.0), driver.arrive(range(9), 0.0)
    driver.engine.first_token(first, now=0.1)
    third = driver.arrive(range(9), 0.1)
    assert [job.cached_tokens for job in (first, second, third)] == [0, 0, 8]


def test_write_delay_counts_from_the_first_token():
    driver = Driver(write_delay_ms=500)
    job = driver.arrive(range(9), 0.0)
    driver.engine.first_token(job, now=1.0)
    driver.engine.finish(job, (), 0, now=1.2)
    assert driver.engine.next_due == 1.5
    assert driver.arrive(range(9), 1.499).cached_tokens == 0
    assert driver.arrive(range(9), 1.5).cached_tokens == 8


def test_replies_are_kept_but_for_their_last_token():
    driver = Driver()
    driver.serve(range(6), 0.0, generated=(6, 7, 8))
    assert driver.serve(range(20), 1.0) == 8


def test_an_aborted_job_keeps_a_prompt_that_was_computed():
    driver = Driver(write_delay_ms=100)
    before, after = driver.arrive(range(9), 0.0), driver.arrive(range(100, 109), 0.0)
    driver.engine.abort(before, now=0.1)
    driver.engine.first_token(after, now=0.2)
    driver.engine.abort(after, now=0.25)
    assert driver.serve(range(9), 1.0) == 0
    assert driver.serve(range(100, 109), 2.0) == 8


def test_entries_expire():
    driver = Driver(lambda: BlockChainCache(4, ttl_s=300))
    driver.serve(range(9), 0.0)
    assert driver.serve(range(9), 299.0) == 8
    assert driver.serve(range(9), 598.0) == 8  # the read at 299 started the time anew
    assert driver.serve(range(9), 1000.0) == 0


def test_capacity_evicts_the_oldest():
    driver = Driver(lambda: BlockChainCache(4, capacity_blocks=4))
    for moment, start in enumerate((0, 100, 200)):
        driver.serve(range(start, start + 8), float(moment))
    assert driver.engine.counts[0].cached_tokens == 0
    assert driver.serve(range(200, 208), 3.0) == 4
    assert driver.serve(range(8), 4.0) == 0


def test_a_prompt_beyond_all_capacity_is_refused_and_leaves_no_load():
    driver = Driver(lambda: BlockChainCache(4, capacity_blocks=4))
    with pytest.raises(ContextTooSmall):
        driver.arrive(range(17), 0.0)
    assert driver.engine.state()[0]["in_flight"] == 0


def test_jobs_wait_for_a_slot_first_come_first_served_and_time_starts_anew():
    driver = Driver(lambda: SlotCache(slots=1, context_per_slot=100), base_ms=10, prefill_rate=1000)
    first, second, third = (driver.arrive(range(10), 0.0) for _ in range(3))
    assert [job.first_token_at for job in (first, second, third)] == [0.02, None, None]
    driver.engine.first_token(first, now=0.02)
    driver.engine.finish(first, (), 0, now=0.05)
    assert driver.told == [2]
    assert second.first_token_at == pytest.approx(0.05 + 0.01 + (10 - second.cached_tokens) / 1000)
    driver.engine.abort(third, now=0.06)
    driver.engine.abort(second, now=0.07)
    assert driver.told == [2]
    assert driver.engine.state()[0]["in_flight"] == 0


@pytest.mark.parametrize(
    ("options", "low", "high"),
    [
        # 1/18 = 0.0556; 0.040 to 0.078 is the 95 % Wilson interval of that share at n = 600.
        ({"routing": "random", "seed": 5}, 0.040, 0.078),
        ({"routing": "session-affinity"}, 1.0, 1.0),
        ({"routing": "cache-aware"}, 1.0, 1.0),
        ({"routing": "random", "shared": True}, 1.0, 1.0),
    ],
)
def test_share_of_sessions_whose_next_call_finds_their_history_on_18_replicas(options, low, high):
    driver = Driver(replicas=18, **options)
    found = 0
    for session in range(600):
        opening, key = [session] * 8, f"session {session}"
        driver.serve(opening, float(session), affinity=key)
        found += driver.serve([*opening, -1], float(session), affinity=key) == 8
    assert low <= found / 600 <= high
    driver.engine.check_integrity()


def test_namespaces_share_nothing():
    driver = Driver()
    driver.serve(range(9), 0.0, namespace=("model",))
    assert driver.serve(range(9), 1.0, namespace=("model", "cache_salt=a")) == 0
    assert driver.serve(range(9), 2.0, namespace=("model",)) == 8


def test_reset_forgets_and_what_is_under_way_ends_without_effect():
    driver = Driver(lambda: SlotCache(slots=1, context_per_slot=100), write_delay_ms=50)
    running, waiting = driver.arrive(range(20), 0.0), driver.arrive(range(20), 0.0)
    driver.engine.first_token(running, now=0.1)
    driver.engine.reset()
    assert driver.told == [2]
    driver.engine.finish(running, (1, 2), 2, now=0.3)
    driver.engine.abort(waiting, now=0.4)
    driver.engine.check_integrity()
    assert driver.engine.counts[0].output_tokens == 0
    assert driver.serve(range(20), 1.0) == 0


def test_jitter_depends_on_seed_and_call_and_has_median_1():
    assert jitter_factor(0.2, 1, 7) == jitter_factor(0.2, 1, 7)
    assert jitter_factor(0.2, 1, 7) != jitter_factor(0.2, 2, 7)
    assert jitter_factor(0.0, 1, 7) == 1.0
    factors = sorted(jitter_factor(0.2, 1, call) for call in range(1, 2002))
    assert math.log(factors[1000]) == pytest.approx(0, abs=0.015)
    assert math.log(factors[1682] / factors[318]) / 2 == pytest.approx(0.2, abs=0.02)


def test_counts_and_state():
    driver = Driver(base_ms=15)
    driver.serve(range(9), 0.0, generated=(1, 2, 3))
    driver.serve(range(9), 1.0)
    assert driver.engine.state() == [
        {
            "replica": 0,
            "requests": 2,
            "in_flight": 0,
            "waiting": 0,
            "prompt_tokens": 18,
            "cached_tokens": 8,
            "written_tokens": None,
            "hit_rate": 8 / 18,
            "output_tokens": 3,
        }
    ]
    assert PracticeEngine(PracticeOptions(), lambda: BlockChainCache(4)).state()[0]["hit_rate"] is None


CACHES = {
    "blocks": lambda: BlockChainCache(2, capacity_blocks=12, ttl_s=5.0),
    "slots": lambda: SlotCache(slots=2, context_per_slot=40),
}


@settings(max_examples=60, deadline=None)
@example(cache="blocks", policy="random", delay=700.0, steps=[("arrive", 3), ("arrive", 6), ("finish", 0)])
@given(
    cache=st.sampled_from(sorted(CACHES)),
    policy=st.sampled_from(["random", "round-robin", "session-affinity", "cache-aware:imbalance=1", "least-load"]),
    delay=st.sampled_from([0.0, 700.0]),
    steps=st.lists(
        st.tuples(st.sampled_from(["arrive", "token", "finish", "abort", "reset"]), st.integers(0, 7)), max_size=60
    ),
)
def test_whatever_happens_no_load_or_job_is_lost(cache, policy, delay, steps):
    driver = Driver(CACHES[cache], replicas=3, routing=policy, write_delay_ms=delay)
    jobs, now = [], 0.0
    for step, number in steps:
        now += 0.3
        live = [job for job in jobs if job.first_token_at is not None] if step in ("token", "finish") else jobs
        if step == "arrive":
            jobs.append(driver.arrive(range(number % 3, 3 + 2 * number), now, affinity=str(number)))
        elif step == "reset" and number == 0:
            driver.engine.reset()
        elif live and step == "token":
            job = live[number % len(live)]
            if not job.published:
                driver.engine.first_token(job, now=now)
        elif live and step in ("finish", "abort"):
            job = live[number % len(live)]
            jobs.remove(job)
            if step == "abort":
                driver.engine.abort(job, now=now)
            else:
                driver.engine.finish(job, range(number), number, now=now)
        driver.engine.check_integrity()
    while jobs:
        # Every job that waits gets its turn when those ahead of it end, and what they write is written.
        now += 1.0
        driver.engine.advance(now)
        job = next(job for job in jobs if job.first_token_at is not None)
        assert 0 <= job.cached_tokens < max(1, job.prompt_tokens)
        jobs.remove(job)
        driver.engine.finish(job, (), 0, now=now)
    driver.engine.advance(now + 1.0)
    driver.engine.check_integrity()
    assert {(row["in_flight"], row["waiting"]) for row in driver.engine.state()} == {(0, 0)}
