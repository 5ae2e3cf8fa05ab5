"""Marked breakpoints by literal numbers: what is served and what is billed as written, call by call.

A prompt is written as the sizes of its blocks and the numbers (from 1) of the marked ones.
"""

from __future__ import annotations

import pytest

from hitrate.caches.breakpoints import BreakpointLease, Mark
from hitrate.caches.marked import FIVE_MINUTES_S, ONE_HOUR_S, MarkedCache
from hitrate.errors import UsageError

BLOCK = 100


def prompt(blocks: int, changed: int | None = None) -> list[int]:
    """`blocks` blocks of 100 tokens, all like those of every other prompt but block number `changed`."""
    return [-7 if 1 + index // BLOCK == changed else index for index in range(blocks * BLOCK)]


def begin(
    cache: MarkedCache, tokens: list[int], marks: list[int] | dict[int, float], now: float = 0.0, **request: object
) -> BreakpointLease:
    ttls = marks if isinstance(marks, dict) else dict.fromkeys(marks)
    ends = range(BLOCK, len(tokens) + 1, BLOCK)
    asked = [Mark(number - 1, ttl_s) for number, ttl_s in ttls.items()]
    expected = cache.peek(tokens, now=now, boundaries=ends, marks=asked, **request)  # type: ignore[arg-type]
    lease = cache.begin(tokens, now=now, boundaries=ends, marks=asked, **request)  # type: ignore[arg-type]
    assert lease.cached_tokens == expected
    return lease


def send(
    cache: MarkedCache,
    blocks: int,
    marks: list[int] | dict[int, float],
    now: float = 0.0,
    changed: int | None = None,
    **request: object,
) -> tuple[int, int]:
    """Tokens served and tokens written."""
    lease = begin(cache, prompt(blocks, changed), marks, now, **request)
    cache.publish(lease, now=now)
    cache.finish(lease, [1, 2, 3], now=now)
    cache.check_integrity()
    return lease.cached_tokens, lease.written_tokens


def test_anthropics_example_of_a_growing_conversation() -> None:
    cache = MarkedCache(minimum_tokens=0)
    assert send(cache, 10, [10]) == (0, 1000)
    assert send(cache, 15, [15]) == (1000, 500)
    # Block 35 looks at 35 to 16; the entry at 15 is one block too far.
    assert send(cache, 35, [35]) == (0, 3500)
    cache.reset()
    send(cache, 10, [10])
    send(cache, 15, [15])
    assert send(cache, 35, [15, 35]) == (1500, 2000)


@pytest.mark.parametrize(("added", "served"), [(0, 1000), (1, 1000), (18, 1000), (19, 1000), (20, 0), (21, 0)])
def test_a_mark_finds_an_entry_up_to_19_blocks_before_its_own(added: int, served: int) -> None:
    cache = MarkedCache(minimum_tokens=0)
    send(cache, 10, [10])
    assert send(cache, 10 + added, [10 + added])[0] == served


def test_an_entry_is_written_only_where_a_block_is_marked() -> None:
    cache = MarkedCache(minimum_tokens=0)
    # The last block changes with every call, and only it is marked: a write each time, never a read.
    assert [send(cache, 6, [6], changed=6 if turn % 2 else None) for turn in range(2)] == [(0, 600), (0, 600)]
    assert cache.entry_positions == [600, 600]
    # Marked where the text is stable, it is read.
    assert [send(cache, 6, [5], changed=6 if turn % 2 else None) for turn in range(3)] == [(0, 500), (500, 0), (500, 0)]


def test_without_a_mark_nothing_is_written_or_read() -> None:
    cache = MarkedCache(minimum_tokens=0)
    send(cache, 10, [10])
    assert send(cache, 10, []) == (0, 0)
    assert cache.peek(prompt(10)) == 0
    assert cache.entry_positions == [1000]


def test_only_the_system_block_is_marked_so_reads_stay_constant() -> None:
    cache = MarkedCache(minimum_tokens=1024)
    assert [send(cache, blocks, [15]) for blocks in (16, 20, 24)] == [(0, 1500), (1500, 0), (1500, 0)]


@pytest.mark.parametrize(("blocks", "written"), [(10, 0), (11, 1100), (12, 1200)])
def test_below_the_minimum_a_mark_is_ignored_without_an_error(blocks: int, written: int) -> None:
    cache = MarkedCache(minimum_tokens=1024)
    assert [send(cache, blocks, [blocks]) for _ in range(2)] == [(0, written), (written, 0)]


def test_the_minimum_counts_the_whole_prefix_of_each_mark() -> None:
    cache = MarkedCache(minimum_tokens=1024)
    assert send(cache, 12, [3, 12]) == (0, 1200)
    assert cache.entry_positions == [1200]


def test_an_entry_expires_and_a_read_starts_its_time_anew() -> None:
    cache = MarkedCache(minimum_tokens=0)
    moments = [0, 70, 370, 671, 700]  # The gaps are 70, 300, 301 and 29 s.
    assert [send(cache, 10, [10], now=now)[0] for now in moments] == [0, 1000, 1000, 0, 1000]


def test_a_read_renews_an_entry_that_the_request_does_not_mark() -> None:
    cache = MarkedCache(minimum_tokens=0)
    send(cache, 10, [10], now=0)
    assert send(cache, 12, [12], now=200) == (1000, 200)
    assert send(cache, 12, [12], now=450, changed=12) == (1000, 200)
    assert send(cache, 12, [12], now=751, changed=11) == (0, 1200)


def test_the_time_counts_from_the_start_of_the_request_not_from_its_reply() -> None:
    cache = MarkedCache(minimum_tokens=0)
    lease = begin(cache, prompt(10), [10], now=0)
    cache.publish(lease, now=20)
    cache.finish(lease, [1], now=240)  # Four minutes of streaming leave one.
    ask = {"boundaries": [1000], "marks": [Mark(0)]}
    assert cache.peek(prompt(10), now=300, **ask) == 1000  # type: ignore[arg-type]
    assert cache.peek(prompt(10), now=301, **ask) == 0  # type: ignore[arg-type]


def test_an_hour_outlives_five_minutes() -> None:
    cache = MarkedCache(minimum_tokens=0)
    marks = {5: ONE_HOUR_S, 10: FIVE_MINUTES_S}
    lease = begin(cache, prompt(10), marks)
    cache.finish(lease)
    assert lease.written_by_ttl == {ONE_HOUR_S: 500, FIVE_MINUTES_S: 500}
    assert [send(cache, 10, marks, now=now) for now in (400, 4000, 7601)] == [(500, 500), (500, 500), (0, 1000)]


@pytest.mark.parametrize(
    ("stored", "marks", "served", "written"),
    [
        # Anthropic bills reads up to the highest hit A, 1 h writes from A to the last 1 h mark B, 5 min ones from B on.
        ({4: ONE_HOUR_S}, {4: ONE_HOUR_S, 8: ONE_HOUR_S, 10: FIVE_MINUTES_S}, 400, {3600.0: 400, 300.0: 200}),
        ({10: FIVE_MINUTES_S}, {8: ONE_HOUR_S, 10: FIVE_MINUTES_S}, 1000, {}),
        ({}, {2: ONE_HOUR_S, 6: ONE_HOUR_S, 7: FIVE_MINUTES_S, 9: FIVE_MINUTES_S}, 0, {3600.0: 600, 300.0: 300}),
    ],
)
def test_mixed_lifetimes_are_billed_from_mark_to_mark(
    stored: dict[int, float], marks: dict[int, float], served: int, written: dict[float, int]
) -> None:
    cache = MarkedCache(minimum_tokens=0)
    send(cache, 10, stored)
    lease = begin(cache, prompt(12), marks)
    assert (lease.cached_tokens, lease.written_by_ttl) == (served, written)


def test_a_second_mark_is_renewed_though_a_longer_one_is_served() -> None:
    cache = MarkedCache(minimum_tokens=0)
    send(cache, 10, [2, 10], now=0)
    send(cache, 10, [2, 10], now=200)
    # Another session shares the first two blocks only.
    assert send(cache, 10, [2, 10], now=450, changed=3) == (200, 800)


def test_a_search_ends_with_its_first_find_and_renews_nothing_behind_it() -> None:
    cache = MarkedCache(minimum_tokens=0)
    send(cache, 10, [2, 10], now=0)
    assert send(cache, 10, [10], now=200) == (1000, 0)
    assert send(cache, 10, [10], now=450, changed=3) == (0, 1000)


def test_a_slow_reply_does_not_set_an_entrys_time_back() -> None:
    cache = MarkedCache(minimum_tokens=0)
    send(cache, 10, [10], now=0)
    slow = begin(cache, prompt(10), [10], now=100)
    quick = begin(cache, prompt(10), [10], now=200)
    cache.publish(quick, now=201)
    cache.publish(slow, now=250)
    assert begin(cache, prompt(10), [10], now=500).cached_tokens == 1000


def test_calls_sent_at_once_all_miss_and_all_write() -> None:
    cache = MarkedCache(minimum_tokens=0)
    leases = [begin(cache, prompt(10), [10]) for _ in range(3)]
    assert [(lease.cached_tokens, lease.written_tokens) for lease in leases] == [(0, 1000)] * 3
    cache.publish(leases[0], now=2)
    assert begin(cache, prompt(10), [10], now=2).cached_tokens == 1000
    for lease in leases:
        cache.finish(lease, now=3)
    cache.check_integrity()
    assert cache.entry_positions == [1000]


def test_an_aborted_request_leaves_an_entry_only_once_its_reply_had_begun() -> None:
    cache = MarkedCache(minimum_tokens=0)
    early = begin(cache, prompt(10), [10])
    cache.abort(early)
    cache.publish(early)
    assert cache.entry_positions == []
    late = begin(cache, prompt(10), [10])
    cache.publish(late)
    cache.abort(late)
    assert cache.entry_positions == [1000]
    cache.check_integrity()


def test_dashscope_writes_at_the_end_of_the_reply_and_counts_from_there() -> None:
    cache = MarkedCache(1024, ttls_s=(300.0,), readable_at_end=True, refuses_more_marks=False)
    lease = begin(cache, prompt(12), [12], now=0)
    cache.publish(lease, now=1)
    assert begin(cache, prompt(12), [12], now=100).cached_tokens == 0
    cache.finish(lease, now=400)
    assert [send(cache, 12, [12], now=now)[0] for now in (400, 700, 1001)] == [1200, 1200, 0]


def test_dashscope_takes_the_last_four_of_more_marks() -> None:
    cache = MarkedCache(0, ttls_s=(300.0,), refuses_more_marks=False)
    send(cache, 6, [1, 2, 3, 4, 5, 6])
    assert cache.entry_positions == [300, 400, 500, 600]


@pytest.mark.parametrize(("changed", "served"), [(None, 3000), (25, 2400), (12, 1100), (11, 0), (5, 0)])
def test_minimaxs_example_of_one_mark_on_block_30(changed: int | None, served: int) -> None:
    cache = MarkedCache(512, ttls_s=(300.0,), writes_every_block=True)
    assert send(cache, 30, [30]) == (0, 3000)
    assert send(cache, 30, [30], changed=changed) == (served, 3000 - served)


def test_namespaces_never_match() -> None:
    cache = MarkedCache(minimum_tokens=0)
    served = [send(cache, 3, [3], namespace=model)[0] for model in (None, "None", "opus", ("opus",), "opus")]
    assert served == [0, 0, 0, 0, 300]


def test_how_the_text_is_cut_into_blocks_is_no_part_of_the_key() -> None:
    cache = MarkedCache(minimum_tokens=0)
    cache.finish(cache.begin(prompt(4), boundaries=[200, 400], marks=[Mark(1)]))
    assert cache.peek(prompt(4), boundaries=[100, 250, 400], marks=[Mark(2)]) == 400
    assert cache.peek(prompt(4), marks=[Mark(0)]) == 400
    # But a place that is no block's end is not looked at.
    assert cache.peek(prompt(5), boundaries=[300, 500], marks=[Mark(1)]) == 0


def test_reset_forgets_all_and_ends_requests_in_flight_without_effect() -> None:
    cache = MarkedCache(minimum_tokens=0)
    send(cache, 3, [3])
    lease = begin(cache, prompt(4), [4])
    cache.reset()
    cache.publish(lease)
    cache.finish(lease)
    assert cache.entry_positions == []
    cache.check_integrity()


def test_dead_entries_are_swept() -> None:
    cache = MarkedCache(minimum_tokens=0)
    for number in range(1000):
        cache.finish(cache.begin([number], now=10.0 * number, marks=[Mark(0)]), now=10.0 * number)
        cache.check_integrity()
    assert len(cache.entry_positions) < 200  # 31 are alive at a time.


@pytest.mark.parametrize(
    ("marks", "says"),
    [
        ([1, 2, 3, 4, 5], "at most 4 blocks may be marked for caching, found 5"),
        ({1: FIVE_MINUTES_S, 2: ONE_HOUR_S}, "a marker with a longer lifetime may not come after one with a shorter"),
        ({1: 60.0}, "a cache lifetime of 60 s; this rule has 300 s, 3600 s"),
    ],
)
def test_what_the_api_answers_with_400_is_refused(marks: list[int] | dict[int, float], says: str) -> None:
    cache = MarkedCache(minimum_tokens=0)
    with pytest.raises(UsageError, match=says):
        send(cache, 6, marks)
    cache.check_integrity()
    assert send(cache, 6, [6]) == (0, 600)


def test_a_marker_for_the_whole_request_may_repeat_the_one_on_the_last_block() -> None:
    cache = MarkedCache(minimum_tokens=0)
    lease = cache.begin(prompt(2), boundaries=[100, 200], marks=[Mark(1), Mark(1)])
    assert lease.written_by_ttl == {300.0: 200}
    with pytest.raises(UsageError, match="two markers of different lifetimes on block 2"):
        cache.begin(prompt(2), boundaries=[100, 200], marks=[Mark(1), Mark(1, ONE_HOUR_S)])


@pytest.mark.parametrize(
    ("boundaries", "marks", "says"),
    [
        ([100, 100], [], "boundaries have to ascend from above 0 to at most 200"),
        ([0, 100], [], "boundaries have to ascend"),
        ([100, 201], [], "boundaries have to ascend"),
        ([100, 200], [Mark(2)], "a mark at boundary 2, the prompt has 2"),
        ([100, 200], [Mark(-1)], "a mark at boundary -1"),
    ],
)
def test_places_outside_the_prompt_are_a_programming_error(boundaries: list[int], marks: list[Mark], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        MarkedCache().peek(prompt(2), boundaries=boundaries, marks=marks)


@pytest.mark.parametrize(("parameters", "says"), [({"look_back": 0}, "look_back is 0"), ({"ttls_s": ()}, "ttls_s")])
def test_parameters_that_cannot_be_are_refused(parameters: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        MarkedCache(**parameters)  # type: ignore[arg-type]


def test_an_empty_prompt_is_served_nothing() -> None:
    cache = MarkedCache(minimum_tokens=0)
    lease = cache.begin([])
    cache.finish(lease)
    assert (lease.cached_tokens, lease.written_tokens) == (0, 0)
