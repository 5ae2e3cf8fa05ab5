from __future__ import annotations

import gzip
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hitrate.core.records import Skipped
from hitrate.logs import lines
from hitrate.logs.lines import Line, first_objects, json_lines, opening


def read(data: bytes) -> list[tuple]:
    """(line, value) of what can be used, (line, column, reason) of what cannot."""
    return [
        (one.line, one.column, one.reason) if isinstance(one, Skipped) else (one.number, one.value)
        for one in json_lines(io.BytesIO(data))
    ]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b'{"a": 1}\n{"a": 2}', [(1, {"a": 1}), (2, {"a": 2})]),
        (b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \n{"a": 2}\r\n', [(1, {"a": 1}), (4, {"a": 2})]),
        (b'{"a": "\\ud83d"}', [(1, {"a": "\ud83d"})]),
        (
            b'{"a": 1}\n{"a": {"b": "cut\n',
            [(1, {"a": 1}), (2, 13, "cut off: the JSON value does not end (16 characters)")],
        ),
        (b'{"a": [1, 2\n', [(1, 12, "cut off: the JSON value does not end (11 characters)")]),
        (b"{'a': 1}\n", [(1, 2, "expected JSON: expecting property name enclosed in double quotes")]),
        (b'{"a": 1} {"b": 2}\n', [(1, 10, "expected JSON: extra data")]),
        (b"<html>\n", [(1, 1, "this is HTML or XML, expected a JSON object")]),
        (b"\n\xe9\n", [(2, 1, "not UTF-8 at byte 1 of the file, 0xe9, expected JSON in UTF-8")]),
        (b'{"a": "\xc3\xa9\xe9"}', [(1, 9, "not UTF-8 at byte 9 of the file, 0xe9, expected JSON in UTF-8")]),
        ('{"a": 1}'.encode("utf-16-le"), [(1, 1, "UTF-16 from byte 0 of the file on, expected JSON in UTF-8")]),
        (b"\x00\x00\x00\x00\n", [(1, None, "nothing but NUL bytes, which a crash or a full disk leaves behind")]),
        (b"[" * 6000 + b"]" * 6000, [(1, None, "nested more than 500 levels deep")]),
        (b"[" * 501 + b"]" * 501, [(1, None, "nested more than 500 levels deep")]),
    ],
)
def test_lines(data, found):
    assert read(data) == found


@pytest.mark.parametrize(
    ("data", "remarks"),
    [
        (b'{"a": 1}', []),
        (b'\x00\x00\x00{"a": 1}', ["3 NUL bytes around the record dropped"]),
        (b'{"a": NaN, "b": -Infinity}', ["NaN", "-Infinity"]),
        (b'{"a": {"model": "m", "model": "n"}}', ["member 'model' is given 2 times; the last value is used"]),
    ],
)
def test_what_is_odd_is_said_and_used(data, remarks):
    (line,) = json_lines(io.BytesIO(data))
    assert isinstance(line, Line)
    assert [remark.what.partition(" is not JSON")[0] for remark in line.remarks] == remarks


def test_the_bytes_of_a_line_are_kept_as_they_stand():
    (line,) = json_lines(io.BytesIO(b'  {"b": 1,  "a": "\\u00e9"} \r\n'))
    assert line.data == b'{"b": 1,  "a": "\\u00e9"}'


def test_a_line_too_long_for_a_request_is_passed_over(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 20)
    monkeypatch.setattr(lines, "_PIECE", 16)
    assert read(b'{"a": 1}\n' + b"x" * 50 + b'\n{"a": 2}\n') == [
        (1, {"a": 1}),
        (2, None, "a line of 51 bytes, expected at most 20"),
        (3, {"a": 2}),
    ]


def plainly(data: bytes, longest: int) -> list[tuple[int, int, bytes | str]]:
    """The lines of a file without white space around them, or why they are none; with number and offset."""
    found: list[tuple[int, int, bytes | str]] = []
    offset = 0
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        start = 3 if number == 1 and line.startswith(b"\xef\xbb\xbf") else 0
        if len(line) > longest:
            found.append((number, offset, f"a line of {len(line):,} bytes, expected at most {longest:,}"))
        elif text := line[start:].strip():
            found.append((number, offset + line.index(text[:1], start), text))
        offset += len(line)
    return found


@given(
    st.lists(st.sampled_from([b"\n", b"\n", b"\n\n", b" ", b"\t", b"a", b"{}", b"\xef\xbb\xbf", b"0123456789"])).map(
        b"".join
    ),
    st.integers(1, 20),
)
@example(b"\xef\xbb\xbf\xef\xbb\xbf a \nb", 4)
def test_lines_are_the_same_in_pieces_of_any_length(data, piece):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_PIECE", piece)
        patch.setattr(lines, "LONGEST_LINE", 24)
        found = [
            (number, offset, one.reason if isinstance(one, Skipped) else one)
            for number, offset, one in lines.raw_lines(io.BytesIO(data))
        ]
    assert found == plainly(data, 24)


def test_a_compressed_file_that_is_cut_off_gives_what_came():
    whole = gzip.compress(b"".join(b'{"a": %d, "b": "%d"}\n' % (n, n * n) for n in range(2000)))
    *used, last = json_lines(gzip.GzipFile(fileobj=io.BytesIO(whole[: len(whole) // 2])))
    assert len(used) > 100
    assert isinstance(last, Skipped)
    assert "the compressed file cannot be read on from here" in last.reason


@pytest.mark.parametrize(
    ("head", "members"),
    [
        (b'{"at": 1, "body": {"model": "m", "messages": [{"x', {"at": None, "body": {}}),
        (b'{"id": "a:b\\"", "requests": [', {"id": None, "requests": []}),
        (b"{'at': 'x'", {}),
        (b'["a", {"b": 1}', {}),
        (b'{"log": "it says \\"x\\": [1] and \\"log\\": {', {"log": None}),
        (b'{"a": "' + b'\\"q\\", ' * 8000 + b"\\", {"a": None}),
    ],
)
def test_the_members_of_an_object_that_has_only_begun(head, members):
    assert opening(head) == members


def test_a_first_line_longer_than_the_head_is_known_by_its_members():
    assert first_objects(b'{"body": {"messages": [{"content": "' + b"x" * 70_000) == [{"body": {}}]
