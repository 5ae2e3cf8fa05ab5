"""Text in, harmless text out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.report.escape import escape_csv, escape_json, escape_line, escape_markdown

anything = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("häßlich 提示 🙂", "häßlich 提示 🙂"),
        ("two\nlines\tand\rmore", r"two\nlines\tand\rmore"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u202eb\u2066c\u200fd", r"a\u202eb\u2066c\u200fd"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\x00\x7f", r"\x00\x7f"),
    ],
)
def test_line(text, line):
    assert escape_line(text) == line


@given(anything)
def test_any_line_is_one_printable_line(text):
    line = escape_line(text)
    assert line.encode("utf-8").decode() == line
    assert len(line.splitlines()) <= 1
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in line)


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("a|b", r"a\|b"),
        ("**bold** `code` [x](y)", r"\*\*bold\*\* \`code\` \[x\](y)"),
        ("<script>&amp;", r"\<script\>\&amp;"),
        ("first_ms", "first_ms"),
        ("_first_", r"\_first\_"),
        ("# title", r"\# title"),
        ("- item", r"\- item"),
        ("1. item", r"\1. item"),
        ("-1.5", "-1.5"),
        ("back\\slash", r"back\\slash"),
    ],
)
def test_markdown(text, markdown):
    assert escape_markdown(text) == markdown


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("plain", "plain"),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("  =1", "'  =1"),
        ("\t=1", r"\t=1"),
        ("a=1", "a=1"),
    ],
)
def test_csv(text, cell):
    assert escape_csv(text) == cell


@given(anything)
def test_json_keeps_its_meaning_and_shows_no_hidden_character(text):
    document = escape_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(document) == text
    assert escape_line(document) == document
