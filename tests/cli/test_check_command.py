"""`hitrate check` from log to exit code."""

from __future__ import annotations

import csv
import io
import json

import pytest

HANDBOOK = "You are the support agent of a mail-order nursery. " + " ".join(
    f"Rule {number}: plants of kind {number} may come back within {number + 7} days." for number in range(90)
)


def record(turn: int, *, cached: int | None, clock: bool = False, model: str = "m") -> dict:
    system = f"Now: 2026-03-11 09:14:{7 + 10 * turn:02} UTC\n\n{HANDBOOK}" if clock else HANDBOOK
    messages = [{"role": "system", "content": system}]
    for number in range(turn + 1):
        messages.append({"role": "user", "content": f"Question {number} about my roses?"})
        messages.append({"role": "assistant", "content": f"Answer {number}: send a photograph."})
    usage = {"prompt_tokens": 2000 + 30 * turn, "completion_tokens": 9}
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    at = f"2026-03-11T09:14:{7 + 10 * turn:02}Z"
    return {"at": at, "body": {"model": model, "messages": messages[:-1]}, "response": {"usage": usage}}


def lines(*records) -> str:
    return "".join(json.dumps(one) + "\n" for one in records)


HEALTHY = lines(record(0, cached=0), record(1, cached=1984), record(2, cached=2016))
BROKEN = lines(*(record(turn, cached=0, clock=True) for turn in range(3)))
SILENT = lines(*(record(turn, cached=None) for turn in range(3)))
UNREAD = lines({"body": {"model": "m", "prompt": ["two", "prompts"]}})
PRICE = ("--price", "3,0.3,15")


@pytest.fixture
def log(file):
    return lambda text: file("agent.jsonl", text)


@pytest.mark.parametrize(
    ("text", "arguments", "code", "says"),
    [
        (HEALTHY, ("--min-hit-rate", "0.6"), 0, "min-hit-rate: hit rate 65.7 %, expected at least 60.0 %"),
        (HEALTHY, ("--min-hit-rate", "0.8"), 1, "min-hit-rate: hit rate 65.7 %, expected at least 80.0 %"),
        (HEALTHY, ("--no-breaks",), 0, "no-breaks: no breaks in 3 calls"),
        (HEALTHY, ("--max-lost-usd", "0.001", *PRICE), 0, " lost, expected at most $0.001"),
        (BROKEN, ("--no-breaks",), 1, "no-breaks: 1 break, expected none: call 1 against 0 · /messages/0/content, "),
        (BROKEN, ("--no-breaks", "--allow", "clock-in-prefix"), 0, "no-breaks: no breaks in 3 calls, 1 allowed"),
        (BROKEN, ("--max-lost-usd", "0.001", *PRICE), 1, " lost, expected at most $0.001"),
        (BROKEN, ("--max-lost-usd", "9", *PRICE), 0, " lost, expected at most $9"),
        (SILENT, ("--no-breaks",), 0, "no-breaks: no breaks in 3 calls"),
        (SILENT, ("--min-hit-rate", "0"), 1, "could not check a hit rate of at least 0.0 %: none of 3 calls reports"),
        (HEALTHY + "{cut", ("--no-breaks",), 0, "no-breaks: no breaks in 3 calls"),
        (HEALTHY + UNREAD, ("--no-breaks",), 1, "could not check for breaks: the request of 1 of 4 calls could not be"),
    ],
)
def test_exit_code_and_words(hitrate, log, text, arguments, code, says):
    done = hitrate("check", log(text), *arguments)
    assert says in done.out
    assert done.code == code


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "nothing to check: state --min-hit-rate SHARE, --no-breaks or --max-lost-usd USD"),
        (("--min-hit-rate", "80"), "80"),
        (("--min-hit-rate", "nan"), "nan"),
        (("--max-lost-usd", "-1"), "-1"),
        (("--no-breaks", "--sarif", "no/such/folder/out.sarif"), "cannot write no/such/folder/out.sarif"),
        (("--no-breaks", "--format", "nonesuch"), "no log format called 'nonesuch'"),
    ],
)
def test_what_cannot_be_asked(hitrate, log, arguments, says):
    done = hitrate("check", log(HEALTHY), *arguments)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


