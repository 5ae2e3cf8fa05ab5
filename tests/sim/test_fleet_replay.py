"""Replicas behind a router: published rates, their spread, and the rules that hold for any traffic."""

from __future__ import annotations

import random
from array import array
from functools import cache
from math import nan

import pytest
from block_traces import mooncake
from hypothesis import given, settings
from hypothesis import strategies as st

from hitrate.core.trace import UNKNOWN, Chunk
from hitrate.errors import UsageError
from hitrate.sim.capacity.block_lru import BlockLru
from hitrate.sim.capacity.definitions import DEFINITIONS, Tally
from hitrate.sim.capacity.fifo import Fifo
from hitrate.sim.capacity.leaf_lru import LeafLru
from hitrate.sim.capacity.vllm import VllmBlocks
from hitrate.sim.fleet_replay import FleetReplay, FleetTotal, SharedStore, replay
from hitrate.sim.policies.interface import BlockRequest
from hitrate.sim.policies.registry import policy_names
from hitrate.sim.timing.engine_timing import EngineTiming


def of_blocks(*requests: tuple[int, ...], at_s: tuple[float, ...] = (), outputs: tuple[int, ...] = ()) -> Chunk:
    """Full blocks of 4 tokens and a token more."""
    starts = array("q", [0])
    ids = array("q")
    for asked in requests:
        ids.extend(asked)
        starts.append(len(ids))
    count = len(requests)
    return Chunk(
        array("d", at_s or range(count)),
        array("q", [4 * len(asked) + 1 for asked in requests]),
        array("q", outputs or [UNKNOWN] * count),
        array("q", [UNKNOWN] * count),
        starts,
        ids,
    )


# Mooncake's conversation trace over replicas of 3 million tokens, requests one after another, vLLM's rule.


@cache
def conversation(policy: str, replicas: int) -> FleetTotal:
    return replay([mooncake()], replicas, lambda: VllmBlocks(5_859, 512), policy, 512)


@pytest.mark.parametrize(
    ("policy", "rates", "imbalances"),
    [
        ("round-robin", (11.9, 9.6), (1.04, 1.12)),
        ("random", (11.0, 8.8), (1.13, 1.14)),
        ("first-blocks", (36.1, 37.0), (1.09, 1.11)),
        ("fewest-new-tokens", (36.0, 36.8), (1.01, 1.02)),
        ("cache-aware", (14.4, 14.4), (8.0, 16.0)),
    ],
)
def test_rates_and_imbalance_of_the_conversation_trace(
    policy: str, rates: tuple[float, float], imbalances: tuple[float, float]
) -> None:
    """Another simulation's table, to 0.1 point; of `random` with any seed, here 0."""
    totals = [conversation(policy, replicas) for replicas in (8, 16)]

    assert [100 * (total.hit_rate or 0) for total in totals] == pytest.approx(rates, abs=0.1)
    assert [round(total.imbalance or 0, 2) for total in totals] == list(imbalances)


def test_longest_match_alone_collapses_onto_one_replica() -> None:
    """Every prompt begins with the same block, so the first replica has a match for each of them from then on."""
    total = conversation("cache-aware", 8)
    one = VllmBlocks(5_859, 512)
    tally = Tally(DEFINITIONS["tokens"], 512)
    tally.add(mooncake(), one.add(mooncake()))

    assert [replica.requests for replica in total.replicas] == [12_031, 0, 0, 0, 0, 0, 0, 0]
    assert total.hit_tokens == tally.hits


# llm-d's benchmark, benchmarking/73-capacity of llm-d-kv-cache at a378f5b: 150 tenants with a prompt of 6,000 tokens
# each and 5 questions of 1,200, asked in turn as fast as a ladder of rates says, 8 pods with room for 307,328 tokens,
# which the prompts of all fill to 73 %. The first seven of its 17 stages; replies are as long as its tables tell.

