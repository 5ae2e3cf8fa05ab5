import asyncio

from hitrate.live.turns import Turns


def test_one_caller_a_round_hears_of_its_reply_in_the_order_they_ended(run):
    async def main():
        loop = asyncio.get_running_loop()
        turns, heard, round_number = Turns(), [], 0
        callers = [loop.create_future() for _ in range(4)]

        def next_round():
            nonlocal round_number
            round_number += 1
            if not all(caller.done() for caller in callers):
                loop.call_soon(next_round)

        def hear(caller):
            if not caller.cancelled():
                heard.append((round_number, caller.result()))

        for number, caller in enumerate(callers):
            caller.add_done_callback(hear)
            turns.hand_over(caller, number)
        callers[1].cancel()
        next_round()
        await asyncio.wait(callers)
        await asyncio.sleep(0)
        return heard

    heard = run(main())
    assert [result for _, result in heard] == [0, 2, 3]
    rounds = [number for number, _ in heard]
    assert len(set(rounds)) == 3


def test_turns_start_anew_when_all_had_theirs(run):
    async def main():
        turns, results = Turns(), []
        for result in "ab":
            caller = asyncio.get_running_loop().create_future()
            turns.hand_over(caller, result)
            results.append(await caller)
        return results

    assert run(main()) == ["a", "b"]
