"""`hitrate whatif` from a log to predictions that can be worked out by hand.

A conversation that only grows is served, on the longest common prefix, all of the prompt before, whose tokens the log
reports: so the healthy form of a log is known before anything is replayed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

CASES = os.environ.get("HITRATE_CASES")

HANDBOOK = "You are the support agent of a mail-order nursery. " + " ".join(
    f"Rule {number}: plants of kind {number} may come back within {number + 7} days." for number in range(90)
)
PROMPTS = (1428, 1482, 1520)
"""Tokens reported for the three calls of every log here."""

STEP_128 = ("--rules", "openai-chat-before-gpt-5.6")


def tool(name: str, *arguments: str) -> dict[str, Any]:
    properties = {argument: {"type": "string"} for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def messages(turn: int, system: str = HANDBOOK) -> list[dict[str, Any]]:
    made = [{"role": "system", "content": system}]
    for number in range(turn + 1):
        made.append({"role": "user", "content": f"Question {number} about my roses?"})
        made.append({"role": "assistant", "content": f"Answer {number}: send a photograph."})
    return made[:-1]


def log(bodies: list[dict[str, Any]], cached=(0, 0, 0), gaps=(0, 60, 120), prompts=PROMPTS) -> str:
    lines = []
    for body, prompt, found, gap in zip(bodies, prompts, cached, gaps, strict=True):
        usage = {"prompt_tokens": prompt, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": found}}
        lines.append(json.dumps({"at": 1_773_220_400 + gap, "body": body, "response": {"usage": usage}}))
    return "\n".join(lines) + "\n"


CLOCK = log(
    [{"messages": messages(turn, f"Now: 2026-03-11 09:14:{7 + turn:02} UTC\n\n{HANDBOOK}")} for turn in range(3)]
)
TOOLS = [tool("sailings", "lane"), tool("tariff", "lane", "unit"), tool("track", "unit_no")]
TOOL_ORDER = log(
    [{"messages": messages(turn), "tools": TOOLS[turn:] + TOOLS[:turn]} for turn in range(3)],
)
KEY_ORDER = log(
    [
        {"messages": messages(turn), "tools": [tool("tariff", *("lane", "unit", "day")[:: (1, -1, 1)[turn]])]}
        for turn in range(3)
    ]
)
HEALTHY = log([{"messages": messages(turn)} for turn in range(3)], cached=(0, 1408, 1408))


@pytest.fixture
def whatif(hitrate, file):
    def run(text: str, *options: str) -> dict[str, Any]:
        outcome = hitrate("whatif", file("log.jsonl", text), *options, "--json")
        assert outcome.code == 0, outcome.err
        return outcome.json

    return run


def scenario(report: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in report["scenarios"] if one["name"] == name)


@pytest.mark.parametrize(
    ("text", "option"),
    [(TOOL_ORDER, "--sort-tools"), (KEY_ORDER, "--sort-keys")],
)
def test_the_healthy_form_of_a_log_with_tools_in_changing_order(whatif, text, option) -> None:
    after = scenario(whatif(text, option), option[2:])
    assert (after["prompt_tokens"], after["cached_tokens"]) == (1428 + 1482 + 1520, 1428 + 1482)
    after = scenario(whatif(text, option, *STEP_128), option[2:])
    assert after["cached_tokens"] == 11 * 128 + 11 * 128


def test_before_is_what_the_rule_gives_for_the_log_as_sent(whatif) -> None:
    report = whatif(TOOL_ORDER, "--sort-tools", *STEP_128)
    before = scenario(report, "as sent")
    assert (before["cached_tokens"], before["gained"]) == (0, None)
    assert report["measured"] == {
        "calls": 3, "prompt_tokens": 4430, "cached_tokens": 0, "hit_rate": 0.0, "usd": None,
    }  # fmt: skip
    assert report["prediction_error"] == 0.0
    assert scenario(report, "sort-tools")["gained"] == pytest.approx(2816 / 4430)


def test_the_time_at_the_end_leaves_all_in_front_of_it_to_be_served(whatif) -> None:
    report = whatif(CLOCK, "--move-clock-last", *STEP_128)
    assert [one["expected_cached_tokens"] for one in report["by_call"]] == [0, 0, 0]
    prompts = [one["prompt_tokens_after"] for one in report["by_call"]]
    # The same line, once more with each further question.
    assert prompts[0] == pytest.approx(1428, abs=3)
    assert prompts[1] == pytest.approx(1482 + 18, abs=5)
    assert [one["expected_cached_tokens_after"] for one in report["by_call"]] == [
        0, prompts[0] // 128 * 128, prompts[1] // 128 * 128,
    ]  # fmt: skip
    assert scenario(report, "move-clock-last")["changed_calls"] == 3


@pytest.mark.parametrize(("fixes", "found"), [(("--sort-tools",), 0), (("--sort-tools", "--move-clock-last"), 2816)])
def test_what_helps_only_together(whatif, fixes, found) -> None:
    bodies = [
        json.loads(line)["body"] | {"tools": TOOLS[turn:] + TOOLS[:turn]}
        for turn, line in enumerate(CLOCK.splitlines())
    ]
    report = whatif(log(bodies), *fixes, *STEP_128)
    alone = scenario(report, "sort-tools")["cached_tokens"]
    assert alone < 1024
    together = report["scenarios"][-1]
    assert together["cached_tokens"] == (alone if found == 0 else pytest.approx(found, abs=128))


def claude(turn: int, *, ttl: str | None = None) -> dict[str, Any]:
    mark = {"cache_control": {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}}
    made = messages(turn)[1:]
    made[-1] = {**made[-1], "content": [{"type": "text", "text": made[-1]["content"], **mark}]}
    system = [{"type": "text", "text": HANDBOOK, **mark}]
    return {"model": "claude-sonnet-4-5", "max_tokens": 99, "system": system, "messages": made}


def claude_log(read=(0, 1428, 0), wrote=(1428, 54, 1520), gaps=(0, 70, 745)) -> str:
    lines = []
    for turn, (cached, written) in enumerate(zip(read, wrote, strict=True)):
        usage = {
            "input_tokens": PROMPTS[turn] - cached - written,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": written,
            "output_tokens": 10,
        }
        at = 1_785_000_000 + gaps[turn]
        lines.append(json.dumps({"at": at, "body": claude(turn), "response": {"usage": usage}}))
    return "\n".join(lines) + "\n"


def test_an_hour_outlives_the_pause_and_its_writes_cost_twice_the_input(whatif) -> None:
    report = whatif(claude_log(), "--ttl", "1h", "--price", "3,0.3,15,3.75,6")
    before, after = report["scenarios"]
    assert before["cached_tokens"] == pytest.approx(1428, abs=5)
    assert after["cached_tokens"] == pytest.approx(1428 + 1482, abs=10)
    assert abs(report["prediction_error"]) < 0.003
    output = 30 * 15
    assert before["usd"] == pytest.approx((1428 * 0.3 + (1428 + 54 + 1520) * 3.75 + output) / 1e6, rel=0.01)
    assert after["usd"] == pytest.approx(((1428 + 1482) * 0.3 + (1428 + 54 + 38) * 6 + output) / 1e6, rel=0.01)
    assert after["saved_usd"] == pytest.approx(before["usd"] - after["usd"])
    assert report["gaps"] == {"within_5m": 1, "within_1h": 1, "longer": 0, "median_s": 372.5}
    worth = {way["name"]: way["input_tokens_worth"] for way in report["lifetimes"]}
    assert worth == {
        "5m": round(1.25 * 1428 + 0.1 * 1428 + 1.25 * 54 + 1.25 * 1520),
        "1h": round(2 * 1428 + 0.1 * 1428 + 2 * 54 + 0.1 * 1482 + 2 * 38),
        "keep-alive": round(1.25 * 1428 + 0.1 * 1428 + 1.25 * 54 + 3 * 0.1 * 1482 + 1.25 * 38),
    }


def test_lifetimes_need_no_bodies(whatif, hitrate, file) -> None:
    lines = [json.loads(line) for line in claude_log().splitlines()]
    usage_only = "\n".join(json.dumps({"at": one["at"], "response": one["response"]}) for one in lines)
    report = whatif(usage_only, "--ttl", "1h")
    assert (report["replayed"], report["scenarios"]) == (0, [])
    assert report["gaps"]["within_1h"] == 1
    outcome = hitrate("whatif", file("usage.jsonl", usage_only), "--sort-tools")
    assert (outcome.code, "holds no request bodies" in outcome.err) == (2, True)


def test_affinity_leads_every_call_to_the_replica_with_its_history(whatif) -> None:
    text = log([{"model": "m", "messages": messages(turn)} for turn in range(3)])
    report = whatif(text, "--affinity", "--replicas", "4")
    before, after = report["scenarios"]
    assert after["cached_tokens"] == 1428 + 1482
    # By chance 1 in 4 for the second call; for the third 1 in 4, else 1 in 4 of the rest finds the first.
    assert before["cached_tokens"] == pytest.approx(1428 / 4 + 1482 / 4 + 1428 * 3 / 16, rel=0.5)
    assert whatif(text, "--affinity", "--replicas", "4") == report


def test_a_healthy_log_gains_nothing_and_is_told_so(hitrate, whatif, file) -> None:
    report = whatif(HEALTHY, *STEP_128)
    assert [one["name"] for one in report["scenarios"]] == ["as sent"]
    assert report["prediction_error"] == 0.0
    (_, explicit) = whatif(HEALTHY, "--move-clock-last")["scenarios"]
    assert (explicit["changed_calls"], explicit["gained"]) == (0, 0.0)
    assert explicit["note"] == "changes nothing: no time in front of the history changes from call to call"
    out = hitrate("whatif", file("log.jsonl", HEALTHY), *STEP_128).out
    assert out.startswith("whatif · log.jsonl · no fix changes the predicted hit rate of 63.6 %")
    assert "the rule predicts the measured rate for the log as sent" in out


def test_rendered_prompts_cannot_be_rewritten(hitrate, file) -> None:
    said = "the prompt was rendered before it was sent, so its messages do not show"
    prompts = [f"<|im_start|>system\nNow 09:14:0{turn}\n{'Be brief. ' * 200}<|im_end|>\n" for turn in range(3)]
    log = file("log.jsonl", "".join(json.dumps({"body": {"prompt": prompt}}) + "\n" for prompt in prompts))
    document = json.loads(hitrate("whatif", log, "--move-clock-last", "--json").out)
    assert said in document["scenarios"][1]["note"]
    assert any(note.startswith(f"3 of 3 requests cannot be rewritten: {said}") for note in document["notes"])


def test_the_new_bodies_are_written_and_read_as_a_log(whatif, hitrate, tmp_path) -> None:
    whatif(TOOL_ORDER, "--sort-tools", "--write", str(tmp_path / "new.jsonl"))
    written = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    names = [[one["function"]["name"] for one in record["body"]["tools"]] for record in written]
    assert names == [["sailings", "tariff", "track"]] * 3
    again = hitrate("whatif", "new.jsonl", "--sort-tools", "--json").json
    assert scenario(again, "sort-tools")["note"].startswith("changes nothing")
    assert hitrate("lint", "new.jsonl").code == 0
    assert hitrate("explain", "new.jsonl", "--json").json["findings"] == []


def test_calls_that_were_refused_or_cannot_be_read_are_left_out(whatif) -> None:
    lines = HEALTHY.splitlines()
    refused = json.dumps({**json.loads(lines[1]), "response": {"status": 429}})
    odd = json.dumps({"at": 1_773_220_430, "body": {"messages": [7]}, "response": {"usage": {"prompt_tokens": 5}}})
    report = whatif("\n".join([lines[0], refused, odd, *lines[1:]]), "--sort-tools", *STEP_128)
    assert (report["replayed"], report["measured"]["calls"]) == (3, 3)
    assert any("not replayed, because refused or failed: 1" in note for note in report["notes"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--affinity",), "say how many with --replicas N"),
        (("--replicas", "999999999999"), "999999999999 is not in the range 1<=x<=10000"),
        (("--sort-tools", "--rules", "no-such"), "no cache rule is called 'no-such'"),
        (("--sort-tools", "--rules", "slots", "--rule-setting", "block_size=3"), "cache rule slots"),
        (("--ttl", "2h"), "'2h' is not one of"),
    ],
)
def test_usage_errors(hitrate, file, options, says) -> None:
    outcome = hitrate("whatif", file("log.jsonl", HEALTHY), *options)
    assert (outcome.code, says in outcome.err) == (2, True), outcome.err


def test_every_format(hitrate, file, tmp_path) -> None:
    name = file("log.jsonl", TOOL_ORDER)
    rows = hitrate("whatif", name, "--sort-tools", "--csv").out.splitlines()
    assert rows[0].startswith("call,conversation,prompt_tokens,cached_tokens,expected_cached_tokens,")
    assert rows[2].startswith("1,#1,1482,0,")
    assert "| measured | – | 4,430 | 0 |" in hitrate("whatif", name, "--sort-tools", "--markdown").out
    hitrate("whatif", name, "--sort-tools", "--html", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert "≈ 65.7 %" in page
    assert "<svg" in page


HEALTHY_CASES = {
    "dev-01": ("--move-clock-last", "move-clock-last"),
    "dev-06": ("--sort-tools", "sort-tools"),
    "dev-07": ("--sort-keys", "sort-keys"),
}


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES names no folder of cases")
@pytest.mark.parametrize("number", HEALTHY_CASES)
def test_cases_become_their_healthy_form(whatif, number) -> None:
    (path,) = Path(str(CASES)).glob(f"{number}-*.json")
    case = json.loads(path.read_text())
    option, name = HEALTHY_CASES[number]
    report = whatif(json.dumps({key: case[key] for key in ("api", "requests")}), option)
    prompts = [one["prompt_tokens_after"] for one in report["by_call"]]
    assert scenario(report, name)["cached_tokens"] == pytest.approx(sum(prompts[:-1]), abs=2)


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES names no folder of cases")
@pytest.mark.parametrize(
    ("number", "options", "cached"),
    [
        ("dev-22", ("--ttl", "1h"), 1350 + 1404 + 1442),
        ("dev-24", ("--affinity", "--replicas", "3"), 1428 + 1483 + 1520 + 1567 + 1585),
    ],
)
def test_cases_with_another_lifetime_and_with_affinity(whatif, number, options, cached) -> None:
    (path,) = Path(str(CASES)).glob(f"{number}-*.json")
    case = json.loads(path.read_text())
    report = whatif(json.dumps({key: case[key] for key in ("api", "requests")}), *options)
    assert report["scenarios"][-1]["cached_tokens"] == pytest.approx(cached, abs=10)
