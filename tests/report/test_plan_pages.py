"""A plan in all formats: what is chosen, by what, and what is to be copied."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace
from planned import ROUTER, planned
from test_html import Page

from hitrate.core.simulation_results import Goal, SimulateResult
from hitrate.report.formats import render
from hitrate.report.json import schema
from hitrate.sim.plan import make_plan

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def written(result: SimulateResult, format: str, **options: Any) -> str:
    out = io.StringIO()
    render(result, format, out, **options)
    return out.getvalue()


def with_router(**changes: str) -> SimulateResult:
    result = planned()
    assert result.plan is not None
    choice = replace(result.plan.choices[0], configurations=(replace(ROUTER, **changes),))
    return replace(result, plan=replace(result.plan, choices=(choice,)))


TABLE = """\
plan: the cheapest by dollars for the GPUs with a time to first token of at most 2.5 s at the p99
                                                     blocks    GiB     GiB     hit  GPUs   TTFT
plan                     replicas  policy              each   each  in all  rate %     $  p99 s
───────────────────────────────────────────────────────────────────────────────────────────────
nothing better for less         1  –                  1,024  64.00   64.00   10.00  1.25     16
nothing better for less         2  session-affinity   1,024  64.00     128   30.00  2.50      6
chosen                          4  session-affinity   1,024  64.00     256   35.00  5.00      2
nothing better for less         4  session-affinity   2,048    128     512   36.00  5.00   1.92

1,000 requests, 3,000 blocks, 2,000 of them distinct
4 replicas of 1,024 blocks (64.00 GiB) each by session-affinity: the cheapest that meets the goal, with 0.5 s to spare
  hit rate 35.00 %, time to first token p50 0.25 s, p90 0.75 s, p99 2 s, $5.00 for the GPUs, $5.00 a million prompt \
tokens, a step runs 65 % of the GPUs' time, the busiest replica computes 1.60 times the mean
  beside: one cache without a limit 40.00 %
  session affinity alone gets 35.0 % of the 40.0 % possible
  next policy at this size, round-robin: -21.00 points, TTFT p99 +2 s
  next cheaper, 2 replicas of 1,024 blocks (64.00 GiB) each by session-affinity: -5.00 points, TTFT p99 +4 s, -128 \
GiB, -$2.50 for the GPUs
  next dearer, 4 replicas of 2,048 blocks (128 GiB) each by session-affinity: +1.00 points, TTFT p99 -0.08 s, +256 GiB
warning: 4 replicas by session-affinity: the busiest computes 1.60 times the mean, so it is full before the others are
counted by tokens: tokens served / input tokens

4 replicas of 1,024 blocks (64.00 GiB) each by session-affinity: vllm-router 0.1.17
  python -m vllm_router.launch_router \\
    --policy consistent_hash
