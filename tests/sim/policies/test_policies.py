"""Each policy: where it sends, given what replicas hold and how busy they are."""

from __future__ import annotations

from array import array
from collections import Counter

import pytest

from hitrate.sim.policies.interface import BlockRequest
from hitrate.sim.policies.registry import make_policy, policy_names


class Looked:
    """A replica of 100 blocks with requests in flight; it would serve so many tokens."""

    def __init__(self, in_flight: int = 0, served: int = 0, prefill: int = 0, held: int = 0, shared: int = 0) -> None:
        self.in_flight = self.load = in_flight
        self.prefill_tokens = self.backlog = prefill
        self.held_blocks = held
        self.capacity = 100
        self._served = served
        self._shared = shared

    def peek(self, request: BlockRequest) -> int:
        return self._served

    def held_with(self, request: BlockRequest) -> int:
        """`shared` blocks of the request are in use already."""
        return self.held_blocks + len(request.asked) - self._shared


def asking(*asked: int, number: int = 0, session: int = -1, at_s: float = 0.0) -> BlockRequest:
    """A request of blocks of 16 tokens."""
    return BlockRequest(number, array("q", asked), 16 * len(asked), 16, at_s=at_s, session=session)


def choices(specification: str, requests: list[BlockRequest], replicas: list[Looked], seed: int = 0) -> list[int]:
    policy = make_policy(specification, seed=seed)
    return [policy.choose(request, replicas) for request in requests]


IDLE = [Looked(), Looked(), Looked(), Looked()]
VARIED = [asking(block, block + 100, number=block, session=block % 7) for block in range(60)]


@pytest.mark.parametrize("name", policy_names())
def test_equal_seeds_choose_alike_and_reset_starts_again(name: str) -> None:
    policy = make_policy(name, seed=7)
    first = [policy.choose(request, IDLE) for request in VARIED]

    assert first == choices(name, VARIED, IDLE, seed=7)
    policy.reset()
    assert first == [policy.choose(request, IDLE) for request in VARIED]
    assert set(first) <= {0, 1, 2, 3}


@pytest.mark.parametrize("name", policy_names())
def test_a_request_without_blocks_and_a_fleet_of_one(name: str) -> None:
    assert choices(name, [asking(), asking(1)], [Looked(in_flight=3)]) == [0, 0]
    assert choices(name, [asking()], IDLE)[0] in (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("specification", "replicas", "expected"),
    [
        # two blocks to compute more are worth it when four are in use more
        ("dynamo-kv", [Looked(served=32, held=5), Looked(held=1)], 1),
        ("dynamo-kv", [Looked(served=32, held=2), Looked(held=1)], 0),
        ("dynamo-kv", [Looked(served=32, prefill=64), Looked()], 1),
        ("dynamo-kv", [Looked(held=3, shared=2), Looked(held=2)], 0),
        ("dynamo-kv:overlap_score_credit=0", [Looked(served=32, held=2), Looked(held=1)], 1),
        # prefix 2, free memory 1, idle 1
        ("llm-d-precise", [Looked(served=48), Looked(served=32)], 0),
        ("llm-d-precise", [Looked(served=48, in_flight=8), Looked(served=48)], 1),
        ("llm-d-precise", [Looked(served=48, in_flight=8, held=60), Looked()], 0),
        ("llm-d-precise:prefix=1", [Looked(served=48, in_flight=8, held=60), Looked()], 1),
        ("llm-d-precise", [Looked(held=50), Looked()], 1),
        ("fewest-new-tokens", [Looked(served=16), Looked(served=32)], 1),
        ("fewest-new-tokens:load_penalty=0.5", [Looked(served=16), Looked(served=32, prefill=40)], 0),
        ("least-load", [Looked(in_flight=3), Looked(in_flight=2), Looked(in_flight=2)], 1),
        ("cache-aware", [Looked(served=16), Looked(served=32, in_flight=50)], 1),
        ("cache-aware:imbalance=8", [Looked(served=16), Looked(served=32, in_flight=50)], 0),
        ("power-of-two", [Looked(in_flight=3), Looked(in_flight=2)], 1),
        ("smg-prefix-hash", [Looked(in_flight=40), Looked(), Looked(in_flight=40), Looked(in_flight=40)], 1),
        ("aibrix-prefix-cache", [Looked(in_flight=9), Looked(in_flight=8)], 1),
    ],
)
def test_by_what_engines_hold_and_how_busy_they_are(specification: str, replicas: list[Looked], expected: int) -> None:
    assert choices(specification, [asking(1, 2, 3)], replicas) == [expected]


@pytest.mark.parametrize("name", ["sglang-cache-aware", "vllm-cache-aware"])
@pytest.mark.parametrize(
    ("in_flight", "expected"),
    [
        ((0, 0), 0),
        ((64, 0), 0),  # apart by no more than 64
        ((65, 0), 1),
        ((130, 65), 1),
        ((300, 220), 0),  # no more than 1.5 times
    ],
)
def test_the_gate_of_cache_aware(name: str, in_flight: tuple[int, int], expected: int) -> None:
    policy = make_policy(name)
    policy.choose(asking(1, 2, 3), [Looked(), Looked()])

    assert policy.choose(asking(1, 2, 3), [Looked(count) for count in in_flight]) == expected


