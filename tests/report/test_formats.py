"""One door to every format, which opens only what is asked for."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from hitrate import errors
from hitrate.core.listings import ModelEntry, ModelList
from hitrate.logs.store import RunList, RunSummary
from hitrate.report.formats import FORMATS, render

LISTS = {
    "models": ModelList(
        target="practice",
        models=(ModelEntry(id="small-model", input_usd_per_mtok=0.3, cached_usd_per_mtok=0.006),),
        warnings=("prices are a year old",),
    ),
    "runs": RunList(
        store="runs.sqlite3",
        runs=(
            RunSummary(
                id="r7k2m9",
                kind="test",
                target="practice",
                model=None,
                started_at="2026-11-29T12:00:00Z",
                command="hitrate test practice",
                calls=5,
                hit_rate=0.4915,
                finished=False,
            ),
        ),
    ),
}


def written(value, format: str) -> str:
    out = io.StringIO()
    render(value, format, out)
    return out.getvalue()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["test_result", "bench_result", "many_sessions", "comparison", "hostile"])
def test_every_format_takes_every_result(name, format, request):
    assert "practice" in written(request.getfixturevalue(name), format) or name == "hostile"


@pytest.mark.parametrize(
    ("name", "format", "line"),
    [
        ("models", "table", "small-model        –         0.3        0.006            –           –  –"),
        ("models", "table", "warning: prices are a year old"),
        ("models", "markdown", "| small-model | – | 0.3 | 0.006 | – | – | – |"),
        ("models", "csv", "small-model,,0.3,0.006,,,"),
        ("models", "json", '      "written_usd_per_mtok": null,'),
        ("runs", "table", "r7k2m9  2026-11-29T12:00:00Z  test  practice  –          5    49.1  cut off"),
        ("runs", "csv", "r7k2m9,2026-11-29T12:00:00Z,test,practice,,5,0.4915,false,hitrate test practice"),
        ("runs", "json", '      "finished": false'),
    ],
)
def test_lists(name, format, line):
    assert line in written(LISTS[name], format).splitlines()


def test_an_unknown_format_is_refused(test_result):
    with pytest.raises(errors.UsageError, match="no output format 'xml': one of table, json, csv, markdown, html"):
        written(test_result, "xml")


def test_json_loads_neither_rich_nor_jinja():
    script = (
        "import io, sys; from hitrate.core.results import BenchResult; from hitrate.report.formats import render;"
        "render(BenchResult(), 'json', io.StringIO()); print(*sorted({'rich', 'jinja2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "\n"
