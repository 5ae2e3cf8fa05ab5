"""The llama.cpp server's rule by literal numbers; `test_slots_engine` asks the real server."""

from __future__ import annotations

from typing import Any

import pytest

from hitrate.caches.slots import HeldSequence, HostStore, SlotCache
from hitrate.errors import ContextTooSmall


def prompt(letter: str, length: int) -> list[int]:
    return [1000 * ord(letter) + number for number in range(length)]


def send(cache: SlotCache, tokens: list[int], generated: list[int] | None = None, **request: Any) -> tuple[int, int]:
    """(slot, tokens served)."""
    expected = cache.peek(tokens, **request)
    lease = cache.begin(tokens, **request)
    assert lease is not None and lease.cached_tokens == expected
    cache.finish(lease, generated or ())
    cache.check_integrity()
    return lease.slot, lease.cached_tokens


def test_a_growing_session_is_served_all_it_sent_and_got_but_the_last_token_of_the_reply() -> None:
    cache = SlotCache(4)
    session = prompt("a", 20)
    served = []
    for turn in range(5):
        reply = prompt("r", 6)
        served.append(send(cache, session, reply)[1])
        session = [*session, *reply, *prompt("u", 4 + turn)]
    assert served == [0, 25, 35, 46, 58]


def test_an_identical_prompt_is_computed_in_its_last_token_only() -> None:
    cache = SlotCache(4)
    assert [send(cache, prompt("a", 30))[1] for _ in range(3)] == [0, 29, 29]


def test_never_used_slots_are_taken_from_the_last_on_then_the_one_unused_for_longest() -> None:
    cache = SlotCache(3, host_cache_bytes=0)
    assert [send(cache, prompt(letter, 10))[0] for letter in "abcdab"] == [2, 1, 0, 2, 1, 0]


@pytest.mark.parametrize(("host_cache_bytes", "last_round"), [(0, [0] * 5), (None, [9] * 5)])
def test_five_sessions_on_four_slots_live_from_the_host_store(
    host_cache_bytes: int | None, last_round: list[int]
) -> None:
    cache = SlotCache(4, host_cache_bytes=host_cache_bytes)
    rounds = [[send(cache, prompt(letter, 10))[1] for letter in "abcde"] for _ in range(3)]
    assert rounds == [[0] * 5, last_round, last_round]


@pytest.mark.parametrize(
    ("shared", "length", "chosen", "served"),
    [(9, 90, 2, 0), (10, 90, 3, 10), (5, 50, 2, 0), (6, 50, 3, 6)],
)
def test_a_slot_is_similar_above_a_tenth_of_the_prompt(shared: int, length: int, chosen: int, served: int) -> None:
    cache = SlotCache(4, host_cache_bytes=0)
    send(cache, prompt("a", 100))
    assert send(cache, [*prompt("a", 100)[:shared], *prompt("b", length - shared)]) == (chosen, served)


def test_an_edit_keeps_what_is_before_it_and_reuse_shifts_what_is_behind_a_deletion() -> None:
    whole = prompt("a", 100)
    deleted = whole[:40] + whole[50:]
    inserted = whole[:40] + prompt("x", 5) + whole[40:]
    served = {}
    for reuse in (0, 16, 51):
        for name, second in (("deleted", deleted), ("inserted", inserted)):
            cache = SlotCache(1, cache_reuse=reuse)
            send(cache, whole)
            served[name, reuse] = send(cache, second)[1]
    assert served == {
        ("deleted", 0): 40,
        ("deleted", 16): 89,
        ("deleted", 51): 40,
        ("inserted", 0): 40,
        ("inserted", 16): 40,
        ("inserted", 51): 40,
    }


def test_a_slot_about_to_lose_half_is_saved_first_and_comes_back() -> None:
    cache = SlotCache(1)
    send(cache, prompt("a", 40))
    assert send(cache, [*prompt("a", 40)[:9], *prompt("b", 15)]) == (0, 9)  # 9 of 40 would stay: saved.
    assert cache.host_tokens == [tuple(prompt("a", 40))]
    assert send(cache, [*prompt("a", 40), 1]) == (0, 40)  # 9 of 24 would stay: exchanged.
    cache = SlotCache(1)
    send(cache, prompt("a", 40))
    send(cache, [*prompt("a", 40)[:20], *prompt("b", 5)])  # 20 of 40 stay: overwritten.
    assert cache.host_tokens == []
    assert send(cache, [*prompt("a", 40), 1]) == (0, 20)


def store(*lengths: tuple[str, int], limit: int | None = None, tokens: int | None = None, each: int = 0) -> HostStore:
    result = HostStore(limit, tokens, 1, each)
    for letter, length in lengths:
        result = result.saved(HeldSequence(tuple(prompt(letter, length)))).trimmed()
    return result


