import asyncio

from hitrate.live.pace import Pace


def waits(requests_per_minute, times):
    """What each of the turns asked for at these times waits."""
    waited, clock = [], iter(times)

    async def sleep(seconds):
        waited.append(seconds)

    async def take():
        pace = Pace(requests_per_minute, lambda: next(clock), sleep)
        for _ in times:
            await pace.turn()

    asyncio.run(take())
    return waited


def test_calls_at_once_leave_a_gap_apart_in_the_order_they_asked():
    assert waits(30, [100.0, 100.0, 100.0]) == [2.0, 4.0]


def test_a_call_that_comes_late_waits_for_nothing():
    assert waits(30, [100.0, 103.0, 104.0]) == [1.0]


def test_without_a_rate_nothing_waits():
    assert waits(None, [100.0, 100.0]) == []
