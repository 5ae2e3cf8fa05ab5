"""SGLang's rule by literal numbers: longest common prefix, whole pages, whole leaves evicted oldest first."""

from __future__ import annotations

import pytest

from hitrate.caches.prefix import common_prefix_length
from hitrate.caches.radix import RadixCache
from hitrate.errors import ContextTooSmall

A, B, C = [1, 2, 3, 4, 5, 6], [1, 2, 3, 7, 8, 9], [5, 5, 5, 5, 5, 5]


def send(cache: RadixCache, tokens: list[int], generated: list[int] | None = None, **request: object) -> int:
    lease = cache.begin(tokens, **request)  # type: ignore[arg-type]
    assert lease is not None
    cache.finish(lease, generated or (), now=request.get("now", 0.0))  # type: ignore[arg-type]
    cache.check_integrity()
    return lease.cached_tokens


@pytest.mark.parametrize(
    ("left", "right", "start", "length"),
    [
        ((), (), 0, 0),
        ((1, 2, 3), (1, 2, 3), 0, 3),
        ((1, 2, 3), (1, 2, 4, 5), 0, 2),
        ((1, 2, 3), (9, 1, 2), 1, 2),
        ((1,), (2,), 0, 0),
        (tuple(range(100)), (*range(63), -1, *range(64, 100)), 0, 63),
    ],
)
def test_common_prefix_length(left: tuple[int, ...], right: tuple[int, ...], start: int, length: int) -> None:
    assert common_prefix_length(left, right, start) == length


@pytest.mark.parametrize(
    ("page_size", "served"),
    [(1, [0, 5, 3, 5, 0]), (2, [0, 4, 2, 4, 0]), (3, [0, 3, 3, 3, 0]), (4, [0, 4, 0, 4, 0]), (8, [0] * 5)],
)
def test_the_longest_common_prefix_is_served_in_whole_pages_but_never_the_last_token(
    page_size: int, served: list[int]
) -> None:
    cache = RadixCache(page_size)
    assert [send(cache, tokens) for tokens in (A, A, B, B, C)] == served


def test_the_reply_is_stored_but_for_its_last_token() -> None:
    cache = RadixCache()
    send(cache, A, [10, 11, 12])
    assert cache.peek([*A, 10, 11, 12, 13]) == 8
    assert cache.stored_tokens == 8


def test_peek_changes_nothing_where_begin_splits_and_refreshes() -> None:
    cache = RadixCache(capacity_tokens=12)
    send(cache, A)
    send(cache, C)
    # Asking for A does not make it younger than C: it is A that goes.
    assert [cache.peek([*A[:3], 0, 0]) for _ in range(3)] == [3, 3, 3]
    send(cache, [6, 6, 6])
    assert (cache.peek([*A, 0]), cache.peek([*C, 0])) == (0, 6)


def test_the_least_recently_used_leaf_goes_first_and_inner_nodes_after_their_leaves() -> None:
    cache = RadixCache(capacity_tokens=12)
    for tokens in (A, B):
        send(cache, tokens)
    assert cache.stored_tokens == 9  # 1 2 3 once, then two tails of 3.
    send(cache, C[:4])  # One token is missing: A's tail of 3 goes, B's stays.
    assert [cache.peek([*tokens, 0]) for tokens in (A, B, C[:4])] == [3, 6, 4]
    send(cache, [6] * 6)  # Four are missing: B's tail, and the opening, which is by now older than C.
    assert [cache.peek([*tokens, 0]) for tokens in (A, B, C[:4], [6] * 6)] == [0, 0, 4, 6]


def test_in_pages_one_more_is_made_free_than_a_prompt_takes() -> None:
    cache = RadixCache(page_size=2, capacity_tokens=8)
    send(cache, [1, 1])
    send(cache, [2, 2])
    send(cache, [3, 3, 3, 3])  # Four are free, six are asked for.
    assert [cache.peek([*tokens, 0]) for tokens in ([1, 1], [2, 2], [3, 3, 3, 3])] == [0, 2, 4]


def test_a_path_in_use_is_never_evicted_and_a_request_without_room_waits() -> None:
    cache = RadixCache(capacity_tokens=10)
    send(cache, A)
    reader = cache.begin([*A[:4], 0, 0])
    assert reader is not None and reader.cached_tokens == 4
    assert cache.begin(C) is None  # 10 less the 6 of the reader; A's tail of 2 counts as free, 4 are not 6.
    cache.check_integrity()
    small = cache.begin(C[:4])
    assert small is not None
    assert cache.peek([*A, 0]) == 4
    for lease in (reader, small):
        cache.finish(lease)
        cache.check_integrity()
    assert cache.begin(C) is not None


def test_a_prompt_is_shared_once_published_and_forgotten_when_aborted_before() -> None:
    cache = RadixCache(capacity_tokens=30)
    first, second = cache.begin(A), cache.begin(A)
    assert first is not None and second is not None
    assert cache.peek(A) == 0
    cache.publish(first)
    cache.publish(second)  # Its own copy is given back.
    assert (cache.peek(A), cache.stored_tokens) == (5, 6)
    cache.check_integrity()
    cache.abort(first)
    cache.abort(second)
    dead = cache.begin(B)
    assert dead is not None and dead.cached_tokens == 3
    cache.abort(dead)
    assert (cache.peek([*B, 0]), cache.stored_tokens) == (3, 6)
    cache.check_integrity()


def test_reset_forgets_all_and_ends_requests_in_flight_without_effect() -> None:
    cache = RadixCache(capacity_tokens=6)
    lease = cache.begin(A)
    assert lease is not None
    cache.reset()
    cache.finish(lease, [1, 2])
    cache.check_integrity()
    assert (cache.stored_tokens, send(cache, A)) == (0, 0)


def test_namespaces_never_match() -> None:
    cache = RadixCache()
    assert [send(cache, A, namespace=salt) for salt in (None, "x", ("x", 1), "x")] == [0, 0, 0, 5]


def test_an_idle_leaf_expires_and_a_read_starts_its_time_anew() -> None:
    cache = RadixCache(ttl_s=300)
    assert [send(cache, A, now=now) for now in (0, 200, 500, 801)] == [0, 5, 5, 0]
    assert (cache.peek(A, now=1101), cache.peek(A, now=1101.5)) == (5, 0)
    lease = cache.begin(A, now=1000)
    assert lease is not None
    assert cache.peek(A, now=9000) == 5  # In use.
    cache.finish(lease, now=9000)
    assert cache.peek(A, now=9300) == 5


def test_an_expired_leaf_gives_way_to_the_same_prompt_stored_again() -> None:
    cache = RadixCache(ttl_s=10)
    slow = cache.begin(A, now=0)
    assert slow is not None
    send(cache, A, now=0)
    cache.finish(slow, now=60)
    cache.check_integrity()
    assert cache.peek(A, now=60) == 5


def test_a_prompt_that_can_never_fit_is_refused_with_the_setting_that_fixes_it() -> None:
    cache = RadixCache(page_size=4, capacity_tokens=10)  # Two whole pages.
    with pytest.raises(ContextTooSmall, match="9 tokens does not fit a cache of 8") as caught:
        cache.begin(list(range(9)))
    assert caught.value.hint == "raise capacity_tokens to at least 12"


def test_a_reply_too_long_for_the_capacity_keeps_what_fits() -> None:
    cache = RadixCache(page_size=2, capacity_tokens=8)
    send(cache, [1, 2, 3], list(range(4, 40)))
    assert cache.peek(list(range(1, 40))) == 8
