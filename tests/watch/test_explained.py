"""Explained call by call, a recording comes out as `hitrate explain` tells it as a whole."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from recordings import PRICE, Recorded
from traffic import SYSTEM, Agent, clock

from hitrate.core.cost import Quote
from hitrate.core.model import Usage
from hitrate.explaining import explain_log
from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply
from hitrate.watch.explained import LiveExplainer
from hitrate.watch.sums import LabelSums

SESSIONS = sorted((Path(__file__).parent.parent / "explain" / "sessions").glob("*.json"))
FORMAT = "session"
OF_A_WHOLE_LOG = {"reporting", "pricing"}


def price(call):
    return PRICE if call.usage.prompt_tokens is not None else None


def outcomes_of(calls, *, more=False, **options):
    recorded = Recorded(calls)
    explainer = LiveExplainer(recorded, price, **options)
    found = {}
    for position, call in recorded.calls_after(0):
        found |= {one.position: one for one in explainer.add(position, call, more=more).outcomes}
    found |= {one.position: one for one in explainer.judge_open()}
    return explainer, found


@pytest.mark.parametrize("more", [False, True], ids=["one by one", "catching up"])
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_session_comes_out_as_explain_tells_it(path, more, tmp_path):
    case = json.loads(path.read_text(encoding="utf-8"))
    log = tmp_path / "session.json"
    log.write_text(json.dumps({name: case[name] for name in ("api", "requests", "log") if name in case}))
    report = explain_log(open_log(str(log), read_reply, FORMAT), lambda call: Quote(price=PRICE))
    _, found = outcomes_of(list(open_log(str(log), read_reply, FORMAT)), more=more)
    sums = LabelSums()
    for one in found.values():
        sums.add(one.usage, one.paid)
    assert sums.waterfall() == report.waterfall
    assert sorted((loss.finding.cause, loss.finding.call) for one in found.values() for loss in one.losses) == sorted(
        (finding.cause, call)
        for finding in report.findings
        if finding.verdict not in OF_A_WHOLE_LOG
        for call in finding.calls
    )


def test_a_break_is_told_with_its_call():
    agent = Agent("one")
    calls = [agent.turn(float(at), system=clock(at)) for at in (0, 10, 20)]
    explainer = LiveExplainer(Recorded(calls), price)
    told = [explainer.add(number, call) for number, call in enumerate(calls, 1)]
    assert [
        [(one.position, [loss.finding.cause for loss in one.losses]) for one in added.outcomes] for added in told
    ] == [
        [(1, [])],
        [(2, ["clock-in-prefix"])],
        [(2, ["clock-in-prefix"]), (3, ["clock-in-prefix"])],
    ]
    (loss,) = told[1].outcomes[0].losses
    assert (loss.finding.call, loss.finding.against, loss.finding.pointer) == (1, 0, "/system")
    assert loss.front == "The time is 09:00:"
    assert told[1].outcomes[0].settled is False
    assert told[2].outcomes[0].settled is True


def two_agents(turns):
    agents = Agent(), Agent()
    calls = []
    for number in range(turns):
        for which, agent in enumerate(agents):
            text = f"agent {which}, step {number}: " + "read the next file and mend what is wrong in it. " * 20
            calls.append(agent.turn(20.0 * number + which, text, system=f"You are agent {which}. {SYSTEM}"))
    return calls


def test_conversations_keep_their_numbers_when_old_calls_are_forgotten():
    calls = two_agents(30)
    recorded = Recorded(calls)
    explainer = LiveExplainer(recorded, price, most_calls=20, carried_calls=6)
    assert [explainer.add(number, call).conversation for number, call in enumerate(calls, 1)] == [0, 1] * 30


def test_forgetting_costs_no_loss_that_stands_after_it():
    agent = Agent("one")
    calls = [agent.turn(10.0 * number, system=clock(0) if number < 25 else clock(number)) for number in range(40)]
    _, forgetful = outcomes_of(calls, most_calls=12, carried_calls=4)
    _, remembering = outcomes_of(calls)
    assert [number for number, one in sorted(forgetful.items()) if one.losses] == list(range(26, 41))
    assert {number: one.paid for number, one in forgetful.items()} == {
        number: one.paid for number, one in remembering.items()
    }


def test_an_earlier_call_that_is_gone_is_an_error_that_says_so(monkeypatch):
    monkeypatch.setattr("hitrate.watch.explained._BODY_BYTES", 0)
    agent = Agent("one")
    calls = [agent.turn(10.0 * number) for number in range(4)]
    agent.messages[0] = {"role": "user", "content": "another question"}
    side = [Agent("other").turn(41.0), Agent("third").turn(42.0), Agent("fourth").turn(43.0)]
    recorded = Recorded([*calls, *side, agent.turn(50.0)])
    explainer = LiveExplainer(recorded, price)
    for position, call in list(recorded.calls_after(0))[:-1]:
        explainer.add(position, call)
    last = recorded.calls[-1]
    recorded.calls[:4] = [None] * 4
    with pytest.raises(Exception, match="call 4 is not stored any more"):
        explainer.add(len(recorded.calls), last)


def test_what_is_odd_about_the_reports_names_no_call():
    agent = Agent("one")
    calls = [agent.turn(10.0 * number) for number in range(3)]
    usage = Usage(prompt_tokens=4000, cached_source="null")
    explainer, _ = outcomes_of([replace(call, usage=usage) for call in calls])
    assert [(one.cause, one.call, one.calls) for one in explainer.oddities()] == [("not-reported", None, ())]


def test_the_rule_that_was_assumed_is_named():
    agent = Agent("one")
    explainer, _ = outcomes_of([agent.turn(0.0), agent.turn(10.0)])
    assert explainer.rule_sets().startswith("anthropic-2026-")
