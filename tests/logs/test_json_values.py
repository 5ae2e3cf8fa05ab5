from __future__ import annotations

import gzip
import io
import json

import pytest

from hitrate.core.records import Skipped
from hitrate.logs import json_values
from hitrate.logs.json_values import body_of, json_rows

PATHS = (("data",), ("log", "entries"))


def read(data: bytes, arrays=PATHS) -> list[tuple]:
    """(line, value) of what can be used, (line, reason) of what cannot."""
    return [
        (row.line, row.reason) if isinstance(row, Skipped) else (row.line, row.value)
        for row in json_rows(io.BytesIO(data), arrays)
    ]


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"[]", []),
        (b'[{"a": 1}, 2,\n"x"]\n', [(1, {"a": 1}), (1, 2), (2, "x")]),
        (b'\xef\xbb\xbf[\n{"a": 1}\n,\n{"a": 2}]', [(2, {"a": 1}), (4, {"a": 2})]),
        (b'{"data": [1, 2], "meta": {"data": [9]}}', [(1, 1), (1, 2)]),
        (b'{"x": [0], "log": {"creator": {"entries": 0},\n"entries": [1, 2], "pages": [9]}}', [(2, 1), (2, 2)]),
        (b'{"data": {"a": 1}}', [(1, {"data": {"a": 1}})]),
        (b'{\n"a": [1]\n}\n{"a": 2}\n', [(1, {"a": [1]}), (4, {"a": 2})]),
        (b'{"a": 1},\n{"a": 2}', [(1, {"a": 1}), (2, {"a": 2})]),
        ("[\"h\u00e9 \u732b\"]".encode(), [(1, "h\u00e9 \u732b")]),
        (b'["\\ud83d"]', [(1, "\ud83d")]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("chunk", [1, 3, 1 << 18])
def test_values_come_one_by_one_however_the_stream_is_cut(data, rows, chunk, monkeypatch):
    monkeypatch.setattr(json_values, "_CHUNK", chunk)
    if chunk > 100 or (b'"data"' not in data and b"entries" not in data):
        assert read(data) == rows
    elif b'{"data": {' not in data:  # an array that begins behind what is read at first comes out of the whole object
        assert [value for _, value in read(data)] == [value for _, value in rows]


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b'[{"a": nope},\n{"a": 1}]', [(1, "expected JSON: expecting value"), (2, {"a": 1})]),
        (b'[{"a": {"b": [1 2]}, "c": "}"},\n{"a": 1}]', [(1, "expected JSON: expecting ',' delimiter"), (2, {"a": 1})]),
        (b'[nope, {"a": 1}]', [(1, "expected JSON: expecting value"), (1, {"a": 1})]),
        (b'[{"a": "s\xe9"},\n{"a": 1}]', [(1, "not UTF-8, expected JSON in UTF-8"), (2, {"a": 1})]),
        (b'[1,\n{"a": "cut', [(1, 1), (2, "cut off: the JSON value does not end (10 characters)")]),
        (b"[1,\n", [(1, 1), (2, "cut off: the JSON value does not end")]),
        (b'{"data": [1', [(1, 1), (1, "cut off: the JSON value does not end")]),
        (b'[1 "x"]', [(1, 1), (1, "expected a comma or a closing bracket, found '\"'")]),
        (b'[{"a": x[1', [(1, "expected JSON: expecting value; nothing behind it can be read: its brackets do not")]),
        (b"[" + b"[" * 600 + b"]" * 600 + b", 1]", [(1, "nested more than 500 levels deep"), (1, 1)]),
        (b"[" + b"[" * 20_000 + b"]" * 20_000 + b", 1]", [(1, "nested more than 500 levels deep"), (1, 1)]),
        (b"[" + b"9" * 5000 + b", 1]", [(1, "JSON that cannot be read: "), (1, 1)]),
    ],
    ids=["a literal", "deep inside", "no value", "not UTF-8", "cut off", "no more", "array cut off", "no comma",
         "no end", "too deep", "far too deep", "a huge number"],
)  # fmt: skip
def test_a_damaged_value_is_passed_over(data, rows):
    found = read(data)
    assert [line for line, _ in found] == [line for line, _ in rows]
    for (_, value), (_, expected) in zip(found, rows, strict=True):
        assert value == expected or str(value).startswith(str(expected))


def test_a_value_larger_than_any_request_is_passed_over(monkeypatch):
    monkeypatch.setattr(json_values, "_CHUNK", 16)
    monkeypatch.setattr(json_values, "LONGEST_LINE", 100)
    data = json.dumps([1, {"a": "x" * 500, "b": [{}]}, 2]).encode()
    assert read(data) == [(1, 1), (1, "a record of more than 100 characters"), (1, 2)]


def test_what_is_odd_about_a_value_is_remarked():
    first, second = json_rows(io.BytesIO(b'[{"a": NaN, "b": 1, "b": 2},\n{"a": 1}]'), ())
    assert [(remark.line, remark.what) for remark in first.remarks] == [
        (1, "NaN is not JSON; a counter with it is unknown"),
        (1, "member 'b' is given 2 times; the last value is used"),
    ]
    assert second.remarks == ()


def test_members_beside_an_array_that_stand_before_it_come_with_its_values():
    row = next(json_rows(io.BytesIO(b'{"trace": {"id": "t"}, "data": [1], "meta": 2}'), PATHS))
    assert row.around == {"trace": {"id": "t"}}


def test_an_array_behind_much_else(monkeypatch):
    monkeypatch.setattr(json_values, "_CHUNK", 64)
    data = json.dumps({"trace": {"input": "x" * 300}, "data": [1, 2]}).encode()
    rows = list(json_rows(io.BytesIO(data), PATHS))
    assert [(row.value, len(row.around["trace"]["input"])) for row in rows] == [(1, 300), (2, 300)]


def test_a_compressed_file_that_is_cut_off_gives_what_came():
    numbers = [{"n": number, "text": str(number**5)} for number in range(4000)]
    whole = gzip.compress(json.dumps(numbers).encode())
    *used, last = json_rows(gzip.GzipFile(fileobj=io.BytesIO(whole[: len(whole) // 2])), ())
    assert [row.value for row in used] == numbers[: len(used)]
    assert "the compressed file cannot be read on from here" in last.reason


@pytest.mark.parametrize(
    ("given", "value", "body"),
    [
        ({"b": 1, "a": "\u00e9"}, {"b": 1, "a": "\u00e9"}, '{"b":1,"a":"\u00e9"}'.encode()),
        ({"a": "\ud83d"}, {"a": "\ud83d"}, b'{"a":"\xed\xa0\xbd"}'),
        (' {"a" : 1} ', {"a": 1}, b'{"a" : 1}'),
        ('{"a": ', None, b""),
        ("[1]", None, b""),
        (None, None, b""),
    ],
)
def test_a_body_out_of_a_cell(given, value, body):
    assert body_of(given) == (value, body)


@pytest.mark.parametrize("chunk", [1, 2, 5])
@pytest.mark.parametrize("text", ['"a\\\\"', '"\\""', '"]}{["', '"\\\\\\""', '""'])
def test_quotes_and_backslashes_in_a_value_that_is_passed_over(text, chunk, monkeypatch):
    monkeypatch.setattr(json_values, "_CHUNK", chunk)
    monkeypatch.setattr(json_values, "LONGEST_LINE", 8)
    data = f'[{{"long": "{"x" * 40}", "t": [{text}]}}, 2]'.encode()
    assert read(data, ()) == [(1, "a record of more than 8 characters"), (1, 2)]
