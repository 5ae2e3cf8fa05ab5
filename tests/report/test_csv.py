"""Whole outputs, to the letter, and cells that a spreadsheet must not run."""

from __future__ import annotations

import csv
import io

import pytest

from hitrate.core import results
from hitrate.report.csv import render

TEST = """\
run_id,target,model,run,session,turn,pad_tokens,prompt_tokens,cached_tokens,expected_cached_tokens,hit_rate,ttft_ms,state,prefill_ms,total_ms,output_tokens,note
r7k2m9,practice,small-model,sequential,1,1,,3012,0,0,0.0,740.04,cold,,,,
r7k2m9,practice,small-model,sequential,1,2,,3060,3008,3008,0.9830065359477124,36.04,hit,,,,
r7k2m9,practice,small-model,sequential,1,3,,3108,1504,3056,0.4839124839124839,402.5,partial,,,,
r7k2m9,practice,small-model,sequential,1,4,,3160,,3104,,37.25,not reported,,,,
r7k2m9,practice,small-model,sequential,1,5,,,,,,,failed,,,,stream cut after 12 tokens
"""

BENCH = """\
run_id,target,model,order,shape,call,role,prompt_tokens,cached_tokens,expected_cached_tokens,hit_rate,ttft_ms,state,prefill_ms,total_ms,note
rb3nch,practice,small-model,stable-first,opening,1,first,3000,0,0,0.0,740.0,cold,,,
rb3nch,practice,small-model,stable-first,opening,2,warm-up,3000,0,2960,0.0,735.0,warm-up,,,
rb3nch,practice,small-model,stable-first,opening,3,warm,3000,2960,2960,0.9866666666666667,36.0,hit,,,
rb3nch,practice,small-model,stable-first,opening,3,cold,3000,0,0,0.0,742.0,cold,,,
rb3nch,practice,small-model,stable-first,opening,4,warm,3000,2960,2960,0.9866666666666667,38.9,hit,,,
rb3nch,practice,small-model,variable-first,opening,1,first,3000,0,0,0.0,744.0,cold,,,
rb3nch,practice,small-model,variable-first,opening,2,warm,3000,0,0,0.0,712.0,cold,,,
"""


def written(value) -> str:
    out = io.StringIO()
    render(value, out)
    return out.getvalue()


@pytest.mark.parametrize(("name", "expected"), [("test_result", TEST), ("bench_result", BENCH)])
def test_whole_output(name, expected, request):
    assert written(request.getfixturevalue(name)) == expected


def test_every_call_is_there_however_many(many_sessions):
    rows = list(csv.DictReader(io.StringIO(written(many_sessions))))
    assert len(rows) == 600
    assert rows[-1] | {"run_id": ""} == {
        "run_id": "",
        "target": "practice",
        "model": "",
        "run": "parallel",
        "session": "300",
        "turn": "2",
        "pad_tokens": "",
        "prompt_tokens": "1100",
        "cached_tokens": "0",
        "expected_cached_tokens": "992",
        "hit_rate": "0.0",
        "ttft_ms": "50.0",
        "state": "miss",
        "prefill_ms": "",
        "total_ms": "",
        "output_tokens": "",
        "note": "",
    }


def test_text_that_would_be_a_formula_gets_an_apostrophe_and_numbers_do_not(hostile, comparison):
    (row,) = csv.DictReader(io.StringIO(written(hostile)))
    assert row["model"] == "'=cmd|' /C calc'!A0"
    assert row["target"] == r"m\x1b[31m\u202e[bold]|<script>alert(1)</script>\n=1+1"
    differences = [row["hit_rate_difference"] for row in csv.DictReader(io.StringIO(written(comparison)))]
    assert differences[1].startswith("-0.02")


def test_padding_and_the_usage_call_are_rows_too(test_result, bench_result):
    pad = results.PadRow(pad_tokens=512, prompt_tokens=600, cached_tokens=512, expected_cached_tokens=592)
    padded = results.TestResult(pad=(pad,), aggregate=test_result.aggregate, verdict=test_result.verdict)
    (row,) = csv.DictReader(io.StringIO(written(padded)))
    assert (row["run"], row["pad_tokens"], row["cached_tokens"], row["turn"]) == ("pad", "512", "512", "")
    used = results.BenchResult(usage_call=test_result.turns[1])
    (row,) = csv.DictReader(io.StringIO(written(used)))
    assert (row["role"], row["call"], row["cached_tokens"]) == ("usage", "", "3008")