TENANTS, QUESTIONS, SHARED, QUESTION, REPLY = 150, 5, 6_000, 1_200, 245
STAGES = ((15, 50), (3, 20), (10, 20), (15, 20), (20, 38), (22, 34), (25, 30))
"""Requests a second, and seconds; the first warms up."""
PODS, POD_TOKENS = 8, 307_328
BLOCK = 80  # a divisor of both
POD = EngineTiming(
    step_s=0.0105,
    prefill_token_s=7e-5,
    sequence_s=1e-4,
    context_token_s=1.2e-8,
    kv_capacity_tokens=POD_TOKENS,
)
"""About what its tables tell of Qwen3-32B at low rates: 11 ms a token, half a second for a prompt."""


@cache
def tenants() -> tuple[Chunk, int]:
    """And how many requests warm up."""
    randomness = random.Random(0)
    asks = [(tenant, question) for tenant in range(TENANTS) for question in range(QUESTIONS)]
    randomness.shuffle(asks)
    numbers: dict[tuple[int, ...], int] = {}
    at_s, starts, ids = array("d"), array("q", [0]), array("q")
    begin_s, warm = 0.0, 0
    for rate, lasts_s in STAGES:
        now_s = begin_s + randomness.expovariate(rate)
        while now_s < begin_s + lasts_s:
            tenant, question = asks[len(at_s) % len(asks)]
            blocks = [(tenant, block) for block in range(SHARED // BLOCK)]
            blocks += [(tenant, question, block) for block in range(QUESTION // BLOCK)]  # type: ignore[misc]
            ids.extend(numbers.setdefault(block, len(numbers)) for block in blocks)
            starts.append(len(ids))
            at_s.append(now_s)
            now_s += randomness.expovariate(rate)
        begin_s += lasts_s
        warm = warm or len(at_s)
    count = len(at_s)
    lengths, replies = array("q", [SHARED + QUESTION] * count), array("q", [REPLY] * count)
    return Chunk(at_s, lengths, replies, array("q", [UNKNOWN] * count), starts, ids), warm


@pytest.mark.parametrize(
    ("policy", "percent", "least_p90_s", "most_p90_s"),
    [
        ("llm-d-precise", 91.6, 0.0, 0.5),
        ("llm-d-approximate", 92.0, 0.0, 0.5),
        ("random", 18.0, 30.0, 120.0),
        ("least-load", 17.7, 30.0, 120.0),
    ],
)
def test_who_knows_the_prefix_wins_on_llm_ds_recipe(
    policy: str, percent: float, least_p90_s: float, most_p90_s: float
) -> None:
    """Measured there, over all stages: time to first token at p90 0.5 s knowing what engines hold, 31 s guessing it, 93
    at random, 95 by load alone; at these rates 0.4 to 0.6, 0.4 to 0.7, and up to 83 and 86."""
    chunk, warm = tenants()
    fleet = FleetReplay(PODS, lambda: VllmBlocks(POD_TOKENS // BLOCK, BLOCK), policy, BLOCK, timing=POD)
    fleet.add(chunk)
    total = fleet.total(warm)

    assert total.timing is not None
    assert least_p90_s <= total.timing.ttft_s.p90 <= most_p90_s
    assert round(100 * (total.hit_rate or 0), 1) == percent


@pytest.mark.parametrize(
    ("policy", "percent"),
    [("random", 18.0), ("round-robin", 17.2), ("least-load", 17.9), ("fewest-new-tokens", 92.9)],
)
def test_hits_alone_on_llm_ds_recipe(policy: str, percent: float) -> None:
    """One request after another: who does not know the prefix finds about one in the eight replicas that hold it."""
    total = replay([tenants()[0]], PODS, lambda: LeafLru(POD_TOKENS // BLOCK), policy, BLOCK)

    assert round(100 * (total.hit_rate or 0), 1) == percent


# What holds for any traffic.

traces = st.lists(
    st.tuples(st.lists(st.sampled_from([1, 2]), max_size=5), st.integers(0, 3), st.integers(0, 40)), max_size=40
)
"""Steps down a tree of prompts, seconds since the request before, output tokens."""


def chunk_of(asked: list[tuple[list[int], int, int]]) -> Chunk:
    numbers: dict[tuple[int, ...], int] = {}
    prompts = []
    now, times = 0.0, []
    for steps, wait, _ in asked:
        now += wait
        times.append(now)
        prompts.append(tuple(numbers.setdefault(tuple(steps[: end + 1]), len(numbers)) for end in range(len(steps))))
    return of_blocks(*prompts, at_s=tuple(times), outputs=tuple(output for _, _, output in asked))


@settings(max_examples=30)
@given(asked=traces, policy=st.sampled_from(policy_names()), replicas=st.integers(1, 4), timed=st.booleans())
def test_a_fleet_adds_up_and_is_the_same_again(asked: list, policy: str, replicas: int, timed: bool) -> None:
    chunk = chunk_of(asked)

    def fleet() -> FleetReplay:
        timing = EngineTiming(step_s=0.5, prefill_token_s=0.2, max_running_requests=3) if timed else None
        return FleetReplay(replicas, lambda: VllmBlocks(9, 4), policy, 4, seed=5, timing=timing)

    first, again = fleet(), fleet()
    served = first.add(chunk)

    assert served == again.add(chunk)
    first.check_integrity()
    total = first.total()
    assert total == again.total()
    assert sum(replica.requests for replica in total.replicas) == len(asked)
    assert total.prompt_tokens == sum(chunk.input_tokens)
    assert total.hit_tokens == sum(
        min(4 * hits, tokens) for hits, tokens in zip(served, chunk.input_tokens, strict=True)
    )
    alone = VllmBlocks(9, 4)
    hits = alone.add(chunk)
    if replicas == 1 and first.never_fit == alone.never_fit:
        assert served == hits


@settings(max_examples=30)
@given(asked=traces, replicas=st.integers(1, 4))
def test_a_store_behind_replicas_without_blocks_is_one_cache_for_all(asked: list, replicas: int) -> None:
    chunk = chunk_of(asked)
    store = SharedStore(LeafLru(20), 0.25)
    fleet = FleetReplay(replicas, lambda: LeafLru(0), "round-robin", 4, store=store)

    assert fleet.add(chunk) == LeafLru(20).add(chunk)
    total = fleet.total()
    assert total.transferred_tokens == total.hit_tokens
    assert total.transfer_s == total.hit_tokens / 4


def test_what_a_replica_has_itself_is_not_transferred() -> None:
    store = SharedStore(LeafLru(None), 0.5)
    fleet = FleetReplay(2, lambda: LeafLru(2), "round-robin", 4, store=store)

    served = fleet.add(of_blocks((1, 2), (1, 2, 3), (1, 2, 3), (1, 2)))

    assert served == [0, 2, 3, 2]
    assert fleet.total()[2:5] == (28, 8 + 4, 6.0)


def test_chunks_go_on_where_the_last_one_ended() -> None:
    chunks = [of_blocks((1, 2), (3,)), of_blocks((1, 2), (3, 4))]
    fleet = FleetReplay(2, lambda: LeafLru(10), "round-robin", 4)

    assert [fleet.add(chunk) for chunk in chunks] == [[0, 0], [2, 1]]
    assert replay(chunks, 2, lambda: LeafLru(10), "round-robin", 4) == fleet.total()


# Requests that overlap.


class Watching:
    """Sends in turn, and keeps what it saw of the replicas."""

    def __init__(self) -> None:
        self.seen: list[list[tuple[int, ...]]] = []

    def choose(self, request: BlockRequest, replicas) -> int:  # type: ignore[no-untyped-def]
        self.seen.append(
            [(one.in_flight, one.load, one.prefill_tokens, one.backlog, one.held_blocks) for one in replicas]
        )
        return request.number % len(replicas)

    def reset(self) -> None:
        self.seen = []


SLOW = EngineTiming(step_s=0.5, prefill_token_s=0.1, scheduled_ahead=False)
"""A prompt of 9 has its first token after 1.4 s, one of 5 after 1 s, and each further token takes 0.5 s."""


def test_loads_at_each_arrival() -> None:
    watching = Watching()
    chunk = of_blocks(*[(1, 2), (7,), (1, 3), (8,)], at_s=(0, 0.5, 1.45, 2.1), outputs=(2, 2, 2, 2))
    FleetReplay(2, lambda: LeafLru(9), watching, 4, timing=SLOW).add(chunk)

    assert watching.seen == [
        [(0, 0, 0, 0, 0), (0, 0, 0, 0, 0)],
        [(1, 1, 9, 9, 2), (0, 0, 0, 0, 0)],
        [(1, 1, 0, 0, 2), (1, 1, 5, 5, 1)],
        [(1, 1, 5, 5, 2), (0, 0, 0, 0, 0)],
    ]


def test_one_after_another_a_load_is_what_was_computed() -> None:
    watching = Watching()
    FleetReplay(2, lambda: LeafLru(9), watching, 4).add(of_blocks((1, 2), (7,), (1, 2), (8,)))

    assert watching.seen[3] == [(0, 10, 0, 10, 0), (0, 5, 0, 5, 0)]


class Peeking:
    """Sends all to the first replica, and keeps what it would have served of each request."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def choose(self, request: BlockRequest, replicas) -> int:  # type: ignore[no-untyped-def]
        self.seen.append(replicas[0].peek(request))
        return 0

    def reset(self) -> None:
        self.seen = []


def test_routers_see_blocks_when_they_are_computed() -> None:
    """The first prompt is computed at 1.4 s; who asked for the same before is served it nevertheless."""
    peeking = Peeking()
    chunk = of_blocks((1, 2), (1, 2), (1, 2, 3), (1, 2, 3), at_s=(0, 1, 1.5, 9), outputs=(9, 9, 9, 9))
    fleet = FleetReplay(2, lambda: LeafLru(9), peeking, 4, timing=SLOW)

    assert fleet.add(chunk) == [0, 2, 2, 3]
    assert peeking.seen == [0, 0, 8, 12]


def test_times_of_a_fleet() -> None:
    """The third waits for the second's only step; the second begins 1 s after the first."""
    chunk = of_blocks((1, 2), (7,), (7, 8), at_s=(10, 11, 11.5), outputs=(3, 1, 2))
    fleet = FleetReplay(2, lambda: LeafLru(9), "first-blocks:blocks=1", 4, timing=SLOW)
    fleet.add(chunk)
    timing = fleet.total().timing

    assert timing is not None
    assert fleet.moments.ttft_s() == pytest.approx([1.4, 1.0, 1.5])
    assert timing.ttft_s == pytest.approx((3, 1.3, 1.4, 1.48, 1.498))
    assert timing.queue_s is not None and timing.queue_s.mean == pytest.approx(0.5 / 3)
    assert timing.end_to_end_s is not None and timing.end_to_end_s.p99 == pytest.approx(2.392)
    assert sorted(timing.busy_s) == pytest.approx([2.4, 2.5])
    assert (timing.last_s, timing.span_s) == pytest.approx((13.5, 3.5))
    assert timing.provisioned_gpu_s == pytest.approx(7)
    assert timing.most_in_flight == 2


def test_times_of_the_last_requests_alone() -> None:
    fleet = FleetReplay(1, lambda: LeafLru(9), "round-robin", 4, timing=SLOW)
    fleet.add(of_blocks((1, 2), (7,), at_s=(0, 9)))
    timing = fleet.total(first=1).timing

    assert timing is not None and timing.ttft_s == pytest.approx((1, 1.0, 1.0, 1.0, 1.0))


def test_a_transfer_is_part_of_the_time_to_the_first_token() -> None:
    """8 of 9 tokens come from the store at 0.25 s each, and the last one is computed."""
    store = SharedStore(LeafLru(None), 0.25)
    fleet = FleetReplay(2, lambda: LeafLru(9), "round-robin", 4, timing=SLOW, store=store)
    fleet.add(of_blocks((1, 2), (1, 2), at_s=(0, 5)))

    timing = fleet.total().timing
    assert fleet.moments.ttft_s() == pytest.approx([1.4, 2.6])
    assert timing is not None and timing.queue_s is not None and timing.queue_s.mean == 0


# What cannot be replayed.


@pytest.mark.parametrize(
    ("make", "replicas", "said"),
    [
        (lambda: LeafLru(5), 0, "a fleet needs at least 1 replica, not 0"),
        (lambda: BlockLru(5), 2, "a fleet is replayed with rules of engines: vllm, leaf-lru or fifo"),
    ],
)
def test_fleets_that_there_are_not(make, replicas: int, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=said):
        FleetReplay(replicas, make, "random", 4)


def test_requests_without_times_do_not_overlap() -> None:
    fleet = FleetReplay(2, lambda: Fifo(5), "random", 4, timing=SLOW)
    with pytest.raises(UsageError, match="only overlap in a trace with times"):
        fleet.add(of_blocks((1,), at_s=(nan,)))


def test_who_never_fits_is_counted_over_the_fleet() -> None:
    fleet = FleetReplay(2, lambda: VllmBlocks(2, 4), "round-robin", 4)
    fleet.add(of_blocks((1, 2, 3), (4, 5, 6), (7,)))

    assert fleet.never_fit == 2
    assert FleetReplay(2, lambda: LeafLru(2), "round-robin", 4).never_fit is None


def test_who_does_not_fit_into_an_engine_has_no_times() -> None:
    """Prompts of 9 tokens: with a reply of 12 one is too long for 20 tokens, and one of 4 for a cache of 3 blocks."""
    timing = EngineTiming(step_s=1, prefill_token_s=0, kv_capacity_tokens=20)
    chunk = of_blocks((1, 2), (1, 2), (1, 2), at_s=(0, 0, 0), outputs=(12, 11, UNKNOWN))

    for blocks, served, refused in ((9, [0, 0, 2], 1), (3, [0, 0, 0], 2)):
        fleet = FleetReplay(1, lambda blocks=blocks: VllmBlocks(blocks, 4), "round-robin", 4, timing=timing)  # type: ignore[misc]
        assert fleet.add(chunk) == served
        assert fleet.never_fit == refused
        timed = fleet.total().timing
        assert timed is not None and timed.ttft_s is not None and timed.ttft_s.n == 3 - refused


def test_requests_run_in_the_memory_that_the_cache_has() -> None:
    """Two prompts of 9 with replies of 2 go into 6 blocks of 4, three do not, unless they begin alike."""
    fleets = []
    for prompts in ([(1, 2), (3, 4), (5, 6)], [(1, 2), (1, 2), (1, 2)]):
        fleet = FleetReplay(1, lambda: LeafLru(6), "round-robin", 4, timing=SLOW)
        fleet.add(of_blocks(*prompts, at_s=(0, 0, 0), outputs=(2, 2, 2)))
        fleet.total()
        fleets.append([round(seconds, 2) for seconds in fleet.moments.ttft_s()])

    assert fleets == [[2.3, 2.3, 4.2], [1.6, 1.6, 1.6]]


def test_a_prompt_longer_than_the_cache_has_no_times() -> None:
    fleet = FleetReplay(1, lambda: VllmBlocks(2, 4), "round-robin", 4, timing=SLOW)
    fleet.add(of_blocks((1, 2, 3)))

    timed = fleet.total().timing
    assert fleet.never_fit == 1
    assert timed is not None and timed.ttft_s is None and timed.span_s == 0
