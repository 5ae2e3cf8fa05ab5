"""An explanation in every format: whole outputs, to the letter."""

from __future__ import annotations

import csv
import io
import json
import re

import explained
import jsonschema
import pytest
from msgspec.structs import replace

from hitrate.core.findings import RecordSums
from hitrate.core.records import Skipped
from hitrate.report import github
from hitrate.report.formats import render
from hitrate.report.json import schema
from hitrate.report.kinds.explain import change, cost, first_line, lines, place, title
from hitrate.report.plots_explain import bars, points

TABLE = """\
call 1 against 0 · /messages/0/content, character 31 · "07 UTC\\n\\nYou are" became "21 UTC\\n\\nYou
are" · about 4,120 tokens, $0.0103 lost: clock-in-prefix · and 2 more findings

finding 1 · clock-in-prefix · you can change this · certain
  The time in the system prompt changed from 09:14:07 to 09:14:21; it can change every second.
  what to do: Move the time behind the stable text.
  call 1 against 0 · /messages/0/content, character 31 · about 4,120 tokens, $0.0103 lost
  "07 UTC\\n\\nYou are" became "21 UTC\\n\\nYou are"
  31 characters of prompt in front are shared, 0.2 % of the later prompt
  shows in 2 calls of session garden: 1, 2
  ruled out: another model; expiry: 14 s passed

finding 2 · tool-order · you can change this · likely
  The same 2 tools stand in another order.
  what to do: Sort the tools by name.
  call 4 against 3 · /tools · about 900 tokens lost
  order_lookup, refund became refund, order_lookup
  0 characters of prompt in front are shared, 0.0 % of the later prompt
  shows once of session depot

finding 3 · provider-missed · provider suspected · possible
  The text only grew, and nothing was served.
  call 5 against 4 · loss not known
  the vendor's own diagnosis: tools_changed; it disagrees

where the prompt tokens went
                                           share       cost
prompt tokens   cause             tokens       %          $
───────────────────────────────────────────────────────────
served                             4,000    33.3      0.001
new                                ≈ 980   ≈ 8.2  ≈ 0.00245
behind a break  clock-in-prefix  ≈ 4,120  ≈ 34.3   ≈ 0.0103
behind a break  tool-order         ≈ 900   ≈ 7.5          –
not reported                     ≈ 2,000  ≈ 16.7          –
all                               12,000   100.0          –

sessions
         calls  prompt     hit  │    lost  lost
session      n  tokens  rate %  │  tokens     $
───────────────────────────────────────────────
garden       3   7,000    50.0  │   4,120     –
depot        3   5,000    10.0  │     900     –

hit rate 40.0 % over the calls that report cached tokens
in all about 5,020 tokens, $0.0103 lost; the money is what they cost above the price of cached ones
for 1 of 6 calls not every amount is known: the sums of money leave it out
≈ estimated from the reported prompt tokens and the text; the others were reported
expected by openai-2026-09
Tools are taken to stand in front of the system prompt.
logs/agent.jsonl, read as pairs: 6 calls in 2 sessions
warning: logs/agent.jsonl, line 7, column 120: expected JSON: the line ends inside a string; not
used
line 3: byte-order mark in front of the record
"""

HEALTHY = """\
nothing found that breaks the prefix cache: 3 calls in 1 session · hit rate 66.7 %, no tokens lost

where the prompt tokens went
                                share     cost
prompt tokens  cause   tokens       %        $
──────────────────────────────────────────────
served                  6,000    66.7   0.0018
new                   ≈ 3,000  ≈ 33.3  ≈ 0.009
all                     9,000   100.0   0.0108

hit rate 66.7 % over the calls that report cached tokens
≈ estimated from the reported prompt tokens and the text; the others were reported
expected by openai-2026-09
logs/agent.jsonl, read as pairs: 3 calls in 1 session
"""


def written(value, format: str, **options) -> str:
    out = io.StringIO()
    render(value, format, out, **options)
    return out.getvalue()


@pytest.mark.parametrize(("report", "expected"), [(explained.BROKEN, TABLE), (explained.HEALTHY, HEALTHY)])
def test_whole_table(report, expected):
    assert written(report, "table", width=100) == expected


def test_a_log_that_reports_nothing_is_not_called_a_log_without_hits():
    first = written(explained.SILENT, "table", width=200).splitlines()[0]
    assert first == (
        "nothing found that breaks the prefix cache: 3 calls in 1 session · cached tokens not reported, so no hit rate"
    )


