"""Tokens that were to be had by the text, and no finding says why they were not: they have a label and are not lost."""

from __future__ import annotations

import json

import pytest

from hitrate.core.cost import Quote
from hitrate.core.money import Price
from hitrate.explaining import explain_log
from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply

HANDBOOK = "You are the agent of a harbour office. " + " ".join(f"Berth {n} is {n + 7} m long." for n in range(300))
PRICE = Price(input_usd_per_mtok=2.0, cached_usd_per_mtok=0.5)


def call(at: str, question: str, cached: int, *, model: str = "gpt-4.1") -> dict:
    messages = [{"role": "system", "content": HANDBOOK}, {"role": "user", "content": question}]
    usage = {"prompt_tokens": 3000, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": cached}}
    return {"at": at, "body": {"model": model, "messages": messages}, "response": {"usage": usage}}


def explained(tmp_path, records):
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    quoted = Quote(price=PRICE)
    return explain_log(open_log(str(file), read_reply, None), lambda _: quoted)


@pytest.mark.parametrize(
    ("records", "label"),
    [
        pytest.param(
            [
                call("2026-03-11T09:00:00Z", "Which berth is free?", 0),
                call("2026-03-11T09:00:20Z", "Who is the pilot?", 0, model="gpt-4.1-mini"),
            ],
            "key changed",
            id="the first call of another model",
        ),
        pytest.param(
            [
                call("2026-03-11T09:00:00Z", "Which berth is free?", 0),
                call("2026-03-12T09:00:00Z", "Who is the pilot?", 0),
            ],
            "expired",
            id="a session on the next day",
        ),
        pytest.param(
            [
                call("2026-03-11T09:00:00Z", "Which berth is free?", 0),
                call("2026-03-11T09:00:04Z", "Who is the pilot?", 0),
            ],
            "routed or evicted",
            id="another replica, perhaps",
        ),
    ],
)
def test_no_finding_no_loss(tmp_path, records, label):
    report = explained(tmp_path, records)
    waterfall = report.waterfall
    assert report.findings == ()
    assert label in {one.label for one in waterfall.labels}
    assert (waterfall.lost_tokens, waterfall.lost_usd) == (0, 0.0)
    assert {one.waterfall.lost_tokens for one in report.by_session} == {0}


def test_what_is_lost_in_all_is_what_the_findings_lost(tmp_path):
    clocks = [call(f"2026-03-11T09:00:{10 + n}Z", "Which berth is free?", 0) for n in range(3)]
    for n, one in enumerate(clocks):
        one["body"]["messages"][0]["content"] = f"Now: 2026-03-11 09:00:{10 + n}\n\n{HANDBOOK}"
    report = explained(tmp_path, clocks)
    assert [one.cause for one in report.findings] == ["clock-in-prefix"]
    assert report.waterfall.lost_tokens == sum(one.lost_tokens for one in report.findings) > 5000
    assert report.waterfall.lost_usd == pytest.approx(sum(one.lost_usd for one in report.findings))


def test_a_log_of_bodies_has_conversations(tmp_path):
    file = tmp_path / "log.jsonl"
    bodies = [call("", question, 0)["body"] for question in ("Which berth is free?", "Who is the pilot?")]
    file.write_text("".join(json.dumps(one) + "\n" for one in bodies), encoding="utf-8")
    report = explain_log(open_log(str(file), read_reply, None))
    assert (report.calls, report.sessions, report.by_session) == (2, 2, ())


def test_a_count_of_nothing_is_blamed_on_nothing(tmp_path):
    """A stream that was cut off before its usage came is often logged with zeros."""
    history = [{"role": "system", "content": HANDBOOK}]
    records = []
    for number, (prompt, cached) in enumerate([(3000, 0), (3100, 2944), (3200, 3072), (0, 0), (3400, 3200)]):
        history.append({"role": "user", "content": f"Which berth is free at {number}?"})
        usage = {"prompt_tokens": prompt, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": cached}}
        body = {"model": "gpt-4.1", "messages": list(history)}
        records.append({"at": f"2026-03-11T09:00:{number:02d}Z", "body": body, "response": {"usage": usage}})
        history.append({"role": "assistant", "content": f"Berth {number}."})
    report = explained(tmp_path, records)
    assert report.findings == () and report.waterfall.prompt_tokens == 12_700
