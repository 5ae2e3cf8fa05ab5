"""Exact breakpoints by literal numbers. A prompt is a list of messages of 1,100 tokens, named by letters."""

from __future__ import annotations

import pytest

from hitrate.caches.breakpoints import BreakpointLease, Mark
from hitrate.caches.exact import EXPLICIT, THIRTY_MINUTES_S, TWELVE_HOURS_S, ExactCache
from hitrate.errors import UsageError

SIZE = 1100


def tokens(letters: str) -> list[int]:
    return [ord(letter) for letter in letters for _ in range(SIZE)]


def begin(cache: ExactCache, letters: str, marked: str = "", now: float = 0.0, **request: object) -> BreakpointLease:
    """`marked` are letters of the messages that carry a breakpoint."""
    ends = range(SIZE, SIZE * len(letters) + 1, SIZE)
    marks = [Mark(letters.index(letter)) for letter in marked]
    place = {"boundaries": ends, "marks": marks, "now": now, **request}
    expected = cache.peek(tokens(letters), **place)  # type: ignore[arg-type]
    lease = cache.begin(tokens(letters), **place)  # type: ignore[arg-type]
    assert lease.cached_tokens == expected
    return lease


def send(cache: ExactCache, letters: str, marked: str = "", now: float = 0.0, **request: object) -> tuple[int, int]:
    """Messages' worth of tokens served and written."""
    lease = begin(cache, letters, marked, now, **request)
    cache.publish(lease, now=now)
    cache.finish(lease, [1, 2], now=now)
    cache.check_integrity()
    return lease.cached_tokens // SIZE, lease.written_tokens // SIZE


def test_the_guides_example_reads_the_earlier_message_and_writes_the_new_one() -> None:
    cache = ExactCache()
    first = cache.begin(range(12_000), boundaries=[10_000, 12_000])
    assert (first.cached_tokens, first.written_tokens) == (0, 12_000)
    cache.finish(first)
    second = cache.begin(range(15_000), boundaries=[10_000, 12_000, 15_000])
    assert (second.cached_tokens, second.written_tokens) == (12_000, 3_000)


def test_an_opening_that_is_no_breakpoint_is_never_reused() -> None:
    cache = ExactCache()
    # One-shot calls that differ in the question: each pays for a write that is never read.
    assert [send(cache, opening) for opening in ("sa", "sb", "sc")] == [(0, 2), (0, 2), (0, 2)]
    # Marked once, it is found by all that look there, marked or not: a message ends there.
    assert [send(cache, "sd", "s"), send(cache, "se", "s"), send(cache, "sf")] == [(0, 2), (1, 1), (1, 1)]


def test_a_breakpoint_matches_exactly_and_not_a_shorter_prefix() -> None:
    cache = ExactCache()
    cache.finish(cache.begin(range(5000), boundaries=[5000]))
    assert cache.peek(range(5000), boundaries=[5000]) == 5000
    assert cache.peek(range(6000), boundaries=[4999, 6000]) == 0
    assert cache.peek(range(6000), boundaries=[5000, 6000]) == 5000


def test_explicit_mode_without_a_mark_uses_no_cache() -> None:
    cache = ExactCache()
    send(cache, "ab", "a")
    assert send(cache, "ab", mode=EXPLICIT) == (0, 0)
    assert send(cache, "abc", mode=EXPLICIT) == (0, 0)
    assert cache.entry_positions == [SIZE, 2 * SIZE]


def test_explicit_mode_reads_and_writes_only_at_marks() -> None:
    cache = ExactCache()
    assert send(cache, "abc", "b", mode=EXPLICIT) == (0, 2)
    assert send(cache, "abd", "b", mode=EXPLICIT) == (2, 0)
    assert send(cache, "abde", "d", mode=EXPLICIT) == (0, 3)  # It does not look at b.
    assert send(cache, "abde", "bd", mode=EXPLICIT) == (3, 0)
    assert cache.entry_positions == [2 * SIZE, 3 * SIZE]


def test_an_implicit_prefix_is_not_reused_by_explicit_mode_unless_marked() -> None:
    cache = ExactCache()
    send(cache, "ab")
    assert send(cache, "abc", "c", mode=EXPLICIT) == (0, 3)
    assert send(cache, "abd", "b", mode=EXPLICIT) == (2, 0)


@pytest.mark.parametrize(
    ("mode", "marked", "written"),
    [
        ("implicit", "", "g"),
        ("implicit", "ab", "abg"),
        ("implicit", "abcde", "cdeg"),
        ("implicit", "fg", "fg"),
        ("explicit", "ab", "ab"),
        ("explicit", "abcdef", "cdef"),
    ],
)
def test_at_most_four_writes_the_latest_marks_first(mode: str, marked: str, written: str) -> None:
    cache = ExactCache()
    send(cache, "abcdefg", marked, mode=mode)
    assert cache.entry_positions == [SIZE * (1 + "abcdefg".index(letter)) for letter in written]


