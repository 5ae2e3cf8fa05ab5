"""vLLM's rule by literal numbers: which tokens are served, which blocks are taken and in which order they go."""

from __future__ import annotations

import random

import pytest

from hitrate.caches.block_chain import BlockChainCache, chain_keys
from hitrate.caches.oracle import BlockOracle
from hitrate.errors import ContextTooSmall


def send(cache: BlockChainCache, tokens: list[int], generated: list[int] | None = None, **request: object) -> int:
    lease = cache.begin(tokens, **request)  # type: ignore[arg-type]
    assert lease is not None
    cache.finish(lease, generated or (), now=request.get("now", 0.0))  # type: ignore[arg-type]
    cache.check_integrity()
    return lease.cached_tokens


def blocks(letter: str, count: int, size: int = 4) -> list[int]:
    return [1000 * ord(letter) + number for number in range(count * size)]


@pytest.mark.parametrize(
    ("prompt_tokens", "served_again"),
    [(0, 0), (1, 0), (3, 0), (4, 0), (5, 4), (8, 4), (9, 8), (16, 12), (17, 16)],
)
def test_an_exact_resend_is_served_full_blocks_but_never_the_last_token(prompt_tokens: int, served_again: int) -> None:
    cache = BlockChainCache(block_size=4)
    prompt = list(range(prompt_tokens))
    assert [send(cache, prompt) for _ in range(3)] == [0, served_again, served_again]


def test_a_change_in_one_block_loses_it_and_all_behind_it() -> None:
    cache = BlockChainCache(block_size=4)
    send(cache, blocks("a", 4))
    changed = blocks("a", 4)
    changed[5] = 7
    assert send(cache, [*changed, 1]) == 4


def test_blocks_of_the_reply_are_cached_but_not_its_last_token() -> None:
    cache = BlockChainCache(block_size=4)
    prompt, reply = [1, 2, 3], [4, 5, 6, 7, 8, 9]
    send(cache, prompt, reply)
    # 3 + 5 tokens were computed: two full blocks. The ninth token, the last of the reply, was only sampled.
    assert cache.peek([*prompt, *reply, 10]) == 8
    send(cache, [21, 22, 23], [24, 25])
    assert cache.peek([21, 22, 23, 24, 25, 26]) == 4
    send(cache, [31, 32, 33], [34])
    assert cache.peek([31, 32, 33, 34, 35, 36]) == 0


def test_a_at_capacity_five_loses_its_tail_first() -> None:
    cache = BlockChainCache(block_size=4, capacity_blocks=5)
    assert send(cache, blocks("a", 4)) == 0
    assert cache.pool.eviction_order == [5, 4, 3, 2, 1]
    # B takes the blank block 5 and then A's last block, 4.
    assert send(cache, blocks("b", 2)) == 0
    assert cache.pool.eviction_order == [3, 2, 1, 4, 5]
    # A finds its blocks 1, 2 and 3 and evicts the tail of B for its fourth.
    assert send(cache, blocks("a", 4)) == 12
    assert cache.pool.eviction_order == [5, 4, 3, 2, 1]
    assert cache.peek([*blocks("b", 2), 1]) == 4


def test_three_prompts_in_turn_with_room_for_two() -> None:
    cache = BlockChainCache(block_size=4, capacity_blocks=4)
    prompts = [[*blocks(letter, 1), 1] for letter in "abc"]  # One full block and one begun.
    served = [[send(cache, prompt) for prompt in prompts] for _ in range(3)]
    # A begun block holds no key and is taken again first, so the room is enough for three prompts, not two.
    assert served == [[0, 0, 0], [4, 4, 4], [4, 4, 4]]
    cache = BlockChainCache(block_size=4, capacity_blocks=4)
    prompts = [[*blocks(letter, 2)] for letter in "abc"]
    # Least recently used is the worst order for a round longer than the cache.
    assert [[send(cache, prompt) for prompt in prompts] for _ in range(3)] == [[0, 0, 0]] * 3


def test_a_full_repeat_computes_its_last_block_into_a_second_copy() -> None:
    cache = BlockChainCache(block_size=4, capacity_blocks=4)
    send(cache, blocks("a", 2))
    assert cache.pool.eviction_order == [3, 4, 2, 1]
    assert send(cache, blocks("a", 2)) == 4
    # Block 1 was shared; block 3 is the new copy of block 2, which stays until it is evicted.
    assert cache.pool.eviction_order == [4, 2, 3, 1]
    assert cache.pool.cached_blocks == 2
    send(cache, blocks("b", 2))  # Takes 4 and 2: the copy in block 3 still answers.
    assert cache.peek([*blocks("a", 2), 1]) == 8


def test_a_block_in_use_is_never_evicted_and_a_request_without_room_waits() -> None:
    cache = BlockChainCache(block_size=4, capacity_blocks=3)
    first = cache.begin(blocks("a", 2))
    assert first is not None
    assert cache.begin(blocks("b", 2)) is None
    cache.check_integrity()
    cache.finish(first)
    second = cache.begin(blocks("b", 2))
    assert second is not None and second.cached_tokens == 0
    cache.check_integrity()


def test_a_prompt_is_shared_once_published_and_forgotten_when_aborted_before() -> None:
    cache = BlockChainCache(block_size=4)
    first = cache.begin(blocks("a", 3))
    assert first is not None
    assert cache.peek(blocks("a", 3)) == 0
    cache.publish(first)
    assert cache.peek(blocks("a", 3)) == 8
    cache.abort(first)
    assert cache.peek(blocks("a", 3)) == 8
    dead = cache.begin(blocks("b", 3))
    assert dead is not None
    cache.abort(dead)
    assert cache.peek(blocks("b", 3)) == 0
    cache.check_integrity()