@pytest.mark.parametrize(
    ("change_of", "line"),
    [
        ({}, '07 UTC\\n\\nYou are" became "21 UTC\\n\\nYou are" · about 4,120 tokens, $0.0103 lost: clock-in-prefix'),
        ({"was": None}, 'character 31 · added "21 UTC\\n\\nYou are" · about'),
        ({"now": ""}, 'character 31 · removed "07 UTC\\n\\nYou are" · about'),
        ({"was": "a\u00a0b", "now": "a b"}, '"a\\xa0b" became "a b"'),
        ({"was": "x" * 41, "now": "y" * 40}, f'"{"x" * 40}…" became "{"y" * 40}"'),
        ({"offset": None, "was": "member a", "now": "member b"}, "/messages/0/content · member a became member b ·"),
        ({"pointer": "", "offset": None}, "against 0 · the whole body ·"),
        ({"call": None, "against": None}, "calls 1, 2 · /messages/0/content, character 31 ·"),
        ({"lost_tokens": None}, "· loss not known: clock-in-prefix"),
        ({"lost_tokens": None, "verdict": "pricing"}, 'You are": clock-in-prefix'),
        ({"lost_tokens": 1, "lost_usd": None}, "· about 1 token lost: clock-in-prefix"),
        ({"lost_tokens": 0, "lost_usd": 0.0}, "· no tokens lost: clock-in-prefix"),
    ],
)
def test_first_line_of_a_finding(change_of, line):
    assert line in first_line(replace(explained.CLOCK, **change_of))


@pytest.mark.parametrize(
    ("report", "left_out", "line"),
    [
        (
            explained.HEALTHY,
            1,
            "nothing found that breaks the prefix cache: 3 calls in 1 session · the request of 1 of 3 calls",
        ),
        (explained.HEALTHY, 3, "nothing could be compared: the request of 3 of 3 calls could not be read · "),
        (explained.BROKEN, 2, " · the request of 2 of 6 calls could not be read"),
    ],
)
def test_the_first_line_tells_of_requests_that_were_left_out(report, left_out, line):
    assert line in title(replace(report, records=replace(report.records, left_out=left_out)))


def test_a_record_that_was_left_out_is_told_from_one_that_was_not_used():
    skipped = (Skipped(line=4, reason="cut off"), Skipped(line=5, reason="no prompt", counted=True))
    told = [
        one.text
        for one in lines(replace(explained.HEALTHY, records=RecordSums(read=4, used=3, damaged=1, skipped=skipped)))
    ]
    assert [text for text in told if ", line " in text] == [
        f"{explained.HEALTHY.log}, line 4: cut off; not used",
        f"{explained.HEALTHY.log}, line 5: no prompt; not compared, its counts are used",
    ]


@pytest.mark.parametrize(
    ("was", "now", "shown"),
    [
        ("\u00e9t\u00e9", "e\u0301te\u0301", '"\\xe9t\\xe9" became "e\\u0301te\\u0301"'),
        ("\uac00", "\u1100\u1161", '"\\uac00" became "\\u1100\\u1161"'),
        ("\u00e9t\u00e9", "et\u00e9", '"été" became "eté"'),
        ("\u00a0Ж", " Ж", '"\\xa0Ж" became " Ж"'),
        ("\u200bЖ", "Ж", '"\\u200bЖ" became "Ж"'),
    ],
)
def test_two_forms_of_one_letter_look_different(was, now, shown):
    assert change(replace(explained.CLOCK, was=was, now=now)) == shown


STREAM = replace(
    explained.MISSED,
    verdict="reporting",
    cause="stream-totals-repeated",
    call=None,
    against=None,
    voice="observation",
    vendor=None,
    summary="Nothing is lost. Streams tell their input counters twice.",
)


@pytest.mark.parametrize(
    ("calls", "occurrences", "which"),
    [
        ((), 1, "the whole log"),
        ((2,), 1, "call 2"),
        ((0, 2, 4), 3, "calls 0, 2, 4"),
        (tuple(range(100)), 1200, "1,200 calls: 0, 1, 2, 3, 4, 5, 6, 7, …"),
    ],
)
def test_a_finding_on_a_whole_log_says_what_it_means_and_of_which_calls(calls, occurrences, which):
    finding = replace(STREAM, calls=calls, occurrences=occurrences)
    told = "Nothing is lost. Streams tell their input counters twice"
    assert first_line(finding) == f"{which} · {told}: stream-totals-repeated"
    text = written(replace(explained.HEALTHY, findings=(finding,)), "table", width=200)
    assert f"\n  {told}.\n  {which}\n\n" in text
    annotated = io.StringIO()
    github.render(replace(explained.HEALTHY, findings=(finding,)), annotated)
    assert annotated.getvalue().count(told) == 1 and which in annotated.getvalue()


