"""The business case of calls that no file or store holds: what the reader of a log has to say, and what follows."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from hitrate.core.cost import Quote
from hitrate.core.model import Call, Timing, Usage
from hitrate.core.money import Price, Unpriced
from hitrate.core.records import RecordCount
from hitrate.errors import UsageError
from hitrate.logs.interface import OwnRules
from hitrate.reporting import PREDICTED_BYTES, Wanted, business_case

HANDBOOK = " ".join(f"Rule {number}: plants of kind {number} may come back." for number in range(200))


def call(turn: int, **more) -> Call:
    messages = [{"role": "system", "content": f"Now: 2026-03-11 09:14:{10 + turn}\n\n{HANDBOOK}"}]
    messages += [{"role": "user", "content": f"Question {number} about roses?"} for number in range(turn + 1)]
    known = Usage(prompt_tokens=2500 + 10 * turn, cached_tokens=0, output_tokens=10)
    body = json.dumps({"model": "m", "messages": messages}).encode()
    made = Call(target="", dialect="openai-chat", body=body, model="m", usage=known, status=200)
    timing = Timing(at=1.79e9 + 30 * turn, sent_at_s=30.0 * turn, ttft_s=0.5, total_s=1.0)
    return replace(made, **{"timing": timing, **more})


class Calls:
    path = "a/folder/of mine/calls"
    format = "list"
    own_price = None
    own_rules = OwnRules()

    def __init__(self, *calls: Call, content_kept: bool = True) -> None:
        self._calls = calls
        self._count = RecordCount()
        self.content_kept = content_kept

    def __iter__(self):
        for one in self._calls:
            self._count.use()
            yield one

    def records(self):
        return self._count.records()


def priced(call: Call) -> Quote:
    return Quote(price=Price(input_usd_per_mtok=3.0, cached_usd_per_mtok=0.3, output_usd_per_mtok=15.0, source="mine"))


def refuse(mends):
    raise AssertionError("nothing is to be replayed")


def test_content_that_was_not_kept_is_not_replayed_and_not_shown() -> None:
    found = business_case(Calls(*map(call, range(3)), content_kept=False), priced, Wanted(refuse))
    (fix,) = found.fixes
    assert (fix.cause, fix.predicted) == ("clock-in-prefix", None)
    assert found.no_prediction == "content was not kept, so nothing can be rewritten"
    assert "09:14" not in str(found) and "roses" not in str(found) and "folder" not in str(found)
    assert any("Content was not kept" in note for note in found.notes)


def test_a_rewrite_that_cannot_be_made_is_said_and_the_rest_stands() -> None:
    def fail(mends):
        raise UsageError("no bodies")

    found = business_case(Calls(*map(call, range(3))), priced, Wanted(fail))
    assert (found.prediction, found.no_prediction, len(found.fixes)) == (None, "no bodies", 1)


def test_only_the_rewrites_that_mend_what_was_found_are_asked_for() -> None:
    asked = []

    def note(mends):
        asked.extend(mend.name for mend in mends)
        raise UsageError("enough")

    business_case(Calls(*map(call, range(3))), priced, Wanted(note))
    assert asked == ["move-clock-last"]


def test_a_very_large_log_is_replayed_only_when_asked(monkeypatch) -> None:
    calls = [call(turn) for turn in range(3)]
    monkeypatch.setattr("hitrate.reporting.PREDICTED_BYTES", sum(len(one.body) for one in calls) - 1)
    found = business_case(Calls(*calls), priced, Wanted(refuse))
    assert found.no_prediction == "0 MB of requests were not replayed; --predict does it"
    with pytest.raises(AssertionError):
        business_case(Calls(*calls), priced, Wanted(refuse, however_large=True))
    assert PREDICTED_BYTES == 64 << 20


def test_calls_without_a_price_are_in_no_mean() -> None:
    def quote(call: Call):
        return Unpriced("no price") if call.model == "free" else priced(call)

    calls = [call(0), call(1, model="free"), call(2)]
    found = business_case(Calls(*calls), quote, Wanted())
    assert (found.now.calls, found.per_1000_calls.priced_calls) == (3, 2)
    assert found.per_1000_calls.usd == pytest.approx(1000 * (found.now.usd or 0) / 2)
    assert [(one.model, one.calls) for one in found.unpriced] == [("free", 1)]


def test_the_output_is_the_part_of_the_bill_that_no_cache_changes() -> None:
    found = business_case(Calls(*map(call, range(3))), priced, Wanted())
    assert found.now.output_usd == pytest.approx(3 * 10 * 15 / 1e6)


def test_no_month_from_calls_of_which_some_have_no_time() -> None:
    found = business_case(Calls(call(0), call(1, timing=None)), priced, Wanted())
    assert found.span is not None and found.span.calls == 1
    assert (found.per_month, found.no_month) == (None, "only 1 of 2 calls have a time")


def test_no_call_at_all() -> None:
    found = business_case(Calls(), priced, Wanted())
    assert (found.calls, found.now.usd, found.span, found.turns, found.ttft) == (0, None, None, (), None)