@pytest.mark.parametrize(("blocks_behind", "served"), [(78, 1200), (79, 1200), (80, 0)])
def test_the_latest_80_breakpoints_are_considered(blocks_behind: int, served: int) -> None:
    cache = ExactCache()
    cache.finish(cache.begin(range(1200), marks=[Mark(0)], mode=EXPLICIT))
    ends = range(1200, 1201 + blocks_behind)
    marks = [Mark(index) for index in range(len(ends))]
    assert cache.peek(range(ends[-1]), boundaries=ends, marks=marks, mode=EXPLICIT) == served


@pytest.mark.parametrize(
    ("earlier_messages", "messages_behind", "served"), [(20, 20, 1200), (20, 21, 0), (None, 79, 1200), (None, 80, 0)]
)
def test_of_earlier_messages_20_are_considered(earlier_messages: int | None, messages_behind: int, served: int) -> None:
    cache = ExactCache(earlier_messages=earlier_messages)
    cache.finish(cache.begin(range(1200)))
    ends = range(1200, 1201 + messages_behind)
    assert cache.peek(range(ends[-1]), boundaries=ends) == served
    # A mark there is looked at, however many messages follow (up to 80 breakpoints in all).
    assert cache.peek(range(ends[-1]), boundaries=ends, marks=[Mark(0)]) == (1200 if messages_behind < 80 else 0)


def test_only_messages_that_may_be_used_are_breakpoints() -> None:
    cache = ExactCache()
    ends = [1100, 2200, 3300]
    # The last block is an assistant message: the implicit breakpoint lies before it.
    lease = cache.begin(range(3300), boundaries=ends, messages=[0, 1])
    cache.finish(lease)
    assert (cache.entry_positions, lease.written_tokens) == ([2200], 2200)
    assert cache.peek(range(4000), boundaries=[*ends, 4000], messages=[0, 3]) == 0
    assert cache.peek(range(4000), boundaries=[*ends, 4000], messages=[0, 1, 3]) == 2200
    nothing = cache.begin(range(3300), boundaries=ends, messages=[])
    assert (nothing.cached_tokens, nothing.written_tokens) == (0, 0)


@pytest.mark.parametrize(("prompt_tokens", "written"), [(1023, 0), (1024, 1024), (1025, 1025)])
def test_below_the_minimum_nothing_is_written(prompt_tokens: int, written: int) -> None:
    cache = ExactCache()
    lease = cache.begin(range(prompt_tokens))
    cache.finish(lease)
    assert lease.written_tokens == written
    assert cache.peek(range(prompt_tokens)) == written


def test_the_least_lifetime_starts_anew_with_every_reuse() -> None:
    cache = ExactCache()
    assert [send(cache, "ab", now=60.0 * minute)[0] for minute in (0, 30, 60, 91)] == [0, 2, 2, 0]
    send(cache, "xy", now=0.0, ttl_s=TWELVE_HOURS_S)
    assert [send(cache, "xy", now=3600.0 * hour)[0] for hour in (11, 23, 36)] == [2, 2, 0]


def test_written_tokens_are_counted_by_lifetime() -> None:
    cache = ExactCache()
    ask = {"boundaries": [2000, 3000], "marks": [Mark(0, TWELVE_HOURS_S)]}
    lease = cache.begin(range(3000), **ask)  # type: ignore[arg-type]
    assert lease.written_by_ttl == {TWELVE_HOURS_S: 2000, THIRTY_MINUTES_S: 1000}


def test_calls_sent_at_once_all_miss_and_all_write() -> None:
    cache = ExactCache()
    leases = [begin(cache, "ab") for _ in range(2)]
    assert [lease.written_tokens for lease in leases] == [2 * SIZE] * 2
    cache.publish(leases[1])
    assert cache.peek(tokens("ab")) == 2 * SIZE


@pytest.mark.parametrize(
    ("request_fields", "error", "says"),
    [
        ({"mode": "auto"}, UsageError, "a prompt cache mode 'auto'; known: implicit, explicit"),
        ({"ttl_s": 300.0}, UsageError, "a cache lifetime of 300 s; this rule has 1800 s, 43200 s"),
        ({"marks": [Mark(0, 60.0)]}, UsageError, "a cache lifetime of 60 s"),
        ({"messages": [0, 5]}, ValueError, "messages have to ascend from 0 to below 1"),
        ({"messages": [0, 0]}, ValueError, "messages have to ascend"),
    ],
)
def test_requests_that_cannot_be_are_refused(
    request_fields: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        ExactCache().begin(range(2000), **request_fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "parameters", [{"latest_breakpoints": 0}, {"most_writes": 0}, {"earlier_messages": -1}, {"ttls_s": ()}]
)
def test_parameters_that_cannot_be_are_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        ExactCache(**parameters)  # type: ignore[arg-type]