@pytest.mark.parametrize(
    ("labels", "unpriced", "said"),
    [
        (
            (explained.label("served", 6000, 2 / 3), explained.label("new", 3000, 1 / 3)),
            3,
            "no price is known for these calls: name one with --price",
        ),
        (
            (explained.label("not reported", 9000, 1.0),),
            3,
            "for 3 of 3 calls not every amount is known: the sums of money leave it out",
        ),
        (
            (explained.label("served", 6000, 2 / 3, 0.1), explained.label("new", 3000, 1 / 3)),
            1,
            "for 1 of 3 calls not every amount is known: the sums of money leave it out",
        ),
    ],
)
def test_money_that_is_not_known(labels, unpriced, said):
    waterfall = replace(explained.HEALTHY.waterfall, labels=labels, unpriced_calls=unpriced)
    text = written(replace(explained.HEALTHY, waterfall=waterfall), "table", width=200)
    assert [line for line in text.splitlines() if "price" in line or "amount" in line] == [said]


def test_one_character_is_one():
    finding = replace(explained.CLOCK, cacheable_chars=1)
    text = written(replace(explained.BROKEN, findings=(finding,)), "table", width=200)
    assert "  1 character of prompt in front is shared, 0.2 % of the later prompt\n" in text


def test_small_amounts_are_plain_decimals():
    waterfall = replace(explained.HEALTHY.waterfall, labels=(explained.label("new", 9, 1.0, 1.25e-05),))
    report = replace(explained.HEALTHY, waterfall=waterfall, findings=(replace(explained.CLOCK, lost_usd=3e-05),))
    for format in ("table", "markdown", "csv", "html"):
        text = written(report, format)
        assert "0.00003" in text and not re.search(r"\d[eE]-\d", text)
    assert "≈ 0.0000125" in written(report, "table")


def test_parts_of_the_first_line():
    assert place(explained.MISSED) == ""
    assert change(explained.MISSED) == ""
    assert cost(explained.MISSED) == "loss not known"
    assert first_line(explained.MISSED) == "call 5 against 4 · loss not known: provider-missed"
    assert first_line(explained.MISSED, with_cost=False) == "call 5 against 4: provider-missed"


def test_markdown_marks_estimates_and_lists_findings():
    lines = written(explained.BROKEN, "markdown").splitlines()
    assert lines[0].startswith("### call 1 against 0 · /messages/0/content, character 31 · ")
    assert "#### finding 1 · clock-in-prefix · you can change this · certain" in lines
    assert "- what to do: Move the time behind the stable text." in lines
    assert "| served |  | 4,000 | 33.3 | 0.001 |" in lines
    assert "| behind a break | clock-in-prefix | *≈ 4,120* | *≈ 34.3* | *≈ 0.0103* |" in lines
    assert "| garden | 3 | 7,000 | 50.0 | *4,120* | *–* |" in lines


def test_csv_has_one_row_a_finding_and_no_zero_for_unknown():
    rows = list(csv.DictReader(io.StringIO(written(explained.BROKEN, "csv"))))
    assert [row["cause"] for row in rows] == ["clock-in-prefix", "tool-order", "provider-missed"]
    assert rows[0] == {
        "verdict": "prefix_break",
        "cause": "clock-in-prefix",
        "call": "1",
        "against": "0",
        "pointer": "/messages/0/content",
        "offset": "31",
        "was": "07 UTC\\n\\nYou are",
        "now": "21 UTC\\n\\nYou are",
        "cacheable_chars": "31",
        "cacheable_share": "0.0019",
        "lost_tokens": "4120",
        "lost_usd": "0.0103",
        "voice": "yours to change",
        "confidence": "certain",
        "summary": explained.CLOCK.summary,
        "advice": "Move the time behind the stable text.",
        "ruled_out": "another model; expiry: 14 s passed",
        "calls": "1 2",
        "occurrences": "2",
        "session": "garden",
        "vendor": "",
        "line": "2",
        "against_line": "1",
    }
    assert (rows[2]["lost_tokens"], rows[2]["lost_usd"], rows[2]["pointer"]) == ("", "", "")


@pytest.mark.parametrize("report", [explained.BROKEN, explained.HEALTHY, explained.SILENT, explained.HOSTILE])
def test_json_fits_its_schema_and_has_the_keys_others_build_on(report):
    document = json.loads(written(report, "json"))
    jsonschema.Draft202012Validator(schema("explain")).validate(document)
    assert next(iter(document)) == "schema_version"
    assert {"rule_set", "calls", "records", "findings", "waterfall"} <= set(document)
    assert {"read", "used", "skipped"} <= set(document["records"])
    assert all({"line", "reason"} <= set(one) for one in document["records"]["skipped"])
    wanted = (
        "verdict cause call against pointer offset was now cacheable_chars lost_tokens lost_usd voice confidence "
        "ruled_out advice"
    )
    assert all(set(wanted.split()) <= set(one) for one in document["findings"])
    assert len(document["findings"]) == len(report.findings)


