"""A line fits a form where it is an earlier one with another body, time and counts, and where it is JSON."""

from __future__ import annotations

import json

import pytest

from hitrate.logs.forms import Fitting, Forms

LINE = (
    b'{"at": 1793534400.5, "trace": "t-1", "ms": 7, "note": ["a", null], "body": {"model": "m"}, '
    b'"response": {"id": "r1", "model": "m", "usage": {"prompt_tokens": 12, "details": {"cached_tokens": 0}}}, '
    b'"flag": true}'
)
BODY = b'{"model": "m"}'


def fit(forms: Forms, line: bytes) -> Fitting | None:
    """Of a line that does not stand alone."""
    return forms.fit(b"\n" + line + b"\n" + line, 1, 1 + len(line))


def learnt(line: bytes = LINE, body: bytes = BODY, time_member: str = "at") -> Forms:
    forms = Forms()
    forms.learn(line, body, time_member=time_member, model=None)
    return forms


@pytest.mark.parametrize(
    ("was", "now", "time", "counts"),
    [
        (b"", b"", 1793534400.5, [12, 0]),
        (b"1793534400.5", b"1793534401", 1793534401, [12, 0]),
        (b"1793534400.5", b"-0.25", -0.25, [12, 0]),
        (b'{"model": "m"}', b'{"model": "n", "messages": []}', 1793534400.5, [12, 0]),
        (b'"t-1"', b'"another"', 1793534400.5, [12, 0]),
        (b'"ms": 7', b'"ms": 12.75', 1793534400.5, [12, 0]),
        (b'"r1"', b'""', 1793534400.5, [12, 0]),
        (b"12,", b"99999,", 1793534400.5, [99999, 0]),
        (b'_tokens": 0', b'_tokens": 1280', 1793534400.5, [12, 1280]),
    ],
)
def test_values_that_may_be_others(was, now, time, counts):
    line = LINE.replace(was, now)
    found = fit(learnt(), line)
    assert found is not None
    record = json.loads(line)
    assert (json.loads(found.time), found.counts()) == (time, counts)
    assert json.loads(found.body) == record["body"]
    assert json.loads(found.values["response"]) == record["response"]
    assert json.loads(found.values["usage"]) == record["response"]["usage"]
    assert json.loads(found.values["id"]) == record["response"]["id"]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (b"1793534400.5", b"01793534400"),
        (b"1793534400.5", b"1793534400."),
        (b"1793534400.5", b"1e9"),
        (b"1793534400.5", b'"1793534400.5"'),
        (b"1793534400.5", b"null"),
        (b"12,", b"-12,"),
        (b"12,", b"1000000000,"),
        (b"12,", b"012,"),
        (b"12,", b"12.0,"),
        (b"12,", b'"12",'),
        (b"12,", b","),
        (b'"t-1"', b'"t\\u00311"'),
        (b'"t-1"', '"\u00e9"'.encode()),
        (b'"t-1"', b'"t"1"'),
        (b'"r1"', b"1"),
        (b'"model": "m", "usage"', b'"model": "n", "usage"'),
        (b'"trace"', b'"trail"'),
        (b"true", b"false"),
        (b" ", b"  "),
        (b'"flag": true}', b'"flag": true, "more": 1}'),
        (b'"flag": true}', b'"flag": true'),
        (b'{"at"', b'\x00{"at"'),
    ],
)
def test_what_is_another_form(was, now):
    line = LINE.replace(was, now)
    assert line != LINE
    assert fit(learnt(), line) is None


@pytest.mark.parametrize(
    "line",
    [
        b'{"response": {"usage": {"n": 1}}, "time": "2026-11-01T12:00:00Z", "request": {"model": "m"}}',
        b'{"request": {"model": "m"}, "time": "2026-11-01T12:00:00Z", "response": {"usage": {"n": 1}}}',
        b'{"response":{"usage":{"n":1}},"request":{"model": "m"},"time":"2026-11-01T12:00:00Z"}',
    ],
)
def test_members_in_any_order(line):
    later = line.replace(b"12:00:00", b"13:01:02").replace(b"1}", b"23}")
    found = fit(learnt(line, BODY, "time"), later)
    assert found is not None
    assert (found.time, found.form.has_id, found.counts()) == (b'"2026-11-01T13:01:02Z"', False, [23])
    assert found.body == BODY


@pytest.mark.parametrize("number", [b"1", b'"caf\\u00e9"'])
def test_an_answer_id_that_is_no_plain_text(number):
    """What is a text is told, and has to be the same one."""
    line = LINE.replace(b'"r1"', number)
    found = fit(learnt(line), line)
    assert found is not None and found.values.groupdict().get("id") == (None if number == b"1" else number)
    assert fit(learnt(line), line.replace(number, number[:-1] + b'9"')) is None


@pytest.mark.parametrize("name", [b'"response"', b'"usage"', b'"trace"', b'"model"', b'"at"'])
def test_a_name_with_an_escape_makes_no_form(name):
    line = LINE.replace(name, name.replace(b"e", b"\\u0065").replace(b"a", b"\\u0061"))
    assert fit(learnt(line), line) is None


@pytest.mark.parametrize("note", [b'"half a pair: \\ud800"', b"1e999"])
def test_a_value_that_not_every_reader_takes_makes_no_form(note):
    line = LINE.replace(b'["a", null]', note)
    assert fit(learnt(line), line) is None
    line = LINE.replace(b"12,", b'12, "note": ' + note + b",")
    assert fit(learnt(line), line) is None


def test_a_time_of_another_notation_is_told():
    line = LINE.replace(b"1793534400.5", b"1.7935344e9")
    found = fit(learnt(line), line)
    assert found is not None and found.time == b"1.7935344e9"
    assert fit(learnt(line), LINE) is None


def test_the_newest_forms_of_a_log_are_kept():
    forms = Forms()
    lines = [LINE.replace(b"trace", f"trace{'x' * number}".encode()) for number in range(20)]
    for line in lines:
        forms.learn(line, BODY, time_member="at", model=None)
    assert [fit(forms, line) is not None for line in lines] == [False] * 12 + [True] * 8
