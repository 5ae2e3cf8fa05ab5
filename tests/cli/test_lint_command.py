"""`hitrate lint` from files to exit code."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

CASES = os.environ.get("HITRATE_CASES")

HANDBOOK = "You are the support agent of a mail-order nursery. " + " ".join(
    f"Rule {number}: plants of kind {number} may come back within {number + 7} days." for number in range(120)
)
MARK = {"cache_control": {"type": "ephemeral"}}


def body(turn: int = 0, *, clock: bool = False, tools: str = "") -> dict[str, Any]:
    """The request of a turn of one conversation; `tools` are letters, a tool each."""
    system = f"Now: 2026-03-11 09:14:{7 + 10 * turn:02} UTC\n\n{HANDBOOK}" if clock else HANDBOOK
    messages = [{"role": "system", "content": system}]
    for number in range(turn + 1):
        messages.append({"role": "user", "content": f"Question {number} about my roses?"})
        messages.append({"role": "assistant", "content": f"Answer {number}: send a photograph."})
    made: dict[str, Any] = {"model": "m", "prompt_cache_key": "s", "messages": messages[:-1]}
    if tools:
        made["tools"] = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools]
    return made


def claude(marks: int) -> dict[str, Any]:
    content = [{"type": "text", "text": f"Part {number}", **MARK} for number in range(marks)]
    return {"model": "claude-sonnet-4-5", "system": HANDBOOK, "messages": [{"role": "user", "content": content}]}


@pytest.fixture
def lint(hitrate, file):
    """Each request in a file of its own."""

    def run(*requests: Any, options: tuple[str, ...] = ()):
        names = [file(f"{number}.json", json.dumps(one, indent=2)) for number, one in enumerate(requests)]
        return hitrate("lint", *names, *options)

    return run


@pytest.mark.parametrize(
    ("requests", "options", "code", "title"),
    [
        ([body()], (), 0, "lint · 1 request · nothing found"),
        ([body(0), body(1), body(2)], (), 0, "lint · 3 requests · nothing found"),
        ([body(clock=True)], (), 1, "lint · 1 request · 1 warning"),
        ([body(0, clock=True), body(1, clock=True)], (), 1, "lint · 2 requests · 1 warning"),
        ([body(tools="ba")], (), 0, "lint · 1 request · 1 note"),
        ([body(tools="ba")], ("--strict",), 1, "lint · 1 request · 1 note"),
        ([body(0, tools="ba"), body(1, tools="ba")], ("--strict",), 0, "lint · 2 requests · nothing found"),
        ([body(0, tools="ba"), body(1, tools="ab")], (), 1, "lint · 2 requests · 1 error"),
        ([claude(5)], (), 1, "lint · 1 request · 1 error, 1 note"),
    ],
)
def test_exit_code_and_title(lint, requests, options, code, title) -> None:
    outcome = lint(*requests, options=options)
    assert (outcome.code, outcome.out.splitlines()[0]) == (code, title)


def test_a_constant_time_is_withdrawn_by_a_second_request(lint) -> None:
    first, second = body(0, clock=True), body(1)
    second["messages"][0] = first["messages"][0]
    assert lint(first).code == 1
    assert lint(first, second).code == 0


def test_a_value_that_changes_is_one_finding_with_how_many_show_it(lint) -> None:
    apart = [body(turn, clock=True) for turn in range(3)]
    for number, one in enumerate(apart):  # three conversations, which the explainer does not compare
        one["messages"] = [one["messages"][0], {"role": "user", "content": f"A question of its own, {number}"}]
        one["messages"][0]["content"] += f" Agent {number}: " + f"other words {number} " * 900
    found = lint(*apart, options=("--json",)).json["findings"]
    assert [(one["cause"], one["requests"]) for one in found] == [("clock-in-prefix", 3)]
    assert found[0]["summary"].endswith("looks volatile. It differs between these requests.")


def test_a_finding_names_file_line_pointer_offset_and_text(lint) -> None:
    (found,) = lint(body(clock=True), options=("--json",)).json["findings"]
    assert found["file"].endswith("0.json")
    kept = ("severity", "cause", "line", "request", "against", "pointer", "offset")
    assert {name: found[name] for name in kept} == {
        "severity": "warning",
        "cause": "clock-in-prefix",
        "line": 7,
        "request": 0,
        "against": None,
        "pointer": "/messages/0/content",
        "offset": 5,
    }
    assert found["summary"].endswith("looks volatile. With two requests it can be told for sure.")
    assert found["excerpt"].startswith("Now: 2026-03-11 09:14:07 UTC\\n\\nYou are the support")


def test_a_difference_names_both_requests_and_both_sides(lint) -> None:
    (found,) = lint(body(0, clock=True), body(1, clock=True), options=("--json",)).json["findings"]
    assert (found["cause"], found["request"], found["against"], found["offset"]) == ("clock-in-prefix", 1, 0, 22)
    assert found["excerpt"].startswith("07 UTC\\n\\n")
    assert " → 17 UTC\\n\\n" in found["excerpt"]


def test_requests_of_a_log_and_of_standard_input(hitrate, file, monkeypatch) -> None:
    records = [{"body": body(turn, clock=True), "response": {"usage": {"prompt_tokens": 9}}} for turn in range(2)]
    log = file("log.jsonl", "".join(json.dumps(one) + "\n" for one in records))
    assert hitrate("lint", log).code == 1
    for sent, requests in ((json.dumps(body(), indent=1), 1), ("".join(json.dumps(body(n)) + "\n" for n in (0, 1)), 2)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(sent.encode())))
        assert hitrate("lint", "-", "--json").json["requests"] == requests


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '{\n "messages": [\n  "x" "y"]}',
            "bad.json, line 3, column 7: expected a request body in JSON: Expecting ','",
        ),
        ("{}", "bad.json, line 1: expected a request body: has no messages, input, contents, prompt or"),
        ('{"messages": {"a": 1},\n "model": 3}', "bad.json, line 1: expected a request body: /model is a number"),
        ("", "bad.json: the file is empty"),
        ("<html>", "bad.json, line 1: this is HTML"),
    ],
)
def test_a_bad_file_is_named_with_its_place(hitrate, file, text, says) -> None:
    outcome = hitrate("lint", file("bad.json", text))
    assert outcome.code == 2
    assert says in outcome.err


def test_a_request_of_a_log_that_cannot_be_read_is_noted(hitrate, file) -> None:
    odd = {"body": {"messages": ["Hi"]}}
    outcome = hitrate(
        "lint", file("log.jsonl", "".join(json.dumps(one) + "\n" for one in (odd, {"body": body()}))), "--json"
    )
    assert (outcome.code, outcome.json["requests"]) == (0, 1)
    (note,) = outcome.json["notes"]
    assert note.startswith("log.jsonl, line 1: /body/messages/0 is a string, expected an object")
    alone = hitrate("lint", file("odd.jsonl", json.dumps(odd) + "\n"))
    assert (alone.code, "odd.jsonl, line 1: /body/messages/0 is a string" in alone.err) == (2, True)


def test_usage_errors(hitrate, file) -> None:
    good = file("good.json", json.dumps(body()))
    assert hitrate("lint").code == 2
    assert hitrate("lint", "no-such.json").code == 2
    assert "no wire format called 'smtp'" in hitrate("lint", good, "--dialect", "smtp").err
    assert "no HTML page" in hitrate("lint", good, "--html", "page.html").err
    assert "only once" in hitrate("lint", "-", "-").err


def test_a_dialect_is_taken_at_its_word(lint) -> None:
    request = {"messages": [{"role": "user", "content": HANDBOOK}]}
    assert lint(request).code == 0  # taken for chat completions
    (found,) = lint(request, options=("--dialect", "anthropic-messages", "--json")).json["findings"]
    assert found["cause"] == "no-markers"


def test_every_format_has_the_findings(lint, tmp_path) -> None:
    requests = (body(0, clock=True), claude(5))
    (row, *_) = csv.DictReader(io.StringIO(lint(*requests, options=("--csv",)).out))
    assert (row["severity"], row["cause"]) == ("error", "too-many-markers")
    assert "#### error · too-many-markers" in lint(*requests, options=("--markdown",)).out
    sarif = tmp_path / "found.sarif"
    outcome = lint(*requests, options=("--sarif", str(sarif), "--github"))
    results = json.loads(sarif.read_text())["runs"][0]["results"]
    assert [(one["ruleId"], one["level"]) for one in results] == [
        ("too-many-markers", "error"),
        ("clock-in-prefix", "warning"),
        ("opening-not-marked", "note"),
    ]
    assert results[1]["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}
    commands = [line.partition(" ")[0] for line in outcome.err.splitlines() if line.startswith("::")]
    assert commands == ["::error", "::warning", "::notice"]


def test_hostile_text_is_harmless(lint) -> None:
    request = body(clock=True)
    request["messages"][0]["content"] = "Now: 2026-03-11 09:14:07 \x1b[31m\u202e::error::x\n::warning::y"
    outcome = lint(request, options=("--github",))
    assert "\x1b" not in outcome.out + outcome.err
    assert "\u202e" not in outcome.out + outcome.err
    assert not any(line.startswith("::warning::y") for line in outcome.err.splitlines())


SHOULD_FIND = {
    "dev-01": "clock-in-prefix",
    "dev-03": "nonce-in-prefix",
    "dev-06": "tool-order",
    "dev-07": "schema-key-order",
    "dev-19": "history-not-marked",
    "dev-20": "look-back-exceeded",
    "dev-23": "too-short",
    "dev-34": "too-many-markers",
}


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES names no folder of cases")
def test_cases_from_their_bodies_alone(hitrate, file) -> None:
    for path in sorted(Path(str(CASES)).glob("dev-*.json")):
        case = json.loads(path.read_text())
        number = path.name[:6]
        if number not in SHOULD_FIND and not number.startswith("dev-5"):
            continue
        log = file("case.json", json.dumps({name: case[name] for name in ("api", "requests", "rules") if name in case}))
        report = hitrate("lint", log, "--json").json
        loud = {one["cause"] for one in report["findings"] if one["severity"] != "note"}
        assert loud == ({SHOULD_FIND[number]} if number in SHOULD_FIND else set()), path.name
        for single in case["requests"] if number.startswith("dev-5") else ():
            options = ("--dialect", case["api"]) if case["api"] in ("openai-chat", "anthropic-messages") else ()
            outcome = hitrate("lint", file("one.json", json.dumps(single["body"], indent=1)), *options)
            assert outcome.code == 0, (path.name, outcome.out)


def test_a_difference_of_two_requests_is_no_mere_note(lint):
    """Even where the kind of value can only be guessed: that it changed is a fact."""
    requests = [body(turn) for turn in (0, 1)]
    for number, request in enumerate(requests):
        request["messages"][0]["content"] = f"It is 2026-11-02 09:14:{7 + number:02} in Rotterdam.\n\n{HANDBOOK}"
    outcome = lint(*requests, options=("--json",))
    found = {one["cause"]: one["severity"] for one in json.loads(outcome.out)["findings"]}
    assert (found["clock-in-prefix"], outcome.code) == ("warning", 1)
