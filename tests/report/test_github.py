"""Workflow commands, to the letter."""

from __future__ import annotations

import io

import explained
import pytest
from msgspec.structs import replace

from hitrate.report.github import annotation, render
from hitrate.report.levels import level


def test_whole_output():
    out = io.StringIO()
    render(explained.BROKEN, out)
    clock, tools, missed = out.getvalue().splitlines()
    assert clock == (
        "::error file=logs/agent.jsonl,line=2,title=hitrate%3A clock-in-prefix::The time in the system prompt changed "
        "from 09:14:07 to 09:14:21; it can change every second. Move the time behind the stable text. (you can change "
        'this, certain) call 1 against 0 · /messages/0/content, character 31 · "07 UTC\\n\\nYou are" became '
        '"21 UTC\\n\\nYou are" · about 4,120 tokens, $0.0103 lost: clock-in-prefix'
    )
    assert tools.startswith("::warning file=logs/agent.jsonl,title=hitrate%3A tool-order::The same 2 tools")
    assert missed.startswith("::notice file=logs/agent.jsonl,title=hitrate%3A provider-missed::The text only grew")


@pytest.mark.parametrize(
    ("text", "file", "line"),
    [
        ("100 % lost", "a.jsonl", "::error file=a.jsonl,line=3,title=t::100 %25 lost"),
        ("two\r\nlines", "a.jsonl", r"::error file=a.jsonl,line=3,title=t::two\r\nlines"),
        ("a: b, c", "C:\\a,b%.jsonl", "::error file=C%3A\\a%2Cb%25.jsonl,line=3,title=t::a: b, c"),
    ],
)
def test_escapes(text, file, line):
    assert annotation("error", text, title="t", file=file, line=3) == line


def test_no_more_than_are_shown():
    out = io.StringIO()
    render(replace(explained.BROKEN, findings=(explained.CLOCK,) * 15 + (explained.TOOLS,)), out)
    commands = [line.split(" ")[0] for line in out.getvalue().splitlines()]
    assert commands == ["::error"] * 10 + ["::warning"]


@pytest.mark.parametrize(
    ("voice", "confidence", "expected"),
    [
        ("yours to change", "certain", "error"),
        ("yours to change", "likely", "warning"),
        ("yours to change", "possible", "note"),
        ("observation", "certain", "note"),
        ("provider suspected", "certain", "warning"),
        ("provider suspected", "likely", "warning"),
        ("provider suspected", "possible", "note"),
    ],
)
def test_levels(voice, confidence, expected):
    assert level(replace(explained.CLOCK, voice=voice, confidence=confidence)) == expected
