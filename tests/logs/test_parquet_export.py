"""Calls as a table of Parquet."""

from __future__ import annotations

import io
import sys

import pytest

from hitrate.core.model import Call, Timing, Usage
from hitrate.errors import UsageError
from hitrate.logs.exports import parquet

CALLS = [
    Call(
        target="t",
        dialect="d",
        body=b"\xff",
        session="s\ud800",
        usage=Usage(prompt_tokens=100, cached_tokens=75, output_tokens=2**70),
        timing=Timing(at=1.5, sent_at_s=2.0),
        raw_usage={"n": 2**70},
    ),
    Call(target="t", dialect="d", body=b"{}"),
]


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'hitrate\[parquet\]'"):
        parquet.check()


def test_a_row_a_call():
    pq = pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    assert parquet.write(CALLS, out, lambda: False) == 2
    first, second = pq.read_table(io.BytesIO(out.getvalue())).to_pylist()
    assert (first["prompt_tokens"], first["hit_rate"], first["at"], first["body"]) == (100, 0.75, 1.5, b"\xff")
    assert (first["output_tokens"], first["raw_usage"]) == (None, '{"n":1180591620717411303424}')
    assert (first["session"], first["content"]) == ("s\\ud800", "kept")
    assert (second["prompt_tokens"], second["at"], second["reply"], second["body"]) == (None, None, None, b"{}")
