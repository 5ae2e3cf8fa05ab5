from __future__ import annotations

import io

import pytest

from hitrate.core.records import Skipped
from hitrate.logs import tables
from hitrate.logs.tables import first_rows, rows


def read(data: bytes, arrays=(("data",),)) -> list[tuple]:
    return [
        (row.line, row.reason) if isinstance(row, Skipped) else (row.line, row.value)
        for row in rows(io.BytesIO(data), arrays)
    ]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"a,b\n1,2\n,4\n", [(2, {"a": "1", "b": "2"}), (3, {"b": "4"})]),
        (b'\xef\xbb\xbfa;b\r\n"x;\ny";2\r\n\r\n3;4\r\n', [(2, {"a": "x;\ny", "b": "2"}), (5, {"a": "3", "b": "4"})]),
        (b'a\tb\n"say ""hi"""\t2', [(2, {"a": 'say "hi"', "b": "2"})]),
        (b"a,b\n1\n1,2,3\n4,5\n", [(2, "a row of 1 cells, expected 2 as in the header"),
                                   (3, "a row of 3 cells, expected 2 as in the header"), (4, {"a": "4", "b": "5"})]),
        (b"a,b\n1,\xff\n3,4\n", [(2, "not UTF-8, expected a table in UTF-8"), (3, {"a": "3", "b": "4"})]),
        (b'a,b\n1,"x"y\n3,4\n', [(2, "expected CSV: ',' expected after '\"'"), (3, {"a": "3", "b": "4"})]),
        (b'a,b\n1,2\n3,"cut', [(2, {"a": "1", "b": "2"}), (3, "cut off: a quoted cell does not end")]),
        (b"a,b\n", []),
        (b'[{"a": 1}]', [(1, {"a": 1})]),
        (b'{"a": 1}\n{"a": \n{"a": 3}\n', [(1, {"a": 1}), (2, "cut off: the JSON value does not end (5 characters)"),
                                           (3, {"a": 3})]),
        (b'{"data": [{"a": 1}]}', [(1, {"a": 1})]),
        (b'{\n "a": 1\n}', [(1, {"a": 1})]),
    ],
)  # fmt: skip
def test_rows_whatever_they_are_written_as(data, found):
    assert read(data) == found


def test_a_huge_cell_is_named_and_the_rows_behind_it_are_read(monkeypatch):
    monkeypatch.setattr(tables, "LONGEST_LINE", 50)
    assert read(b"a,b\n1," + b"x" * 45 + b"\n2," + b'"' + b"y" * 30 + b"\n" + b"y" * 40 + b'"\n3,4\n')[-1] == (
        5,
        {"a": "3", "b": "4"},
    )


@pytest.mark.parametrize(
    ("head", "records"),
    [
        (b'[{"a": 1}, {"b": {"c', [{"a": 1}, {"b": {}}]),
        (b'{"a": 1}\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        (b'{"data": [{"a": 1}, {"b":', [{"data": []}, {"a": 1}, {"b": None}]),
        (b'{\n"a": {"x', [{"a": {}}]),
        (b"a,b\n1,2", [{"a": None, "b": None}]),
        (b"nothing of the kind\n", []),
        (b"", []),
    ],
)
def test_the_records_at_the_start_of_a_file(head, records):
    assert first_rows(head, (("data",),)) == records