def kept(result: HostStore) -> list[tuple[str, int]]:
    return [(chr(sequence.tokens[0] // 1000), len(sequence.tokens)) for sequence in result.sequences]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (store(("a", 10), ("b", 10)), [("a", 10), ("b", 10)]),
        (store(("a", 10), ("a", 6)), [("a", 10)]),  # Contained in a stored one.
        (store(("a", 6), ("b", 3), ("a", 10)), [("b", 3), ("a", 10)]),  # Contains a stored one.
        (store(("a", 10), ("b", 10), ("c", 5), limit=24), [("b", 10), ("c", 5)]),
        (store(("a", 10), ("b", 25), limit=24), [("a", 10)]),  # Too big: nothing is disturbed.
        (store(("a", 10), ("b", 10), ("c", 5), limit=27, each=2), [("b", 10), ("c", 5)]),
        (store(("a", 10), ("b", 10), ("c", 5), tokens=15), [("b", 10), ("c", 5)]),
        (store(("a", 10), ("b", 10), ("c", 5), limit=25, tokens=15), [("a", 10), ("b", 10), ("c", 5)]),
    ],
)
def test_the_host_store_drops_its_oldest(result: HostStore, expected: list[tuple[str, int]]) -> None:
    assert kept(result) == expected


@pytest.mark.parametrize(
    ("held", "wanted", "best"),
    [
        (0, 20, 20),  # An empty slot takes anything of which a quarter is kept.
        (0, 4, None),  # 4 of 20: less than a quarter.
        (0, 5, 20),
        (4, 20, 20),
        (20, 20, None),  # Nothing better than all.
    ],
)
def test_the_host_store_gives_what_shares_more_and_keeps_more(held: int, wanted: int, best: int | None) -> None:
    current = HeldSequence(tuple([*prompt("a", held), 7] if 0 < held < 20 else prompt("a", held)))
    found = store(("a", 20), ("b", 50)).best_for(current, HeldSequence((*prompt("a", wanted), 8)))
    assert (None if found is None else len(found.tokens)) == best


def test_busy_slots_are_passed_over_and_without_an_idle_one_a_request_waits() -> None:
    cache = SlotCache(2)
    send(cache, prompt("a", 30))
    first = cache.begin(prompt("a", 30))
    second = cache.begin(prompt("a", 31))
    assert first is not None and second is not None
    # A busy slot's tokens serve nobody else, and they were not saved: none of them was about to be lost.
    assert (first.slot, first.cached_tokens, second.slot, second.cached_tokens) == (1, 29, 0, 0)
    before = (cache.slot_tokens, cache.host_tokens)
    assert cache.begin(prompt("a", 30)) is None
    assert cache.begin(prompt("b", 3), id_slot=1) is None
    assert (cache.slot_tokens, cache.host_tokens) == before
    cache.abort(first)
    assert cache.slot_tokens[1] == tuple(prompt("a", 29))
    cache.check_integrity()
    cache.finish(second, [5, 6])
    assert cache.slot_tokens[0] == (*prompt("a", 31), 5)
    cache.check_integrity()


def test_a_request_may_name_its_slot_and_may_refuse_the_cache() -> None:
    cache = SlotCache(3)
    assert send(cache, prompt("a", 30), id_slot=0) == (0, 0)
    assert send(cache, prompt("a", 30), cache_prompt=False) == (0, 0)
    assert send(cache, prompt("a", 30)) == (0, 29)
    assert send(cache, prompt("b", 30), id_slot=4) == (1, 0)  # Modulo the number of slots.


def test_one_pool_for_all_slots_empties_idle_ones_when_a_request_starts() -> None:
    cache = SlotCache(4, 100, kv_unified=True)
    send(cache, prompt("a", 40))
    send(cache, prompt("b", 40))
    assert [len(tokens) for tokens in cache.slot_tokens] == [0, 0, 40, 0]
    assert send(cache, prompt("a", 50))[1] == 40  # From the host store.


def test_one_pool_without_a_store_purges_idle_slots_in_order_until_the_prompt_fits() -> None:
    cache = SlotCache(4, 100, kv_unified=True, host_cache_bytes=0)
    for letter in "abc":
        send(cache, prompt(letter, 30))
    assert [len(tokens) for tokens in cache.slot_tokens] == [0, 30, 30, 30]
    send(cache, prompt("d", 35))
    assert [len(tokens) for tokens in cache.slot_tokens] == [35, 0, 30, 30]


def test_a_prompt_that_fills_the_slot_is_refused_and_its_slot_counts_as_used() -> None:
    cache = SlotCache(2, 100, host_cache_bytes=0)
    with pytest.raises(ContextTooSmall, match="100 tokens does not fit a slot of 100"):
        cache.begin(prompt("a", 100))
    cache.check_integrity()
    assert [send(cache, prompt(letter, 99))[0] for letter in "bc"] == [0, 1]


def test_reset_forgets_all_and_namespaces_never_match() -> None:
    cache = SlotCache(2)
    lease = cache.begin(prompt("a", 9))
    assert lease is not None
    cache.reset()
    cache.finish(lease)
    assert cache.slot_tokens == [(), ()]
    assert [send(cache, prompt("a", 9), namespace=name)[1] for name in (None, "x", None, "x")] == [0, 0, 8, 8]


def test_an_empty_prompt_is_served_nothing() -> None:
    cache = SlotCache(2)
    assert [send(cache, [])[1], send(cache, prompt("a", 5))[1], send(cache, [])[1]] == [0, 0, 0]


def test_what_is_over_the_limit_in_tokens_can_still_be_loaded_before_it_is_dropped():
    old, new = prompt("a", 10), prompt("b", 10)
    cache = SlotCache(1, 12, host_cache_bytes=None)
    for tokens in (old, new):
        lease = cache.begin(tokens)
        assert lease is not None
        cache.finish(lease)
    assert cache.host_tokens == [tuple(old)]
    assert cache.peek([*old, 1]) == 10  # `new` is saved first, the two are over the limit of 12, and `old` is loaded
