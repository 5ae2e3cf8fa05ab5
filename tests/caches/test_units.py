"""Boundary units by literal numbers: DeepSeek's two examples first."""

from __future__ import annotations

import pytest

from hitrate.caches.units import UnitCache

A, B, C, D = ([1000 * number + offset for offset in range(200)] for number in range(1, 5))


def send(
    cache: UnitCache, prompt: list[int], reply: list[int] | None = None, now: float = 0.0, **request: object
) -> int:
    expected = cache.peek(prompt, now=now, **request)  # type: ignore[arg-type]
    lease = cache.begin(prompt, now=now, **request)  # type: ignore[arg-type]
    assert lease.cached_tokens == expected
    cache.publish(lease, now=now)
    cache.finish(lease, reply or [], now=now)
    cache.check_integrity()
    return lease.cached_tokens


def test_a_prompt_that_goes_on_from_an_earlier_one_is_served_all_of_it() -> None:
    cache = UnitCache()
    assert [send(cache, prompt) for prompt in (A + B, A + B + C, A + B + C)] == [0, 400, 600]


def test_a_common_opening_is_served_from_the_third_call_on() -> None:
    cache = UnitCache()
    assert [send(cache, prompt) for prompt in (A + B, A + C, A + D, A)] == [0, 0, 200, 200]


def test_a_unit_is_not_served_in_part() -> None:
    cache = UnitCache()
    send(cache, A + B)
    assert cache.peek((A + B)[:-1]) == 0
    assert cache.peek(A + B[:-1] + [7]) == 0


def test_the_reply_is_a_unit_up_to_its_last_token() -> None:
    cache = UnitCache()
    send(cache, A, reply=B)
    assert cache.peek(A + B + C) == 399
    assert cache.peek(A + C) == 200
    assert cache.peek(A + B[:100] + C) == 200


@pytest.mark.parametrize(("opening", "served"), [(63, 0), (64, 64), (65, 65)])
def test_shorter_units_are_not_credited(opening: int, served: int) -> None:
    cache = UnitCache(minimum_tokens=64)
    assert [send(cache, A[:opening] + rest) for rest in (B, C, D)] == [0, 0, served]


def test_a_unit_is_read_only_after_the_write_delay() -> None:
    cache = UnitCache(write_delay_s=6)
    assert [send(cache, A, now=now) for now in (0, 5.9, 6, 100)] == [0, 0, 200, 200]
    cache.reset()
    assert [send(cache, A + rest, now=now) for rest, now in ((B, 0), (C, 10), (D, 15.9), (B, 16))] == [0, 0, 0, 400]
    assert cache.peek([*A, 9], now=16) == 200


def test_calls_sent_at_once_all_miss_but_their_common_opening_is_found_out() -> None:
    cache = UnitCache()
    leases = [cache.begin(A + rest) for rest in (B, C)]
    assert [lease.cached_tokens for lease in leases] == [0, 0]
    for lease in leases:
        cache.publish(lease)
    assert cache.peek(A + D) == 200
    for lease in leases:
        cache.finish(lease)
    cache.check_integrity()


def test_an_unused_unit_expires_and_a_use_renews_it_and_those_within_it() -> None:
    cache = UnitCache(ttl_s=100)
    send(cache, A, now=0)
    assert send(cache, A + B, now=90) == 200
    assert cache.peek(A + B, now=190) == 400
    assert cache.peek(A, now=190) == 200
    assert cache.peek(A + B, now=191) == 0
    # What has expired is no common opening either.
    send(cache, A + C, now=191)
    assert cache.peek(A + D, now=191) == 0


def test_fixed_intervals_of_input_and_output() -> None:
    cache = UnitCache(minimum_tokens=0, interval_tokens=90)
    send(cache, A, reply=B)
    assert cache.stored_units == 6  # 90, 180, 200, 270, 360 and 399.
    served = [cache.peek((A + B)[:end] + D) for end in (89, 90, 199, 200, 269, 270, 398, 399)]
    assert served == [0, 90, 180, 200, 200, 270, 360, 399]


def test_an_aborted_request_leaves_only_what_was_published() -> None:
    cache = UnitCache()
    early = cache.begin(A)
    cache.abort(early)
    cache.publish(early)
    cache.finish(early, B)
    assert cache.stored_units == 0
    late = cache.begin(A)
    cache.publish(late)
    cache.abort(late)
    assert cache.peek(A + B) == 200
    cache.check_integrity()


def test_namespaces_never_match_and_reset_forgets_all() -> None:
    cache = UnitCache()
    assert [send(cache, A, namespace=user) for user in (None, "a", "b", "a")] == [0, 0, 0, 200]
    lease = cache.begin(A)
    cache.reset()
    cache.publish(lease)
    cache.finish(lease)
    assert cache.stored_units == 0
    assert cache.peek(A) == 0
    cache.check_integrity()


def test_dead_units_are_swept() -> None:
    cache = UnitCache(ttl_s=100)
    for number in range(1000):
        send(cache, [number, *A], now=10.0 * number)
    assert cache.stored_units < 200


def test_an_empty_prompt_is_served_nothing() -> None:
    cache = UnitCache(minimum_tokens=0)
    assert [send(cache, [], reply=[5, 6]), cache.peek([5, 7]), send(cache, [])] == [0, 1, 0]


@pytest.mark.parametrize("parameters", [{"write_delay_s": -1}, {"interval_tokens": 0}])
def test_parameters_that_cannot_be_are_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        UnitCache(**parameters)  # type: ignore[arg-type]
