"""What the live page is told: states, breaks that grow and are taken back, changes since a revision, its bounds."""

import pytest
from recordings import Recorded, feed_of, read_to_the_end
from traffic import SYSTEM, Agent, clock

from hitrate.core.model import Call, Timing, Usage
from hitrate.watch import board, session
from hitrate.watch.board import Board
from hitrate.watch.explained import Added


def broken_agent():
    agent = Agent("agent-1")
    return [
        agent.turn(0.0),
        agent.turn(10.0),
        agent.turn(20.0, reported=False),
        agent.turn(30.0, status=529),
        agent.turn(40.0, system=clock(40)),
        agent.turn(50.0, system=clock(50)),
        agent.turn(60.0, system=clock(60)),
        agent.turn(70.0, system=clock(60)),
    ]


def test_one_word_a_turn():
    update = read_to_the_end(feed_of(broken_agent())).update()
    (only,) = update.sessions
    assert [(one.turn, one.state, one.causes) for one in only.turns] == [
        (1, "cold", ()),
        (2, "hit", ()),
        (3, "not reported", ()),
        (4, "failed", ()),
        (5, "miss", ("clock-in-prefix",)),
        (6, "miss", ("clock-in-prefix",)),
        (7, "miss", ("clock-in-prefix",)),
        (8, "hit", ()),
    ]
    assert (only.head.name, only.head.named, only.head.breaks) == ("agent-1", True, 1)


def test_the_parts_of_a_turn_add_up_and_unknown_is_not_zero():
    update = read_to_the_end(feed_of(broken_agent())).update()
    turns = {one.turn: one for one in update.sessions[0].turns}
    assert turns[2].lost_tokens == 0 and turns[2].prompt_tokens - turns[2].cached_tokens - turns[2].new_tokens < 16
    assert turns[6].cached_tokens == 0 and turns[6].lost_tokens > 600 and turns[6].lost_usd > 0.001
    assert turns[3].cached_tokens is None and turns[3].hit_rate is None
    assert (turns[4].prompt_tokens, turns[4].cached_tokens, turns[4].usd) == (None, None, None)
    assert turns[2].lost_usd is None


def test_repeats_of_a_cause_at_one_place_are_one_break():
    update = read_to_the_end(feed_of(broken_agent())).update()
    (one,) = update.breaks
    assert (one.finding.cause, one.session_name, one.voice) == ("clock-in-prefix", "agent-1", "you can change this")
    assert (one.finding.call, one.finding.calls, one.finding.occurrences) == (4, (4, 5, 6), 3)
    assert (one.turn, one.turns, one.place, one.front) == (7, (5, 6, 7), "/system, character 18", "The time is 09:00:")
    assert (one.was[:2], one.now[:2]) == ("40", "50")
    assert one.finding.lost_tokens == sum(turn.lost_tokens for turn in update.sessions[0].turns[4:7])
    assert one.finding.lost_usd == pytest.approx(sum(turn.lost_usd for turn in update.sessions[0].turns[4:7]))


def test_only_what_changed_is_told_again():
    recorded = Recorded(broken_agent()[:6])
    feed = read_to_the_end(feed_of(recorded))
    known = feed.update()
    assert (known.whole, len(known.sessions[0].turns), len(known.first_tokens)) == (True, 6, 5)
    recorded.calls = broken_agent()[:7]
    read_to_the_end(feed)
    news = feed.update(known.revision)
    assert (news.whole, news.since) == (False, known.revision)
    assert 7 in [one.turn for one in news.sessions[0].turns]
    assert 1 not in [one.turn for one in news.sessions[0].turns]
    assert [one.call for one in news.first_tokens] == [6]
    assert [one.finding.cause for one in news.breaks] == ["clock-in-prefix"]
    assert news.sums.calls == 7
    again = feed.update(news.revision)
    assert (again.sessions, again.breaks, again.first_tokens) == ((), (), ())
    assert (again.shown_sessions, again.shown_breaks) == ((1,), (1,))


@pytest.mark.parametrize("since", [None, -1, 10**9])
def test_a_page_that_knows_nothing_of_this_feed_is_told_all(since):
    update = read_to_the_end(feed_of(broken_agent())).update(since)
    assert update.whole and len(update.sessions[0].turns) == 8


def test_a_break_that_turns_out_to_be_none_is_taken_back():
    """A conversation that begins with the same question under other instructions looks like a break, until the first
    one goes on without it: then it was another agent."""
    first, other = Agent(), Agent()
    brief = SYSTEM + "Be brief."
    recorded = Recorded([first.turn(0.0), other.turn(5.0, system=brief)])
    feed = read_to_the_end(feed_of(recorded))
    known = feed.update()
    assert [one.finding.cause for one in known.breaks] == ["system-text-changed"]
    assert known.lost_tokens > 0
    further = "Now the second file, and its tests. " * 30
    recorded.calls += [first.turn(10.0, further), other.turn(15.0, further, system=brief)]
    read_to_the_end(feed)
    news = feed.update(known.revision)
    assert (known.shown_breaks, news.shown_breaks, news.breaks) == ((1,), (), ())
    assert (news.lost_tokens, news.lost_usd) == (0, 0.0)