def test_a_match_has_to_be_above_the_threshold() -> None:
    def after(matched: int, of: int) -> int:
        policy = make_policy("sglang-cache-aware")
        policy.choose(asking(*range(matched)), [Looked(1), Looked(0)])
        return policy.choose(asking(*range(matched), *range(100, 100 + of - matched)), [Looked(0), Looked(1)])

    assert [after(3, 10), after(4, 10)] == [0, 1]


def test_of_two_that_have_the_whole_match() -> None:
    """sglang-router sends to the one that had it first, vllm-router to the shorter queue."""

    def third(name: str) -> int:
        policy = make_policy(f"{name}:abs=0")
        for in_flight in ((1, 0), (0, 1)):
            policy.choose(asking(1, 2), [Looked(count) for count in in_flight])
        return policy.choose(asking(1, 2), [Looked(2), Looked(2)]), policy.choose(asking(1, 2), [Looked(2), Looked(2)])

    assert third("sglang-cache-aware") == (1, 1)
    assert third("vllm-cache-aware") == (0, 0)


def test_below_the_threshold_the_shortest_queue_or_the_smallest_tree() -> None:
    def second(specification: str) -> int:
        policy = make_policy(specification)
        policy.choose(asking(1, 2, 3), IDLE)
        return policy.choose(asking(7, 8), IDLE)

    assert second("sglang-cache-aware") == 0
    assert second("sglang-cache-aware:below=smallest-tree") == 1


def test_a_tree_is_cut_every_so_often() -> None:
    """64 characters are a block of 16 tokens; a minute after the first request a tree of 4 blocks is cut to it."""

    def goes(at_s: float) -> int:
        policy = make_policy("sglang-cache-aware:max_tree_size=64")
        policy.choose(asking(1, 2, 3), [Looked(1), Looked(0)])
        policy.choose(asking(9), [Looked(1), Looked(0)])
        return policy.choose(asking(1, at_s=at_s), [Looked(0), Looked(1)])

    assert [goes(59), goes(60)] == [1, 0]
    assert goes(float("nan")) == 0


def test_ray_takes_the_smallest_part_of_the_tree_below_a_tenth_and_any_of_two_when_apart() -> None:
    ray = make_policy("ray-prefix-aware")
    assert [ray.choose(asking(*blocks), IDLE[:2]) for blocks in ((1, 2), (5,), (1, 9), (1,), (7,))] == [0, 1, 0, 0, 1]
    apart = [Looked(90), Looked(50), Looked(0)]
    drawn = Counter(choices("ray-prefix-aware:imbalanced_threshold=10", [asking(1, 2)] * 200, apart))
    assert drawn[2] > drawn[1] > 0 and 0 not in drawn


def test_aibrix_forgets_what_was_not_used_for_twenty_minutes_and_what_its_table_has_no_room_for() -> None:
    def goes(specification: str, at_s: float, *between: int) -> int:
        policy = make_policy(specification)
        for asked in ((1, 2), between):
            policy.choose(asking(*asked), [Looked(1), Looked(0)])
        return policy.choose(asking(1, 2, at_s=at_s), [Looked(0), Looked(1)])

    assert [goes("aibrix-prefix-cache", at_s) for at_s in (1200, 1201)] == [1, 0]
    assert [goes(f"aibrix-prefix-cache:table_tokens={tokens}", 0, 5, 6) for tokens in (64, 32)] == [1, 0]


def test_aibrix_passes_over_a_match_that_is_much_busier_than_the_mean() -> None:
    policy = make_policy("aibrix-prefix-cache")
    policy.choose(asking(1, 2), [Looked(1), Looked(0), Looked(1)])

    assert policy.choose(asking(1, 2), [Looked(3), Looked(3), Looked(3)]) == 1
    assert policy.choose(asking(1, 2), [Looked(3), Looked(4), Looked(3)]) in (0, 2)


def test_llm_d_looks_at_the_first_256_blocks_of_16_tokens() -> None:
    opening = range(256)
    policy = make_policy("llm-d-approximate")
    policy.choose(asking(*opening, 1001), [Looked(1), Looked(0)])

    assert policy.choose(asking(*opening, 2002), [Looked(0), Looked(0)]) == 1


def test_llm_d_forgets_the_beginning_of_a_prompt_first() -> None:
    def goes(kept: int) -> int:
        policy = make_policy(f"llm-d-approximate:lru_blocks={kept}")
        for asked in ((1, 2, 3), (7, 8)):
            policy.choose(asking(*asked), [Looked(1), Looked(0)])
        return policy.choose(asking(1, 2, 3), [Looked(0), Looked(1)])

    assert [goes(5), goes(4)] == [1, 0]


@pytest.mark.parametrize("specification", ["consistent-hash", "session-affinity"])
def test_a_session_stays(specification: str) -> None:
    requests = [asking(number, session=number % 9) for number in range(90)]
    chosen = choices(specification, requests, IDLE)

    assert chosen[:9] * 10 == chosen
    assert len(set(chosen)) > 1


@pytest.mark.parametrize(
    ("specification", "together"),
    [
        ("consistent-hash", False),
        ("consistent-hash:blocks=2", True),
        ("first-blocks", True),
        ("first-blocks:blocks=3", False),
        ("smg-prefix-hash:tokens=32", True),
        ("smg-prefix-hash", False),
    ],
)
def test_what_of_a_prompt_is_hashed(specification: str, together: bool) -> None:
    chosen = choices(specification, [asking(1, 2, number) for number in range(50, 90)], IDLE)

    assert (len(set(chosen)) == 1) is together