every request has to carry the header x-session-id; options as in https://pypi.org/project/vllm-router/
"""


def test_the_table_ends_with_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")

    assert written(planned(), "table").endswith("\n\n" + TABLE)


@pytest.mark.parametrize("statistic", ["mean", "p50", "p90", "p99"])
@pytest.mark.parametrize("width", [40, 60, 80, 110])
def test_the_time_that_is_asked_for_is_shown_however_narrow_the_screen(statistic: str, width: int) -> None:
    text = written(planned(Goal(statistic=statistic, seconds=2.5)), "table", width=width)
    rows, plan = text.partition("\nplan: ")[::2]

    for sheet in (rows, plan.partition("1,000 requests")[0]):
        assert re.search(rf"(TTFT:? )?\b{statistic}( s)?\b", sheet.partition("\n")[2])


def test_with_the_bill_alone_a_dearer_row_is_no_gain() -> None:
    rows = [replace(row, hosted_usd=10.0 * (row.hit_rate or 0.0), provisioned_usd=None) for row in planned().rows[:3:2]]
    rows = [replace(row, **dict.fromkeys(name for name in row.__struct_fields__ if "ttft" in name)) for row in rows]
    plan = make_plan(rows, range(2), None)
    result = replace(planned(), rows=(replace(rows[0], plan="chosen"), replace(rows[1], plan="front")), plan=plan)

    lines = written(result, "table", width=110).splitlines()
    assert [line.partition("  ")[0] for line in lines if line.startswith(("chosen", "dearer", "nothing"))] == [
        "chosen",
        "dearer, more hits",
    ]


def test_no_row_meets_the_goal() -> None:
    lines = written(planned(Goal(statistic="mean", seconds=0.1)), "table", width=500).splitlines()

    assert [line for line in lines if line.startswith("no row meets the goal")] == [
        "no row meets the goal; the nearest is 4 replicas of 2,048 blocks (128 GiB) each by session-affinity, 0.26 s "
        "above it: hit rate 36.00 %, time to first token p50 0.24 s, p90 0.72 s, p99 1.92 s, $5.00 for the GPUs, "
        "$5.00 a million prompt tokens, a step runs 64 % of the GPUs' time, the busiest replica computes 1.60 times "
        "the mean"
    ]


def test_markdown_has_configurations_as_code_that_cannot_be_left() -> None:
    text = written(with_router(text="serve ```\n# <b>not bold</b>\x1b[31m"), "markdown")

    assert "\n```sh\nserve ` ` `\n# <b>not bold</b>\\x1b[31m\n```\n" in text
    assert text.count("```") == 2


def test_many_configurations_are_left_to_other_formats() -> None:
    many = planned()
    assert many.plan is not None
    choice = replace(many.plan.choices[0], configurations=(ROUTER,) * 7)
    many = replace(many, plan=replace(many.plan, choices=(choice,)))

    assert written(many, "table").endswith("7 configurations to copy: --markdown, --html and --json have them\n")
    assert written(many, "markdown").count("```sh") == 7


def test_csv_says_what_the_plan_says_of_each_row() -> None:
    rows = list(csv.DictReader(io.StringIO(written(planned(), "csv"))))

    assert [(row["replicas"], row["policy"], row["plan"]) for row in rows] == [
        ("1", "", "front"),
        ("2", "round-robin", ""),
        ("2", "session-affinity", "front"),
        ("4", "round-robin", ""),
        ("4", "session-affinity", "chosen"),
        ("4", "session-affinity", "front"),
    ]
    assert (rows[0]["ttft_p99_s"], rows[0]["provisioned_usd"], rows[0]["hosted_usd"]) == ("16.0", "1.25", "")


def test_json_fits_its_schema() -> None:
    document = json.loads(written(planned(), "json"))

    jsonschema.validate(document, schema("simulate"))
    assert document["plan"]["choices"][0]["configurations"][0]["language"] == "sh"


@pytest.mark.parametrize(
    ("goal", "figure", "claim"),
    [
        (
            Goal(statistic="p99", seconds=2.5),
            "35.00 %",
            "hit rate of 4 replicas of 1,024 blocks (64.00 GiB) each by session-affinity",
        ),
        (Goal(statistic="p99", seconds=0.5), "+1.42 s", "above the goal: no row meets it"),
        (None, "35.00 %", "hit rate of 4 replicas of 1,024 blocks (64.00 GiB) each by session-affinity"),
    ],
)
def test_the_figure_that_the_page_is_about(goal: Goal | None, figure: str, claim: str) -> None:
    text = written(planned(goal), "html")

    assert f'<span class="figure">{figure}</span> <span class="claim">{claim}</span>' in text


def test_the_page_of_a_plan() -> None:
    text = written(planned(), "html")
    page = Page(text)

    assert re.findall(r"<h2>(.*?)</h2>", text) == [
        "What to deploy, and what it is measured by",
        "How long the first token takes",
        "Replicas and routing",
        "Memory",
        "Configurations to copy",
        "How this is known",
    ]
    titles = re.findall(r"<title id=.*?>(.*?)</title>", text)
    assert (
        titles[::2]
        == titles[1::2]
        == [
            "Time to first token against dollars for the GPUs",
            "Time to first token",
            "Hit rate over the number of replicas",
            "What the busiest replica computes",
            "Hit rate over the size of the cache",
        ]
    )
    assert "--policy consistent_hash" in page.text
    assert "87.5 %" in page.text


def test_policies_differ_by_shape_and_are_named_and_numbers_have_their_axis() -> None:
    text = written(planned(), "html")
    (plot,) = re.findall(r'<svg class="wide".*?against dollars.*?</svg>', text, re.DOTALL)

    assert re.findall(r"<text[^>]*>(one replica|round-robin|session-affinity)</text>", plot) == [
        "one replica",
        "round-robin",
        "session-affinity",
    ]
    assert plot.count('class="chosen"') == 1
    assert "goal 2.5 s" in plot
    assert plot.count("<circle") == 2 + 1  # one replica, and its place in the legend; the ring
    assert plot.count("h8.8v8.8") == 2 + 1
    assert plot.count("l6 6l-6 6") == 3 + 1


def test_what_others_wrote_is_shown_as_it_is() -> None:
    text = written(with_router(text="</pre><script>alert(1)</script>", software="<b>router"), "html")

    assert "<script>" not in text and "<b>router" not in text


def test_the_page_fits_a_phone_and_asks_nobody(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra `browser`)")
    found = os.environ.get("CHROME") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed, and CHROME names none")
    file = tmp_path / "plan.html"
    file.write_text(written(planned(), "html"), encoding="utf-8")
    faults: list[str] = []
    asked: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
        page.on("console", lambda message: faults.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        width = page.evaluate("document.documentElement.scrollWidth")
        plots = page.evaluate("[...document.querySelectorAll('svg')].filter(one => one.checkVisibility()).length")
        cut_off = page.evaluate(CUT_OFF)
        browser.close()
    assert (width, plots, cut_off, faults, asked) == (390, 5, [], [], [file.as_uri()])


CUT_OFF = """[...document.querySelectorAll('svg.narrow')].flatMap(plot => {
    const box = plot.getBoundingClientRect()
    return [...plot.querySelectorAll('text')].filter(text => {
        const own = text.getBoundingClientRect()
        return own.left < box.left - 1 || own.right > box.right + 1
    }).map(text => text.textContent)
})"""
"""Texts that stick out of their plot."""