def test_json_of_a_hit_rate_above_one_is_refused():
    document = json.loads(written(explained.BROKEN, "json"))
    document["waterfall"]["hit_rate"] = 40.0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema("explain")).validate(document)


def test_many_findings_and_sessions_are_folded():
    sessions = tuple(explained.session(f"s{number}", (number,), 1000, 0.5, number) for number in range(50))
    report = replace(explained.BROKEN, findings=(explained.CLOCK,) * 25, by_session=sessions)
    text = written(report, "table", width=100)
    assert "finding 20 · " in text
    assert "finding 21 · " not in text
    assert "5 further findings: --json and --csv list all" in text
    assert "  20 of 50 sessions, those that lost most; --json lists all" in text
    assert re.findall(r"^(s\d+) ", text, re.MULTILINE)[:2] == ["s49", "s48"]
    assert len(re.findall(r"^s\d+ ", text, re.MULTILINE)) == 20


@pytest.mark.parametrize("width", range(20, 61, 4))
def test_no_screen_is_too_narrow_for_an_amount(width):
    text = written(explained.BROKEN, "table", width=width)
    figures = ("≈ 4,120", "≈ 34.3", "≈ 0.00245", "12,000", "7,000", "0.001")
    assert [figure for figure in figures if not re.search(rf"(?<![\d.,]){figure}(?![\d.,])", text)] == []


def test_a_pipe_gets_the_answer_in_one_line(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert written(explained.BROKEN, "table").splitlines()[0] == (
        'call 1 against 0 · /messages/0/content, character 31 · "07 UTC\\n\\nYou are" became "21 UTC\\n\\nYou are" · '
        "about 4,120 tokens, $0.0103 lost: clock-in-prefix · and 2 more findings"
    )


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("report", [explained.BROKEN, explained.HOSTILE])
def test_no_line_is_wider_than_the_terminal(report, width):
    assert max(map(len, written(report, "table", width=width).splitlines())) <= width


def test_the_page_shows_findings_plots_and_numbers():
    page = written(explained.BROKEN, "html")
    assert "<h1>Explanation of logs/agent.jsonl</h1>" in page
    assert '<span class="figure">$0.0103</span>' in page
    assert page.count("<article>") == 3
    assert page.count("<svg ") == 4
    assert "all calls: served 4,000 tokens, new 980 tokens, behind a break 5,020 tokens, not reported 2,000" in page
    assert "call 0 0.0 %, call 1 2.0 %, call 2 95.0 %, call 5 not reported" in page
    assert '<td class="number estimated">≈ 4,120</td>' in page
    assert page.count('class="break"') == 2 * 3
    assert 'class="part-2"' in page


@pytest.mark.parametrize(
    ("report", "figure"),
    [
        (explained.HEALTHY, '<span class="figure">66.7 %</span>'),
        (
            replace(explained.BROKEN, waterfall=replace(explained.BROKEN.waterfall, lost_usd=None)),
            '<span class="figure">41.8 %</span>',
        ),
    ],
)
def test_the_figure_of_a_page_without_money(report, figure):
    assert figure in written(report, "html")


@pytest.mark.parametrize(
    ("findings", "calls", "words"),
    [(3, 6, "in 6 calls, 3 causes found"), (1, 6, "in 6 calls, 1 cause found"), (1, 1, "in 1 call, 1 cause found")],
)
def test_a_page_counts_calls_and_causes(findings, calls, words):
    broken = explained.BROKEN
    report = replace(broken, findings=broken.findings[:findings], waterfall=replace(broken.waterfall, calls=calls))
    assert words in written(report, "html")


def test_a_page_of_a_log_that_reports_nothing_has_no_figure():
    assert 'class="headline"' not in written(explained.SILENT, "html")


def test_bars_add_up_and_points_are_marked():
    made = bars(explained.BROKEN)
    assert [bar.name for bar in made] == ["all calls", "session garden", "session depot"]
    assert all(sum(tokens for _, tokens in bar.parts) == bar.prompt_tokens for bar in made)
    assert [(one.call, one.has_finding) for one in points(explained.BROKEN)] == [
        (0, False),
        (1, True),
        (2, True),
        (5, True),
    ]
