"""Text of others in a report of `explain` does nothing, in any format."""

from __future__ import annotations

import csv
import io
import json
import re

import explained
import pytest
from msgspec.structs import replace
from test_html import Page

from hitrate.explain.gates import Expectations, check
from hitrate.report import github, sarif
from hitrate.report.escape import guarded
from hitrate.report.formats import FORMATS, render
from hitrate.report.kinds.explain import first_line

CHECKED = check(explained.HOSTILE, Expectations(no_breaks=True, min_hit_rate=0.8), first_line)

WRITERS = {
    **{name: (lambda value, out, name=name: render(value, name, out)) for name in FORMATS},
    "sarif": sarif.render,
    "github": github.render,
}
INVISIBLE = set("\x1b\x07\x9b\r\u202e\u2066\u2028\u200b\ud800")


def written(format: str, value=explained.HOSTILE) -> str:
    out = io.StringIO()
    WRITERS[format](value, out)
    return out.getvalue()


@pytest.mark.parametrize("format", WRITERS)
def test_nothing_invisible_gets_out_and_everything_can_be_written(format):
    text = written(format)
    assert not INVISIBLE & set(text)
    assert "bold red" in text
    assert text.encode("utf-8")


@pytest.mark.parametrize("format", ["table", "markdown", "csv", "json"])
def test_nothing_invisible_gets_out_of_a_check(format):
    text = written(format, CHECKED)
    assert not INVISIBLE & set(text)
    assert "bold red" in text


def test_rich_markup_is_text():
    assert "[bold red]" in written("table")


def test_markdown_cells_and_tags_are_closed():
    text = written("markdown")
    assert not re.search(r"(?<!\\)</?script", text)
    assert not re.search(r"(?<!\\)`", text)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows if "behind a break" in row}) == 1


def test_html_has_no_element_of_theirs():
    parsed = Page(written("html"))
    assert not {"script", "bold"} & {tag for tag, _ in parsed.elements}
    assert "</script><script>alert(1)</script>" in parsed.text


def test_csv_cells_start_no_formula():
    for row in csv.reader(io.StringIO(written("csv"))):
        assert not [cell for cell in row if cell.lstrip().startswith(("=", "+", "@"))]


def test_json_and_sarif_say_the_same_text_again():
    found = json.loads(written("json"))["findings"][0]
    assert found["summary"] == explained.HOSTILE_TEXT
    result = json.loads(written("sarif"))["runs"][0]["results"][0]
    assert "{" not in result["message"]["text"].replace("{{", "")
    assert "alert(1)" in result["message"]["text"]


def test_annotations_are_one_line_each_and_open_no_command():
    lines = written("github").splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::notice"]
    for line in lines:
        properties = line.split("::")[1]
        assert re.fullmatch(r"[a-z]+ file=[^,:]*,(line=\d+,)?title=[^,:]*", properties)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("value", [explained.HOSTILE, CHECKED])
def test_no_format_starts_a_command_of_a_runner(format, value):
    text = written(format, value) if format != "html" or value is explained.HOSTILE else ""
    assert not re.search(r"^\s*::", text, re.MULTILINE)
    assert "##[" not in text or format == "html"


def test_a_command_that_a_narrow_screen_would_put_at_the_start_of_a_line():
    report = replace(explained.BROKEN, findings=(replace(explained.CLOCK, summary=f"{'a' * 37} ::error::pwned"),))
    out = io.StringIO()
    render(report, "table", out, width=40)
    assert "\n·   ::error::pwned\n" in out.getvalue()


def test_a_session_that_is_named_like_a_command():
    sessions = tuple(replace(one, session="::error::pwned") for one in explained.BROKEN.by_session)
    text = written("table", replace(explained.BROKEN, by_session=sessions))
    assert "\n· ::error::pwned " in text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain\n", "plain\n"),
        ("::error::x\n", "· ::error::x\n"),
        ("a ::error::x\n  ::set-env name=A::b\n", "a ::error::x\n·   ::set-env name=A::b\n"),
        ("a\n\n::error::x\n", "a\n\n· ::error::x\n"),
    ],
)
def test_lines_that_would_start_a_command(text, safe):
    assert guarded(text) == safe
