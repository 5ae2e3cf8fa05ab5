import asyncio
from itertools import groupby

import pytest

from hitrate.live.turns import BYTES_A_ROUND, Turns

HALF, MORE = BYTES_A_ROUND // 2, BYTES_A_ROUND + 1


async def rounds_of(lengths: list[int], cancelled: tuple[int, ...]) -> list[list[int]]:
    """Which replies, by their place, were handed over in each round of the loop that handed over any."""
    loop = asyncio.get_running_loop()
    turns, heard, round_number = Turns(), [], 0
    callers = [loop.create_future() for _ in lengths]

    def next_round():
        nonlocal round_number
        round_number += 1
        if not all(caller.done() for caller in callers):
            loop.call_soon(next_round)

    for caller, length in zip(callers, lengths, strict=True):
        place = len(heard)
        heard.append(None)
        caller.add_done_callback(lambda caller, place=place: heard.__setitem__(place, round_number))
        turns.hand_over(caller, place, length)
    for place in cancelled:
        callers[place].cancel()
    next_round()
    await asyncio.wait(callers)
    await asyncio.sleep(0)
    places = [place for place in range(len(lengths)) if place not in cancelled]
    assert [callers[place].result() for place in places] == places
    return [list(group) for _, group in groupby(places, key=heard.__getitem__)]


@pytest.mark.parametrize(
    ("lengths", "cancelled", "rounds"),
    [
        pytest.param([1], (), [[0]], id="one"),
        pytest.param([HALF, HALF, HALF, 1, 1], (), [[0, 1], [2, 3, 4]], id="as many as fit"),
        pytest.param([1, BYTES_A_ROUND, 1], (), [[0], [1], [2]], id="in the order they ended"),
        pytest.param([MORE, MORE, 1], (), [[0], [1], [2]], id="a long one alone"),
        pytest.param([HALF, MORE, HALF, HALF], (1, 2), [[0, 3]], id="nobody waits for one that was cancelled"),
        pytest.param([0, 0], (), [[0, 1]], id="replies that did not come"),
    ],
)
def test_replies_that_end_together_are_handed_over_a_few_a_round(run, lengths, cancelled, rounds):
    assert run(rounds_of(lengths, cancelled)) == rounds


def test_turns_start_anew_when_all_had_theirs(run):
    async def main():
        turns, results = Turns(), []
        for result in "ab":
            caller = asyncio.get_running_loop().create_future()
            turns.hand_over(caller, result, 1)
            results.append(await caller)
        return results

    assert run(main()) == ["a", "b"]
