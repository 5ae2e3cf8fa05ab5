"""The order of the causes of a changed text: each case gets the right name, and no break goes without one."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime
from pathlib import Path

import pytest
from breaks import AT, evidence, recognised
from hypothesis import given, settings
from hypothesis import strategies as st

from hitrate.explain.causes.text_breaks import TEXT_CAUSES
from hitrate.explain.diff import CHANGES, first_divergence
from hitrate.explain.evidence import Divergence, Evidence, Facts, Seen
from hitrate.explain.pairs.pairing import Pairing
from hitrate.targets.dialects import dialect
from hitrate.targets.dialects.sketch import Sketcher

CASES = os.environ.get("HITRATE_CASES")

NAMES = {
    "clock_in_system": "clock-in-prefix",
    "date_rollover": "date-rollover",
    "nonce_in_prefix": "nonce-in-prefix",
    "mutable_state_in_system": "state-in-system",
    "rag_in_system": "retrieved-text-in-system",
    "tool_order": "tool-order",
    "schema_key_order": "schema-key-order",
    "tool_set_changed": "tool-set-changed",
    "args_reserialised": "arguments-reserialised",
    "ids_regenerated": "ids-regenerated",
    "reasoning_dropped": "reasoning-not-replayed",
    "ephemeral_block": "block-not-persisted",
    "whitespace_or_unicode": "text-form-changed",
    "image_changed": "image-changed",
    "sliding_window": "sliding-window",
    "tool_output_pruned": "tool-output-pruned",
    "compaction_no_prefix": "summary-without-prefix",
    "template_drift": "template-drift",
    "retokenisation": "re-tokenisation",
}
"""Name of the cause by category of the shared cases."""

WIRES = {"llama.cpp-completion": "llamacpp-completion", "tokens": "llamacpp-completion", "gemini": "gemini-generate"}


def unix_time(at: str | None) -> float | None:
    return None if at is None else datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()


def evidence_of(case: dict, turn: int, against: int) -> Evidence:
    sketcher, pairing = Sketcher(), Pairing()
    bodies = [json.dumps(request["body"], ensure_ascii=False).encode() for request in case["requests"]]
    calls = [Seen(index=index, at=unix_time(request.get("at"))) for index, request in enumerate(case["requests"])]
    pairs = [pairing.add(call, sketcher.sketch(body, case["api"])) for call, body in zip(calls, bodies, strict=True)]
    wire = dialect(WIRES.get(case["api"], case["api"]))
    prompts = [wire.canonical(bodies[index]) for index in (against, turn)]
    return Evidence(
        call=calls[turn],
        before=calls[against],
        pair=pairs[turn],
        facts=Facts(ttl_s=300.0),
        divergence=first_divergence(*prompts, bodies[against], bodies[turn]),
    )


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES names no folder of cases")
def test_the_first_cause_is_right_for_every_shared_case():
    found, wanted = {}, {}
    for path in sorted(Path(str(CASES)).glob("*.json")):
        case = json.loads(path.read_text())
        expected = case["expected"]
        if case["category"] in NAMES:
            name, said = recognised(evidence_of(case, expected["turn"], expected["against"]))
            verdict = next(cause.verdict for cause in TEXT_CAUSES if cause.name == name)
            found[path.stem] = (name, verdict, said.confidence in ("certain", "likely"))
            wanted[path.stem] = (NAMES[case["category"]], expected["verdict"], True)
    assert found == wanted
    assert len(found) >= 19


def test_names_are_in_kebab_case_and_unique():
    names = [cause.name for cause in TEXT_CAUSES]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)


def test_each_is_described_and_backed_by_public_threads():
    for cause in TEXT_CAUSES:
        assert cause.about.endswith(".")
        assert cause.reports
        assert all(re.fullmatch(r"https://github\.com/[^/]+/[^/]+/issues/\d+", link) for link in cause.reports)


@pytest.mark.parametrize("cause", TEXT_CAUSES, ids=lambda cause: cause.name)
def test_a_text_that_only_grew_is_no_break(cause):
    assert cause.recognise(evidence(None, relation="append")) is None


TEXT = st.text(max_size=30) | st.sampled_from(
    [
        "Time: 09:13:53",
        "2026-03-11",
        "31 Feb 0000",
        "[ ] a",
        "<context>\n[1",
        "h=9b1d4",
        "٠٩:١٤",
        "1773220433",
        "x-a: b=",
        "<|im_end|>",
        "\ud83d",
    ]
)
POINTERS = st.sampled_from(
    [
        "",
        "/",
        "/tools",
        "/tools/0/function/parameters/required/1",
        "/system",
        "/messages/0/content",
        "/messages/9",
        "/input/1/id",
        "/prompt",
        "/prompt_token_ids/4",
        "/contents/1/parts/0/functionCall/args",
        "/response_format",
    ]
)


@settings(max_examples=100, deadline=None)
@given(
    front=TEXT,
    was=TEXT,
    now=TEXT,
    pointer=POINTERS,
    change=st.sampled_from(sorted(CHANGES)),
    in_text=st.booleans(),
    kind=st.sampled_from(["tools", "schema", "system", "user", "assistant", "tool", "image", ""]),
    whole=st.booleans(),
    names=st.lists(TEXT, max_size=3).map(tuple),
    gap=st.none() | st.floats(-10, 1e7),
    across=st.booleans(),
    relation=st.sampled_from(["rewrite", "summary", "opening", "first"]),
    shift=st.integers(0, 3),
)
def test_every_break_gets_a_name_and_nothing_raises(
    front, was, now, pointer, change, in_text, kind, whole, names, gap, across, relation, shift
):
    difference = Divergence(
        pointer=pointer,
        offset=len(front) if in_text else None,
        was=was,
        now=now,
        change=change,
        kind=kind,
        cacheable_chars=len(front),
        cacheable_share=0.0,
        front=front,
        names=names,
        value_was=front + was if whole else None,
        value_now=front + now if whole else None,
    )
    found = evidence(difference, gap=gap, at=AT, across=across, relation=relation, pair={"shift": shift})
    said = [one for cause in TEXT_CAUSES if (one := cause.recognise(found)) is not None]
    assert said
    for one in said:
        assert one.summary.endswith((".", '."', ".'"))
        assert "\n" not in one.summary
        assert one.advice