def test_reset_forgets_all_and_ends_requests_in_flight_without_effect() -> None:
    cache = BlockChainCache(block_size=4, capacity_blocks=4)
    lease = cache.begin(blocks("a", 2))
    assert lease is not None
    cache.reset()
    cache.publish(lease)
    cache.finish(lease, [1, 2, 3])
    cache.check_integrity()
    assert cache.peek([*blocks("a", 2), 1]) == 0
    assert cache.pool.eviction_order == [1, 2, 3, 4]


def test_namespaces_never_match() -> None:
    cache = BlockChainCache(block_size=4)
    assert [send(cache, blocks("a", 2), namespace=salt) for salt in (None, "None", "x", ("x",), "x")] == [0, 0, 0, 0, 4]


def test_an_idle_block_expires_and_a_read_starts_its_time_anew() -> None:
    cache = BlockChainCache(block_size=4, ttl_s=300)
    prompt = blocks("a", 2)
    assert [send(cache, prompt, now=now) for now in (0, 200, 500, 801)] == [0, 4, 4, 0]
    assert cache.peek(prompt, now=1101) == 4
    assert cache.peek(prompt, now=1101.5) == 0


@pytest.mark.parametrize(
    ("shared_tokens", "credited"), [(0, 0), (1023, 0), (1024, 1024), (1151, 1024), (1152, 1152), (2000, 1920)]
)
def test_below_the_minimum_nothing_is_credited(shared_tokens: int, credited: int) -> None:
    cache = BlockChainCache(block_size=128, minimum_tokens=1024)
    opening = list(range(shared_tokens))
    send(cache, [*opening, *range(10_000, 10_200)])
    assert send(cache, [*opening, *range(20_000, 20_200)]) == credited


def test_a_prompt_that_can_never_fit_is_refused_with_the_setting_that_fixes_it() -> None:
    cache = BlockChainCache(block_size=16, capacity_blocks=10)
    with pytest.raises(ContextTooSmall, match=r"161 tokens needs 11 blocks of 16, the cache has 10") as caught:
        cache.begin(list(range(161)))
    assert caught.value.hint == "raise capacity_blocks to at least 11"


def test_a_reply_too_long_for_the_capacity_keeps_what_fits() -> None:
    cache = BlockChainCache(block_size=4, capacity_blocks=2)
    send(cache, [1, 2, 3, 4], list(range(5, 30)))
    assert cache.peek([*range(1, 30)]) == 8


def test_keys_depend_on_all_before_them_and_continue_from_a_parent() -> None:
    whole = chain_keys([1, 2, 3, 4, 5, 6, 7], 2, "salt")
    assert len(set(whole)) == 3
    assert chain_keys([1, 2], 2, "salt") == whole[:1]
    assert chain_keys([3, 4, 5, 6], 2, parent=whole[0]) == whole[1:]
    assert chain_keys([9, 2, 3, 4], 2, "salt")[1] != whole[1]
    assert chain_keys([-1, -2], 2) != chain_keys([-2, -1], 2) != chain_keys([-1, -1], 2)


def test_block_ids_of_a_trace_serve_as_keys() -> None:
    cache = BlockChainCache(block_size=512)
    requests = [([0, 1, 2, 3], 1800), ([0, 1, 2, 9], 1800), ([0, 1, 2], 1536), ([0, 7], 1024)]
    served = []
    for ids, prompt_tokens in requests:
        assert cache.peek_keys(ids, prompt_tokens) == cache.peek_keys(ids, prompt_tokens)
        lease = cache.begin_keys(ids, prompt_tokens)
        assert lease is not None
        cache.finish(lease)
        served.append(lease.cached_tokens)
    assert served == [0, 1536, 1024, 512]
    with pytest.raises(ValueError, match="2 block keys for 3 full blocks"):
        cache.begin_keys([0, 1], 1536)
    lease = cache.begin_keys([0, 1, 2], 1600)
    assert lease is not None
    with pytest.raises(ValueError, match="finish_keys"):
        cache.finish(lease, [5])
    cache.finish_keys(lease, [50, 51], 2700)  # The reply filled two more blocks.
    assert cache.peek_keys([0, 1, 2, 50, 51], 2561) == 2560
    cache.check_integrity()


def session_trace(requests: int) -> list[list[int]]:
    """Sessions that share openings, grow, come in random order and now and then lose their beginning."""
    randomness = random.Random(5)
    sessions = [[randomness.randrange(3)] * 8 for _ in range(8)]
    trace = []
    for _ in range(requests):
        session = randomness.choice(sessions)
        session += [randomness.randrange(50) for _ in range(randomness.randrange(1, 12))]
        trace.append(session[-80:] if randomness.random() < 0.1 else list(session))
    return trace


@pytest.mark.parametrize(("capacity_blocks", "hit_tokens"), [(40, 2104), (80, 3172), (110, 3744), (None, 4144)])
def test_a_session_trace_by_tokens_by_keys_and_by_the_oracle(capacity_blocks: int | None, hit_tokens: int) -> None:
    by_tokens, by_keys = BlockChainCache(4, capacity_blocks), BlockChainCache(4, capacity_blocks)
    oracle = BlockOracle(4, capacity_blocks)
    total = 0
    for prompt in session_trace(100):
        lease = by_keys.begin_keys(chain_keys(prompt, 4), len(prompt))
        expected = oracle.begin(prompt)
        assert lease is not None and expected is not None
        by_keys.finish(lease)
        oracle.finish(expected)
        assert send(by_tokens, prompt) == lease.cached_tokens == expected.cached_tokens
        total += expected.cached_tokens
    assert total == hit_tokens
