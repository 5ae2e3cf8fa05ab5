from hitrate.caches.block_chain import BlockChainCache
from hitrate.caches.radix import RadixCache
from hitrate.caches.slots import SlotCache
from hitrate.sim.replay import TimedCall, expected_cached_tokens

OPENING = list(range(100))


def test_a_growing_session_finds_its_history():
    calls = [
        TimedCall(0.0, 1.0, 2.0, [*OPENING, 201], [301, 302]),
        TimedCall(2.0, 3.0, 4.0, [*OPENING, 201, 301, 302, 202], [303]),
        TimedCall(5.0, 6.0, 7.0, [*OPENING, 201, 301, 302, 202, 303, 203]),
    ]
    assert expected_cached_tokens(calls, BlockChainCache(block_size=1)) == [0, 102, 104]


def test_calls_that_race_do_not_see_each_other():
    raced = [TimedCall(0.0, 1.0, 2.0, [*OPENING, 1]), TimedCall(0.5, 1.5, 2.5, [*OPENING, 2])]
    after = [TimedCall(0.0, 1.0, 2.0, [*OPENING, 1]), TimedCall(1.0, 1.5, 2.5, [*OPENING, 2])]
    assert expected_cached_tokens(raced, RadixCache()) == [0, 0]
    assert expected_cached_tokens(after, RadixCache()) == [0, 100]


def test_a_call_without_a_token_counts_for_nothing():
    calls = [TimedCall(0.0, None, 1.0, OPENING), TimedCall(2.0, 3.0, 4.0, OPENING)]
    assert expected_cached_tokens(calls, RadixCache()) == [None, 0]


def test_namespaces_are_kept_apart():
    calls = [TimedCall(0.0, 1.0, 2.0, OPENING, namespace="a"), TimedCall(3.0, 4.0, 5.0, OPENING, namespace="b")]
    assert expected_cached_tokens(calls, RadixCache()) == [0, 0]


def test_a_call_that_cannot_be_admitted_waits_its_turn():
    cache = BlockChainCache(block_size=10, capacity_blocks=12)
    calls = [
        TimedCall(0.0, 1.0, 2.0, OPENING),
        TimedCall(0.5, 2.5, 3.0, [*OPENING[:50], *range(500, 550)]),
        TimedCall(0.6, 3.5, 4.0, OPENING[:95]),
    ]
    assert expected_cached_tokens(calls, cache)[0] == 0
    assert None not in expected_cached_tokens(calls, BlockChainCache(block_size=10, capacity_blocks=12))


def test_first_and_last_token_at_one_moment():
    calls = [TimedCall(0.0, 1.0, 1.0, OPENING), TimedCall(1.0, 2.0, 2.0, [*OPENING, 7])]
    assert expected_cached_tokens(calls, RadixCache()) == [0, 100]


def test_of_calls_sent_together_the_one_answered_first_came_first():
    one_slot = SlotCache(slots=1, host_cache_bytes=0)
    calls = [
        TimedCall(0.000, 5.0, 6.0, [*OPENING, 1, 2]),
        TimedCall(0.001, 1.0, 2.0, [*OPENING, 1]),
    ]
    assert expected_cached_tokens(calls, one_slot, simultaneous_s=0.005) == [101, 0]
    assert expected_cached_tokens(calls, SlotCache(slots=1, host_cache_bytes=0)) == [0, 100]


def test_no_call_is_taken_before_the_one_it_follows_has_ended():
    cache = SlotCache(slots=2, host_cache_bytes=0)
    mine, other = [*OPENING, 1], [*range(500, 600), 2]
    calls = [
        TimedCall(0.0, 1.0, 4.0010, mine),
        TimedCall(0.1, 1.1, 3.9, other),
        TimedCall(4.0000, 6.0, 7.0, [*other, 4]),
        TimedCall(4.0015, 5.0, 8.0, [*mine, 3]),
    ]
    assert expected_cached_tokens(calls, cache, simultaneous_s=0.005) == [0, 0, 101, 101]


def test_slots_that_were_used_tell_the_order_of_calls_sent_together():
    def calls(*slots):
        return [
            TimedCall(0.0, 1.0, 2.0, [*OPENING, 1], slot=1),
            TimedCall(3.000, 6.0, 7.0, [9, *range(700, 760)], slot=slots[0]),
            TimedCall(3.001, 5.0, 8.0, [9, *range(800, 860)], slot=slots[1]),
        ]

    # Slot 0 was never used and is taken first; the call behind it displaces the opening from slot 1.
    assert expected_cached_tokens(calls(0, 1), SlotCache(slots=2), simultaneous_s=0.005) == [0, 0, 0]
    later = TimedCall(9.0, 10.0, 11.0, [9, *range(700, 760), 5], slot=0)
    assert expected_cached_tokens([*calls(0, 1), later], SlotCache(slots=2, host_cache_bytes=0))[-1] == 61


def test_a_reply_seen_late_frees_its_slot_for_the_call_that_used_it():
    mine = [*OPENING, 1]
    calls = [
        TimedCall(0.0, 1.0, 5.002, mine, slot=1),
        TimedCall(5.0, 6.0, 7.0, [*mine, 2], slot=1),
    ]
    assert expected_cached_tokens(calls, SlotCache(slots=2, host_cache_bytes=0), simultaneous_s=0.005) == [0, 101]
    unknown = [call._replace(slot=None) for call in calls]
    assert expected_cached_tokens(unknown, SlotCache(slots=2, host_cache_bytes=0), simultaneous_s=0.005) == [0, 0]