@pytest.mark.parametrize("text", ["", "<html>", "no json at all\nnor here\n"])
def test_bad_input_is_no_failed_check(hitrate, log, text):
    assert hitrate("check", log(text), "--no-breaks").code == 2


def test_a_file_that_is_not_there(hitrate):
    assert hitrate("check", "nowhere.jsonl", "--no-breaks").code == 2


def test_json_fits_its_schema_and_says_what_did_not_hold(hitrate, log):
    done = hitrate("check", log(BROKEN), "--no-breaks", "--min-hit-rate", "0.5", "--json")
    found = done.json
    assert (done.code, found["passed"], found["hit_rate"]) == (1, False, 0.0)
    assert [(gate["expectation"], gate["outcome"], gate["seen"]) for gate in found["gates"]] == [
        ("min-hit-rate", "failed", 0.0),
        ("no-breaks", "failed", 1.0),
    ]
    assert [one["cause"] for one in found["findings"]] == ["clock-in-prefix"]
    assert "failed: min-hit-rate: hit rate 0.0 %, expected at least 50.0 %\n" in done.err


def test_csv_and_markdown(hitrate, log):
    done = hitrate("check", log(SILENT), "--min-hit-rate", "0.5", "--csv")
    (row,) = csv.DictReader(io.StringIO(done.out))
    assert (row["expectation"], row["outcome"], row["stated"], row["seen"]) == (
        "min-hit-rate",
        "not checked",
        "0.5",
        "",
    )
    done = hitrate("check", log(HEALTHY), "--min-hit-rate", "0.5", "--markdown")
    assert "| min-hit-rate | held | 0.5 | 0.656" in done.out
    assert done.out.startswith("### check · ")


def test_sarif_page_and_annotations(hitrate, log, tmp_path):
    sarif, page = tmp_path / "out.sarif", tmp_path / "out.html"
    done = hitrate("check", log(BROKEN), "--no-breaks", "--sarif", sarif, "--html", page, "--github")
    assert done.code == 1
    (result,) = json.loads(sarif.read_text())["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("clock-in-prefix", "error")
    assert "clock-in-prefix" in page.read_text()
    annotations = [line for line in done.err.splitlines() if line.startswith("::")]
    assert annotations[0].startswith("::error file=")
    assert "title=hitrate check%3A no-breaks::1 break, expected none" in annotations[0]
    assert "title=hitrate%3A clock-in-prefix::The time in the system prompt" in annotations[1]
    assert "::" not in done.out.replace("::1", "")


def test_an_allowed_cause_is_not_annotated(hitrate, log):
    done = hitrate("check", log(BROKEN), "--no-breaks", "--allow", "clock-in-prefix", "--github")
    assert "::" not in done.err


def test_a_misspelt_cause_is_said(hitrate, log):
    done = hitrate("check", log(BROKEN), "--no-breaks", "--allow", "clokc-in-prefix")
    assert done.code == 1
    assert "--allow clokc-in-prefix: no cause of this name is known; did you mean clock-in-prefix?" in done.err


def test_redacted_output_has_nothing_of_the_prompt(hitrate, log, tmp_path):
    sarif = tmp_path / "out.sarif"
    arguments = ("check", log(BROKEN), "--no-breaks", "--redact", "--github", "--sarif", sarif)
    for form in ((), ("--json",), ("--csv",), ("--markdown",)):
        done = hitrate(*arguments, *form)
        assert done.code == 1
        text = done.out + done.err + sarif.read_text()
        assert "clock-in-prefix" in text
        for word in ("09:14", "UTC", "nursery", "support agent"):
            assert word not in text


def test_hostile_text_opens_no_command(hitrate, log):
    def request(turn):
        system = f"{turn}\n::error::\x1b[31m{HANDBOOK}"
        return {"body": {"model": "m", "messages": [{"role": "system", "content": system}]}}

    hostile = lines(request(0), request(1))
    done = hitrate("check", log(hostile), "--no-breaks", "--github")
    assert "\x1b" not in done.out + done.err
    assert not [line for line in done.out.splitlines() if line.lstrip().startswith(("::", "##["))]