def many_sessions(how_many):
    return [Agent(f"session-{number}").turn(float(number), f"task {number}") for number in range(how_many)]


def test_sessions_are_bounded_and_an_old_one_keeps_its_number_and_sums():
    calls = many_sessions(board.MOST_SESSIONS + 10)
    agent = Agent("session-0")
    recorded = Recorded([agent.turn(0.0, "task 0"), *calls[1:], agent.turn(1000.0)])
    update = read_to_the_end(feed_of(recorded)).update()
    assert (len(update.sessions), update.sessions_seen, update.sums.calls) == (
        board.MOST_SESSIONS,
        board.MOST_SESSIONS + 10,
        board.MOST_SESSIONS + 11,
    )
    back = next(one for one in update.sessions if one.head.name == "session-0")
    assert (back.head.id, back.head.sums.calls, back.head.turns_dropped) == (1, 2, 1)
    assert [one.turn for one in back.turns] == [2]


def quick(position, **fields):
    timing = Timing(at=float(position), sent_at_s=0.0, ttft_s=0.5)
    return Call(target="t", dialect="", body=b"", session="s", timing=timing, **fields)


def test_turns_and_first_tokens_are_bounded():
    own = Board("r1")
    for position in range(1, session.MOST_TURNS + 51):
        call = quick(position, usage=Usage(prompt_tokens=100, cached_tokens=50))
        own.add(position, call, None, Added(0, "append", []))
    update = own.update()
    assert [one.turn for one in update.sessions[0].turns] == list(range(51, session.MOST_TURNS + 51))
    assert update.sessions[0].head.turns_dropped == 50
    assert len(update.first_tokens) == 200
    assert (update.sums.calls, update.sums.hit_rate) == (250, 0.5)


def test_the_rate_of_late_is_over_the_newest_calls_that_report():
    own = Board("r1")
    for position in range(1, 31):
        cached = 0 if position <= 10 else 90
        usage = Usage(prompt_tokens=100, cached_tokens=cached if position != 30 else None)
        own.add(position, quick(position, usage=usage), None, Added(0, "append", []))
    update = own.update()
    assert (update.lately.calls, update.lately.hit_rate) == (20, pytest.approx(0.855))
    assert update.sums.hit_rate == pytest.approx(19 * 90 / 2900)


def test_without_prices_no_money_is_told():
    own = Board("r1")
    own.add(1, quick(1, usage=Usage(prompt_tokens=100, cached_tokens=50)), None, Added(0, "append", []))
    update = own.update()
    assert (update.sums.usd, update.sums.usd_saved, update.sums.unpriced_calls) == (None, None, 1)


def test_names_that_others_chose_show_what_they_hide():
    agent = Agent("evil\u202esession", model="m\u200bx", target="t\x1b[31m")
    update = read_to_the_end(feed_of([agent.turn(0.0)])).update()
    head = update.sessions[0].head
    assert (head.name, head.model, head.target) == ("evil\\u202esession", "m\\u200bx", "t\\x1b[31m")


def test_a_session_is_reported_as_explain_reports_a_log():
    feed = read_to_the_end(feed_of(broken_agent()))
    view = feed.session(1)
    assert (view.report.kind, view.report.calls, view.report.log) == ("explain", 8, "r1")
    assert [one.cause for one in view.report.findings] == ["clock-in-prefix"]
    assert sum(one.tokens for one in view.report.waterfall.labels) == view.report.waterfall.prompt_tokens
    assert [one.finding.cause for one in view.breaks] == ["clock-in-prefix"]
    assert feed.session(2) is None


def test_conversations_without_a_session_key_are_found_by_their_prompts():
    one, other = Agent(), Agent()
    calls = []
    for number in range(3):
        calls.append(one.turn(20.0 * number, f"parcel {number} " * 60, system=f"You track parcels. {SYSTEM}"))
        calls.append(other.turn(20.0 * number + 5, f"invoice {number} " * 60, system=f"You write invoices. {SYSTEM}"))
    update = read_to_the_end(feed_of(calls)).update()
    assert [(one.head.name, one.head.named, one.head.sums.calls) for one in update.sessions] == [
        ("#1", False, 3),
        ("#2", False, 3),
    ]


def test_without_content_nothing_shows_what_stands_for_it():
    secret = "zqxv-stand-in"
    agent = Agent(f"session-{secret}")
    calls = [
        agent.turn(10.0 * number, f"{secret} {number}", system=f"{secret} {number}. {SYSTEM}") for number in range(3)
    ]
    update = read_to_the_end(feed_of(calls, content_kept=False)).update()
    (one,) = update.breaks
    assert secret not in str(update)
    assert (one.session_name, one.place, one.finding.call) == ("#1", "/system, character 14", 1)
    assert (one.was, one.now, one.front) == (one.finding.was, one.finding.now, "")
    assert one.finding.was.startswith("⟨") and one.finding.lost_tokens > 0
