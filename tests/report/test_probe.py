"""What a probed target looks like in every format."""

from __future__ import annotations

import csv
import io
import json

import jsonschema
import pytest
from msgspec.structs import replace

from hitrate.core.probe_results import Answer, Observation, PlannedProbe, ProbeResult
from hitrate.report.formats import render
from hitrate.report.json import schema

RESULT = ProbeResult(
    run_id="abcdef",
    started_at="2026-11-29T20:00:00+00:00",
    target="openai",
    model="gpt-4.1",
    rule_set="openai-chat-before-gpt-5.6 (block 128, at least 1,024 tokens)",
    rule_source="https://developers.openai.com/api/docs/guides/prompt-caching",
    rule_date="2026-11",
    plan=(PlannedProbe(probe="hidden", calls=43, prompt_tokens=111_800, waits_s=30.0, cost_usd=0.2236),),
    most_calls=150,
    answers=(
        Answer(
            probe="hidden",
            status="answered",
            text="Reuse is reported: 1 of 1 repeated prompts were credited.",
            choice="reported",
            basis="counts",
            documented="reported",
            agrees=True,
            calls=2,
            prompt_tokens=5200,
            cost_usd=0.0056,
            seconds=1.25,
            observations=(
                Observation(role="write", prompt_tokens=2600, cached_tokens=0, ttft_ms=1055.0),
                Observation(role="read", prompt_tokens=2600, cached_tokens=2560, ttft_ms=31.0, age_s=0.02, found=True),
            ),
        ),
        Answer(
            probe="replicas",
            status="answered",
            text="About 22 (95 %: 15 to any number), if chosen at random: 15 of 24 sends of one prompt missed.",
            value=22.0,
            unit="replicas",
            low=15.0,
            bounds="interval",
            basis="counts",
        ),
        Answer(
            probe="affinity",
            subject="body member prompt_cache_key",
            status="answered",
            text="It works.",
            choice="works",
            p_value=0.0039,
            documented="works",
            agrees=True,
            calls=8,
        ),
        Answer(
            probe="granularity",
            status="answered",
            text="Tokens are credited in steps of 64.",
            value=64.0,
            unit="tokens",
            documented="128 tokens",
            agrees=False,
        ),
        Answer(
            probe="lifetime",
            status="answered",
            text="At least 117.6 s.",
            choice="at least",
            value=117.6,
            unit="s",
            low=117.6,
            bounds="bracket",
            documented="300 s",
            agrees=True,
            advice="give more --time to look further",
        ),
        Answer(probe="opening", status="could not tell", text="Series differ.", advice="run it again"),
    ),
    calls=10,
    failed=1,
    prompt_tokens=26_000,
    cost_usd=0.0412,
    warnings=("stopped by --budget: $0.04 spent",),
)


def written(format, **options):
    out = io.StringIO()
    render(RESULT, format, out, **options)
    return out.getvalue()


def test_table():
    lines = written("table", width=200).splitlines()
    assert lines[0] == "probe · openai · gpt-4.1 · 2026-11-29T20:00:00+00:00 · run abcdef"
    rows = {" ".join(line.replace("│", " ").split()) for line in lines}
    assert rows >= {
        "hidden – reported – reported agrees counts 2 0.0056",
        "replicas – 22 replicas 95 % 15 or more – – counts – –",
        "affinity body member prompt_cache_key works p = 0.0039 works agrees – 8 –",
        "granularity – 64 tokens – 128 tokens differs – – –",
        "lifetime – at least 117.6 s 117.6 or more 300 s agrees – – –",
        "opening – could not tell – – – – – –",
        "lifetime: At least 117.6 s. Try: give more --time to look further.",
        "5 answered, 1 could not be told; differs from what is documented: granularity.",
        "10 calls (of at most 150), 26,000 prompt tokens, 1 failed calls",
        "documented: openai-chat-before-gpt-5.6 (block 128, at least 1,024 tokens), 2026-11; "
        "https://developers.openai.com/api/docs/guides/prompt-caching",
        "warning: stopped by --budget: $0.04 spent",
    }


def test_json_fits_its_schema():
    document = json.loads(written("json"))
    jsonschema.validate(document, schema("probe"))
    assert next(iter(document)) == "schema_version"
    assert document["answers"][1]["high"] is None


def test_csv_has_a_row_a_call_and_one_for_an_answer_without_calls():
    rows = list(csv.DictReader(io.StringIO(written("csv"))))
    assert [(row["probe"], row["role"], row["cached_tokens"]) for row in rows][:3] == [
        ("hidden", "write", "0"),
        ("hidden", "read", "2560"),
        ("replicas", "", ""),
    ]
    assert rows[3]["subject"] == "body member prompt_cache_key"


@pytest.mark.parametrize("format", ["markdown", "html"])
def test_pages(format):
    text = written(format)
    assert "granularity" in text and "could not tell" in text


def test_text_of_others_is_escaped():
    hostile = replace(RESULT, model="<script>alert(1)</script>\x1b[31m")
    out = io.StringIO()
    render(hostile, "html", out)
    assert "<script>alert" not in out.getvalue() and "\x1b" not in out.getvalue()
    out = io.StringIO()
    render(hostile, "table", out)
    assert "\x1b" not in out.getvalue()
