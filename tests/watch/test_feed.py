"""The feed: nothing is read before somebody looks, faults are said and got over, and it stops when nobody looks."""

import asyncio

from recordings import Recorded, feed_of, read_to_the_end
from traffic import Agent

from hitrate.errors import HitrateError


def growing(turns):
    agent = Agent("one")
    return [agent.turn(10.0 * number) for number in range(turns)]


def test_nothing_is_read_before_somebody_looks():
    recorded = Recorded(growing(2))
    feed = feed_of(recorded)
    assert recorded.asked == 0
    feed.close()
    assert recorded.asked == 0


def test_who_watches_is_told_of_what_was_there_and_of_what_comes():
    async def watch():
        calls = growing(3)
        recorded = Recorded(calls[:2])
        feed = feed_of(recorded)
        seen = []
        with feed.watching() as changed:
            while (update := feed.update()).sums.calls < 3:
                if update.sums.calls == 2:
                    recorded.calls = calls
                changed.clear()
                await asyncio.wait_for(changed.wait(), 20)
                seen.append(feed.update().sums.calls)
        await asyncio.to_thread(feed.close)
        return seen

    seen = asyncio.run(watch())
    assert seen[-1] == 3 and 2 in seen


def test_it_is_idle_when_nobody_has_looked_for_a_while_and_goes_on_where_it_was():
    now = [0.0]
    recorded = Recorded(growing(2))
    feed = feed_of(recorded, clock=lambda: now[0], looked_at_for_s=60.0)
    assert not feed.idle
    now[0] = 61.0
    assert feed.idle
    read_to_the_end(feed)
    recorded.calls = growing(3)
    asyncio.run(looked_at_until(feed, calls=3))
    assert not feed.idle
    feed.close()
    assert feed.update().sums.calls == 3


async def looked_at_until(feed, *, calls):
    with feed.watching() as changed:
        while feed.update().sums.calls < calls:
            await asyncio.wait_for(changed.wait(), 60)
            changed.clear()


def test_a_watcher_keeps_it_awake_however_long():
    now = [0.0]

    async def watch():
        feed = feed_of([], clock=lambda: now[0])
        with feed.watching():
            now[0] = 1e6
            awake = not feed.idle
        now[0] = 2e6
        found = awake, feed.idle
        await asyncio.to_thread(feed.close)
        return found

    assert asyncio.run(watch()) == (True, True)


class Failing(Recorded):
    fails = True

    def calls_after(self, position):
        if self.fails:
            raise HitrateError("runs are not stored, /x: disk I/O error")
        return super().calls_after(position)


def test_a_store_that_cannot_be_read_is_said_and_tried_again():
    recorded = Failing(growing(2))
    feed = feed_of(recorded)
    pause = feed.step()
    assert pause > 0
    assert feed.update().progress.fault == "runs are not stored, /x: disk I/O error"
    recorded.fails = False
    read_to_the_end(feed)
    update = feed.update()
    assert (update.progress.fault, update.progress.behind, update.sums.calls) == (None, False, 2)


def test_a_call_that_cannot_be_explained_is_shown_with_its_numbers(monkeypatch):
    from hitrate.watch.explained import LiveExplainer

    add = LiveExplainer.add

    def fails_once(self, position, call, **options):
        if position == 2:
            raise RuntimeError("a fault of ours")
        return add(self, position, call, **options)

    monkeypatch.setattr(LiveExplainer, "add", fails_once)
    update = read_to_the_end(feed_of(growing(4))).update()
    assert update.progress.fault == "call 1 could not be explained: RuntimeError: a fault of ours"
    assert (update.sums.calls, update.sums.hit_rate is not None) == (4, True)
    assert [one.turn for one in update.sessions[0].turns] == [1, 2, 3, 4]


def test_a_body_that_cannot_be_read_is_left_out_of_what_is_explained():
    agent = Agent("one")
    calls = [agent.turn(0.0), agent.turn(10.0).__class__(target="t", dialect="", body=b"\xff", session="one")]
    update = read_to_the_end(feed_of([*calls, agent.turn(20.0)])).update()
    assert (update.progress.fault, update.sums.calls) == (None, 3)


def test_catching_up_shows_what_was_read_so_far():
    feed = feed_of(growing(70))
    assert feed.step() == 0.0
    update = feed.update()
    assert (update.progress.behind, update.sums.calls) == (True, 64)
    read_to_the_end(feed)
    update = feed.update()
    assert (update.progress.behind, update.sums.calls) == (False, 70)
    assert [one.state for one in update.sessions[0].turns] == ["cold", *["hit"] * 69]
