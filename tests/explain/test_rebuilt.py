"""What is not said of requests that a log does not hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hitrate.core.model import Call, Timing, Usage
from hitrate.core.records import RecordCount
from hitrate.explain.causes.beside_the_text import OTHER_CAUSES
from hitrate.explain.compared import Compared
from hitrate.explain.diff import parted
from hitrate.explain.evidence import Seen
from hitrate.explain.lint.checks import CHECKS
from hitrate.explain.rebuilt import FIND_NOTHING, SAY_WHAT_IS_ABSENT, is_shown
from hitrate.explaining import explain_log, request_of
from hitrate.logs.interface import OwnRules

RULES = "You answer for a forwarding house, you read the case before you write, and you promise nothing. " * 80
GREETING = "Where is parcel 20771?"


class Made:
    path = "log"
    format = "made"
    own_price = None
    own_rules = OwnRules()

    def __init__(self, calls: list[Call]) -> None:
        self.calls = calls
        self.count = RecordCount()

    def __iter__(self):
        for call in self.calls:
            self.count.use()
            yield call

    def records(self):
        return self.count.records()


def body(turns: int, system: str = RULES, **members: Any) -> bytes:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": GREETING}]
    for turn in range(turns):
        messages += [{"role": "assistant", "content": f"Answer {turn}."}, {"role": "user", "content": f"And {turn}?"}]
    return json.dumps({"messages": messages, **members}).encode()


def usage(cached: int | None, written: int | None = None, prompt: int = 2000) -> Usage:
    return Usage(prompt_tokens=prompt, cached_tokens=cached, written_tokens=written, output_tokens=9)


def call(number: int, counts: Usage, *, target: str, rebuilt: bool, at: float | None = None, **more: Any) -> Call:
    at = 10.0 * number if at is None else at
    return Call(
        target=target,
        dialect="openai-chat",
        body=more.pop("body", body(number)),
        model={"anthropic": "claude-sonnet-4-5", "openai": "gpt-4.1", "deepinfra": "m"}[target],
        session="s",
        usage=counts,
        timing=Timing(at=1_790_000_000.0 + at, sent_at_s=at, total_s=1.0),
        rebuilt=rebuilt,
        **more,
    )


def causes(calls: list[Call]) -> list[tuple[str, str, str]]:
    return [(one.cause, one.voice, one.confidence) for one in explain_log(Made(calls)).findings]


def session(target: str, *counts: Usage, rebuilt: bool, idle_s: float = 10.0) -> list[Call]:
    return [call(n, one, target=target, rebuilt=rebuilt, at=n * idle_s) for n, one in enumerate(counts)]


COLD = usage(0), usage(0), usage(0), usage(0)
UNKNOWN_WRITES = COLD
NOTHING_WRITTEN = tuple(usage(0, 0) for _ in range(4))
COMES_AND_GOES = usage(0), usage(1900), usage(0), usage(1900), usage(0)


@pytest.mark.parametrize(
    ("target", "counts", "as_sent", "as_rebuilt"),
    [
        ("anthropic", UNKNOWN_WRITES, ["no-markers"], []),
        ("anthropic", NOTHING_WRITTEN, ["no-markers"], []),
        ("deepinfra", COMES_AND_GOES, ["no-affinity"], ["provider-missed"]),
        ("openai", COLD, ["never-served"], ["never-served"]),
        ("anthropic", (usage(0, 1900), usage(1900, 30), usage(1930, 30)), [], []),
    ],
)
def test_a_member_that_the_log_left_out_is_not_missed(target, counts, as_sent, as_rebuilt):
    assert [cause for cause, *_ in causes(session(target, *counts, rebuilt=False))] == as_sent
    assert [cause for cause, *_ in causes(session(target, *counts, rebuilt=True))] == as_rebuilt


def test_a_call_that_wrote_anew_what_was_there_was_cached_and_lost_it():
    counts = usage(0, 1900), usage(1900, 30), usage(0, 1990), usage(1990, 10)
    assert causes(session("anthropic", *counts, rebuilt=True)) == [("provider-missed", "observation", "possible")]
    assert causes(session("anthropic", *counts, rebuilt=True, idle_s=400.0))[0][0] == "expired"


def test_where_nothing_explains_a_miss_the_log_says_too_little():
    (found,) = explain_log(Made(session("openai", *COLD, rebuilt=True))).findings
    assert (found.voice, found.confidence) == ("observation", "possible")
    assert found.summary.endswith("The log does not hold the requests themselves: what it leaves out may have changed.")
    assert "which was not sent" not in found.summary
    (found,) = explain_log(Made(session("openai", *COLD, rebuilt=False))).findings
    assert found.voice == "provider suspected"
    assert "prompt_cache_key, which was not sent" in found.summary


TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}
WIDE = RULES.replace(", you promise", ",  you promise").replace(", and", ",\n and")


@pytest.mark.parametrize(
    ("was", "now", "as_sent", "as_rebuilt"),
    [
        ({}, {"system": WIDE}, ["text-form-changed"], []),
        ({"system": RULES + "é"}, {"system": RULES + "e\u0301"}, ["text-form-changed"], []),
        ({"system": '{"a": 1, "b": [2, 3]} ' * 99}, {"system": '{"a":1,"b":[2,3]} ' * 99}, ["text-form-changed"], []),
        ({}, {"system": "New. " + RULES}, ["system-text-changed"], ["system-text-changed"]),
        ({"tools": [TOOL]}, {}, ["tool-set-changed"], []),
        ({}, {"tools": [TOOL]}, ["tool-set-changed"], []),
    ],
)
def test_the_form_in_which_something_was_written_down_is_not_that_of_the_request(was, now, as_sent, as_rebuilt):
    bodies = body(0, **was), body(1, **now), body(2, **now)
    for rebuilt, expected in ((False, as_sent), (True, as_rebuilt)):
        calls = [call(n, usage(None), target="openai", rebuilt=rebuilt, body=one) for n, one in enumerate(bodies)]
        assert [cause for cause, *_ in causes(calls)] == expected


@pytest.mark.parametrize(
    ("wire", "body", "shown"),
    [
        pytest.param("llamacpp-completion", {"prompt": "You  help. Hi."}, True, id="rendered"),
        pytest.param("openai-chat", {"messages": [{"role": "system", "content": "You  help."}]}, False, id="messages"),
    ],
)
def test_white_space_of_a_rendered_prompt_is_its_text(wire: str, body: dict[str, Any], shown: bool):
    was = json.dumps(body).encode()
    parting = parted(request_of(was, wire), request_of(was.replace(b"  ", b" "), wire))
    assert parting is not None
    compared = Compared(parting)
    seen = Seen(index=0, rebuilt=True)
    assert compared.divergence.change == "white space"
    assert is_shown(compared, seen, seen) is shown


def test_every_name_is_a_cause_or_a_check():
    names = {one.name for one in (*OTHER_CAUSES, *CHECKS)}
    assert names >= SAY_WHAT_IS_ABSENT | FIND_NOTHING
