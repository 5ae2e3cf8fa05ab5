"""What of a report may be posted, and that nothing else survives."""

from __future__ import annotations

import io

import explained
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hitrate.explain.gates import Expectations, check
from hitrate.report import github, sarif
from hitrate.report.causes import causes
from hitrate.report.formats import render
from hitrate.report.kinds.explain import first_line
from hitrate.report.redact import ADVICE, NOTE, describe, redact_pointer, redacted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "⟨nothing⟩"),
        ("a", "⟨1 char, letters⟩"),
        ("agent007token", "⟨13 chars, letters and digits⟩"),
        ("12345", "⟨5 chars, digits⟩"),
        ("你好", "⟨2 chars, letters⟩"),
        ("two words", "⟨9 chars, letters and spaces⟩"),
        ("07 UTC\n\nYou are", "⟨15 chars, mixed⟩"),
        ("a\u200bb", "⟨3 chars, letters with invisible ones⟩"),
        ("\u200b", "⟨1 char, mixed with invisible ones⟩"),
        ("-", "⟨1 char, signs⟩"),
        ("09:14:07", "⟨8 chars, a time of day⟩"),
        ("2026-03-11", "⟨10 chars, a date⟩"),
        ("2026-03-11 09:14:07 UTC", "⟨23 chars, a date and a time⟩"),
        ("0b7c1e52-6a1d-4b53-9c3e-1f2a3b4c5d6e", "⟨36 chars, a UUID⟩"),
        ("2026-03-11 and more", "⟨19 chars, mixed⟩"),
    ],
)
def test_text(text, shown):
    assert describe(text) == shown


@pytest.mark.parametrize(
    ("pointer", "shown"),
    [
        ("", ""),
        ("/messages/0/content", "/messages/0/content"),
        ("/messages/12/content/3/text", "/messages/12/content/3/text"),
        ("/system/1/text", "/system/1/text"),
        ("/contents/2/parts/0/text", "/contents/2/parts/0/text"),
        ("/input/3/content/0/text", "/input/3/content/0/text"),
        ("/tools/2/function/description", "/tools/2/function/description"),
        (
            "/tools/2/function/parameters/properties/patient_hiv/description",
            "/tools/2/function/parameters/properties/⟨name⟩/description",
        ),
        (
            "/tools/2/input_schema/properties/4711/properties/type/enum/0",
            "/tools/2/input_schema/properties/⟨name⟩/properties/⟨name⟩/enum/⟨name⟩",
        ),
        ("/tools/0/input_schema/properties/properties/type", "/tools/0/input_schema/properties/⟨name⟩/type"),
        ("/messages/1/content/0/input/iban/type", "/messages/1/content/0/input/⟨name⟩/⟨name⟩"),
        ("/messages/1/content/0/input/4711", "/messages/1/content/0/input/⟨name⟩"),
        ("/contents/1/parts/0/functionCall/args/iban", "/contents/1/parts/0/functionCall/args/⟨name⟩"),
        ("/metadata/user/name", "/metadata/⟨name⟩/⟨name⟩"),
        ("/our_own_member", "/⟨name⟩"),
        ("/messages/00/content", "/messages/⟨name⟩/content"),
        ("/4711", "/⟨name⟩"),
        ("/messages/123456789", "/messages/⟨name⟩"),
        ("anthropic-beta:", "anthropic-beta:"),
        ("x-our-tenant:", "⟨header⟩:"),
    ],
)
def test_pointer(pointer, shown):
    assert redact_pointer(pointer) == shown


def test_what_stays():
    found = redacted(explained.BROKEN)
    clock = found.findings[0]
    assert (clock.cause, clock.call, clock.against, clock.pointer, clock.offset) == (
        "clock-in-prefix",
        1,
        0,
        "/messages/0/content",
        31,
    )
    assert (clock.was, clock.now) == ("⟨15 chars, mixed⟩", "⟨15 chars, mixed⟩")
    assert (clock.lost_tokens, clock.lost_usd, clock.occurrences, clock.calls) == (4120, 0.0103, 2, (1, 2))
    assert clock.summary == causes()["clock-in-prefix"].about
    assert clock.advice == ADVICE["prefix_break"]
    assert clock.ruled_out == ("2 other causes",)
    assert found.log == "agent.jsonl"
    assert found.waterfall == explained.BROKEN.waterfall
    assert (found.records.read, found.records.damaged, found.records.skipped[0].line) == (7, 1, 7)
    assert found.notes == ("Notes left out: 1.", NOTE)


def test_sessions_keep_apart():
    found = redacted(explained.BROKEN)
    assert [one.session for one in found.findings] == ["#1", "#2", None]
    assert [one.session for one in found.by_session] == ["#1", "#2"]
    assert [one.session for one in found.by_call] == ["#1", "#1", "#1", "#2"]


@pytest.mark.parametrize(
    ("path", "name"),
    [("a.jsonl", "a.jsonl"), ("/home/jane/a.jsonl", "a.jsonl"), ("C:\\jane\\a.jsonl", "a.jsonl"), ("dir/", "log")],
)
def test_a_path_becomes_a_name(path, name):
    assert redacted(replace(explained.BROKEN, log=path)).log == name


SECRETS = st.text("BCDFGHJKQVXZ", min_size=5, max_size=9).map(lambda text: f"Zqx{text}")
"""Letters in an order that no sentence or name of ours has."""

SHAPES = st.sampled_from(
    ["{}", "{} 09:14:07", "2026-03-11 {}", '"{}"', "/messages/{}/content", "{}\n", "⟨{}⟩", "properties/{}", "{}:"]
)


def everywhere(report) -> str:
    texts = []
    for write in (
        *(lambda out, name=name: render(report, name, out) for name in ("table", "json", "csv", "markdown", "html")),
        lambda out: sarif.render(report, out),
        lambda out: github.render(report, out),
        lambda out: render(check(report, Expectations(no_breaks=True), first_line), "json", out),
    ):
        out = io.StringIO()
        write(out)
        texts.append(out.getvalue())
    return "\n".join(texts)


@settings(max_examples=15, deadline=None)
@given(secret=SECRETS, shape=SHAPES)
def test_nothing_planted_survives_in_any_format(secret, shape):
    planted = explained.with_text(explained.BROKEN, shape.format(secret))
    planted = replace(planted, log=f"home/{secret}/agent.jsonl")
    assert secret in everywhere(planted)
    assert secret.lower() not in everywhere(redacted(planted)).lower()


FRONT = st.sampled_from(["messages", "content", "0", "3", "tools", "input", "properties", "args", "function", "$defs"])
BEHIND = st.sampled_from(["type", "1", "text", "properties", "enum", "description"])


@settings(max_examples=100, deadline=None)
@given(secret=SECRETS, front=st.lists(FRONT, max_size=6), behind=st.lists(BEHIND, max_size=3))
def test_no_name_of_theirs_survives_in_a_pointer(secret, front, behind):
    pointer = "/" + "/".join([*front, secret, *behind])
    assert secret not in redact_pointer(pointer)
    assert redact_pointer(pointer).count("/") == pointer.count("/")
