"""`hitrate report`: the sums of `cost` and `explain`, what each fix saves, and what is said where little is known."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from test_whatif_command import CLOCK, HEALTHY, KEY_ORDER, TOOL_ORDER, claude_log, log, messages

from hitrate.core.business_case import DAY_S

PRICE = ("--price", "3,0.3,15,3.75,6")
RULE = ("--provider", "openai")


@pytest.fixture
def report(hitrate, file):
    def run(text: str, *options: str) -> dict[str, Any]:
        outcome = hitrate("report", file("log.jsonl", text), *options, "--json")
        assert outcome.code == 0, outcome.err
        return outcome.json

    return run


def words(hitrate, path, *options: str) -> str:
    outcome = hitrate("report", path, *options)
    assert outcome.code == 0, outcome.err
    return outcome.out


def only_usage(text: str) -> str:
    lines = [json.loads(line) for line in text.splitlines()]
    return "\n".join(json.dumps({"at": one["at"], "response": one["response"]}) for one in lines) + "\n"


@pytest.mark.parametrize("text", [CLOCK, TOOL_ORDER, KEY_ORDER, HEALTHY, claude_log(), only_usage(claude_log())])
def test_sums_are_those_of_cost_and_explain(hitrate, report, file, text) -> None:
    found = report(text, *PRICE)
    cost = hitrate("cost", file("log.jsonl", text), *PRICE, "--json").json
    explained = hitrate("explain", file("log.jsonl", text), *PRICE, "--json").json
    now = found["now"]
    for name in ("calls", "prompt_tokens", "cached_tokens", "hit_rate", "usd", "usd_without_caching", "usd_saved"):
        assert now[name] == cost[name], name
    assert found["waterfall"] == explained["waterfall"]
    assert found["reachable"]["lost_tokens"] == explained["waterfall"]["lost_tokens"]
    assert found["reachable"]["saved_usd"] == pytest.approx(explained["waterfall"]["lost_usd"])
    assert sum(one["estimated"]["saved_usd"] for one in found["fixes"]) == pytest.approx(
        found["reachable"]["saved_usd"]
    )
    labels = sum(one["usd"] for one in found["waterfall"]["labels"])
    assert labels + now["output_usd"] == pytest.approx(now["usd"])


def test_every_figure_says_how_it_is_known(report) -> None:
    found = report(CLOCK, *PRICE, *RULE)
    (fix,) = found["fixes"]
    assert (found["now"]["basis"], found["reachable"]["basis"]) == ("measured", "estimated")
    assert (fix["estimated"]["basis"], fix["predicted"]["basis"]) == ("estimated", "predicted")


@pytest.mark.parametrize(
    ("text", "cause", "rewrite"),
    [
        (CLOCK, "clock-in-prefix", "move-clock-last"),
        (TOOL_ORDER, "tool-order", "sort-tools"),
        (KEY_ORDER, "schema-key-order", "sort-keys"),
    ],
)
def test_a_cause_that_a_rewrite_mends_is_predicted_as_whatif_does(hitrate, report, file, text, cause, rewrite) -> None:
    found = report(text, *PRICE)
    (fix,) = found["fixes"]
    whatif = hitrate("whatif", file("log.jsonl", text), f"--{rewrite}", *PRICE, "--json").json
    before, after = whatif["scenarios"]
    assert (fix["cause"], fix["voice"], fix["predicted"]["rewrite"]) == (cause, "yours to change", rewrite)
    for name, expected in (
        ("hit_rate_as_sent", before["hit_rate"]),
        ("hit_rate", after["hit_rate"]),
        ("usd", after["usd"]),
    ):
        assert fix["predicted"][name] == expected
    assert fix["predicted"]["saved_usd"] == after["saved_usd"]
    assert found["prediction"]["error"] == whatif["prediction_error"]
    assert found["prediction"]["together"] == fix["predicted"]


def test_findings_of_one_cause_in_many_conversations_are_one_fix(report) -> None:
    rules = {shop: " ".join(f"{shop} sells {shop}{number}." for number in range(400)) for shop in ("tea", "oak", "ink")}
    bodies = [
        {"messages": messages(turn, f"Now: 2026-03-11 09:14:{7 + turn:02} UTC\n\n{rules[shop]}")}
        for shop in rules
        for turn in range(3)
    ]
    lines = log(bodies, (0,) * 9, range(0, 540, 60), (1428, 1482, 1520) * 3).splitlines()
    shops = [list(rules)[number // 3] for number in range(9)]
    lines = [re.sub("roses|photograph", shop, line) for shop, line in zip(shops, lines, strict=True)]
    found = report("\n".join(lines), *PRICE, "--no-predict")
    (fix,) = found["fixes"]
    assert (fix["cause"], fix["findings"], fix["conversations"], fix["calls"]) == ("clock-in-prefix", 3, 3, 6)
    assert fix["pointers"] == ["/messages/0/content"]
    assert (
        fix["estimated"]["lost_tokens"]
        == found["reachable"]["lost_tokens"]
        == sum(one["lost_tokens"] for one in found["lost"])
    )
    assert (fix["predicted"], found["prediction"]) == (None, None)


def test_a_healthy_log_has_nothing_to_fix(hitrate, file) -> None:
    path = file("log.jsonl", HEALTHY)
    found = hitrate("report", path, *PRICE, "--json").json
    assert (found["fixes"], found["reachable"]["saved_usd"], found["no_prediction"]) == ([], 0.0, None)
    out = words(hitrate, path, *PRICE)
    assert out.startswith("log.jsonl: $0.00609 spent, nothing found that was avoidable\n")
    assert "Avoidable: No loss was found." in out


def test_a_longer_life_is_weighed_against_what_it_costs(hitrate, report, file) -> None:
    found = report(claude_log(), *PRICE)
    (fix,) = found["fixes"]
    assert (fix["cause"], fix["predicted"]["rewrite"]) == ("expired", "ttl")
    assert {way["name"] for way in found["lifetimes"]} == {"5m", "1h", "keep-alive"}
    assert [(one["lifetime"], one["calls"]) for one in found["break_even"]] == [("usual", 2), ("1h", 3)]
    usd = {way["name"]: way["usd"] for way in found["lifetimes"]}
    saved = usd["5m"] - usd["1h"]
    out = words(hitrate, file("log.jsonl", claude_log()), *PRICE)
    assert f"over all pauses one-hour entries would have saved ${saved:.3g}".replace("e-05", "") in out


def test_counts_alone_say_what_was_lost_and_not_what_changed(hitrate, report, file) -> None:
    text = only_usage(claude_log())
    found = report(text, *PRICE)
    assert found["reachable"]["lost_tokens"] > 1400
    assert [one["predicted"] for one in found["fixes"]] == [None]
    assert "The log holds counts and no requests" in words(hitrate, file("log.jsonl", text), *PRICE)


def test_without_a_price_the_case_is_made_in_tokens(hitrate, report, file) -> None:
    found = report(CLOCK)
    assert (found["now"]["usd"], found["reachable"]["saved_usd"], found["per_month"]) == (None, None, None)
    assert found["reachable"]["lost_tokens"] > 2000
    out = words(hitrate, file("log.jsonl", CLOCK))
    assert "of all prompt tokens could have come from cache and did not; the bill is not known" in out
    assert "Spent: Not known: no model named." in out


def test_without_usage_nothing_is_taken_for_nothing(hitrate, report, file) -> None:
    lines = [json.loads(line) for line in CLOCK.splitlines()]
    text = "\n".join(json.dumps({"at": one["at"], "body": one["body"]}) for one in lines)
    found = report(text, *PRICE)
    assert (found["now"]["usd"], found["now"]["hit_rate"], found["reachable"]["lost_tokens"]) == (None, None, None)
    assert [fix["cause"] for fix in found["fixes"]] == ["clock-in-prefix"]
    out = words(hitrate, file("log.jsonl", text), *PRICE)
    assert out.startswith("log.jsonl: the bill is not known, what was lost to 1 cause is not known")
    assert "Spent: Not known: the log holds no token counts." in out


def test_no_month_from_less_than_a_day(report) -> None:
    found = report(CLOCK, *PRICE)
    assert (found["per_month"], found["span"]["calls"]) == (None, 3)
    assert found["no_month"] == "a log of less than a day does not say how often such hours come in a month"


@pytest.mark.parametrize(("days", "strength"), [(2, "weak"), (10, "fair")])
def test_a_month_at_the_pace_of_the_log(report, days, strength) -> None:
    bodies = [{"messages": messages(turn)} for turn in range(3)]
    found = report(log(bodies, gaps=(0, 60, int(days * DAY_S))), *PRICE)
    month = found["per_month"]
    assert (month["strength"], month["calls"]) == (strength, 3 * 30 // days)
    assert month["usd"] == pytest.approx(found["now"]["usd"] * 30 / days)


def test_a_month_of_as_many_calls_as_given(report) -> None:
    found = report(CLOCK, *PRICE, "--calls-per-month", "3000000")
    month = found["per_month"]
    assert (month["strength"], month["calls"]) == ("as given", 3_000_000)
    assert month["usd"] == pytest.approx(found["now"]["usd"] * 1_000_000)
    assert found["per_1000_calls"]["usd"] == pytest.approx(found["now"]["usd"] * 1000 / 3)


def test_times_to_first_token_only_where_the_log_has_them(report) -> None:
    assert report(CLOCK, *PRICE)["ttft"] is None
    lines = [json.loads(line) for line in HEALTHY.splitlines()]
    for line, ttft_ms in zip(lines, (1900, 350, 350), strict=True):
        line["response"]["ttft_ms"] = ttft_ms
    found = report("\n".join(map(json.dumps, lines)), *PRICE)["ttft"]
    assert (found["cold"]["calls"], found["cold"]["p95_ms"]) == (1, 1900)
    assert (found["warm"]["calls"], found["warm"]["p95_ms"]) == (2, 350)
    assert found["speedup_p95_x"] == pytest.approx(5.4, abs=0.05)
    assert found["speedup"] is None


def test_nothing_of_the_prompts_in_a_redacted_report(hitrate, file) -> None:
    path = Path(file("log.jsonl", CLOCK)).resolve()
    for options in (("--json",), ("--markdown",), ("--csv",), ()):
        shown = hitrate("report", path, *PRICE, *options).out
        hidden = hitrate("report", path, *PRICE, "--redact", *options).out
        assert "09:14:0" in shown or "UTC" in shown
        assert "09:14:" not in re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d (to|UTC)", "", hidden)
        assert "nursery" not in hidden
        assert str(path.parent) not in hidden
    assert (
        hitrate("report", path, *PRICE, "--redact", "--json").json["fixes"][0]["predicted"]["rewrite"]
        == "move-clock-last"
    )


def test_standard_input_is_read_once_and_not_replayed(hitrate, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(CLOCK.encode()))))
    found = hitrate("report", "-", *PRICE, "--json").json
    assert (len(found["fixes"]), found["prediction"]) == (1, None)
    assert "read only once" in found["no_prediction"]


def test_the_page_is_complete_and_text_of_others_does_nothing(hitrate, file, tmp_path) -> None:
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    bodies = [{"messages": messages(turn, f"Now: 09:14:{7 + turn:02} {hostile}")} for turn in range(3)]
    page = tmp_path / "case.html"
    outcome = hitrate("report", file("log.jsonl", log(bodies)), *PRICE, "--title", hostile, "--html", page)
    assert outcome.code == 0
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text and "<img" not in text
    assert re.findall(r"(?:src|href)=\"(?!#)|url\(|@import|https?://(?!www\.w3\.org)", text) == []
    assert "&lt;/script&gt;" in text
    assert text.count("<figure>") >= 3


def test_an_empty_file_and_an_unknown_run_are_errors(hitrate, file) -> None:
    assert hitrate("report", file("empty.jsonl", "")).code == 2
    assert hitrate("report", "no-such-run").code == 2


def test_a_stored_run_is_reported(hitrate, file) -> None:
    outcome = hitrate("import", file("log.jsonl", CLOCK))
    assert outcome.code == 0, outcome.err
    (run,) = hitrate("runs", "--json").json["runs"]
    found = hitrate("report", run["id"], *PRICE, "--json").json
    assert [fix["cause"] for fix in found["fixes"]] == ["clock-in-prefix"]
    assert found["prediction"] is not None


def test_markdown_to_the_letter(hitrate, file) -> None:
    """The whole report of a clock in three requests: every figure, every word of method, every unknown."""
    expected = (Path(__file__).parents[1] / "data" / "report.md").read_text(encoding="utf-8")
    assert hitrate("report", file("log.jsonl", CLOCK), *PRICE, "--markdown").out == expected
