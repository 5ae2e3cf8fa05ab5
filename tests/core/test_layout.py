from __future__ import annotations

import json

import pytest

from hitrate.core.layout import Layouts


def line(value, *, last, compact):
    members = {"at": 1, "body": value} if last else {"at": 1, "body": value, "response": {"id": "r"}}
    return json.dumps(members, separators=(",", ":") if compact else None).encode()


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("compact", [True, False])
def test_a_member_is_found_in_objects_of_the_same_layout(last, compact):
    layouts = Layouts()
    first, second = ({"a": [1]}, {"a": [1, 2], "response": {}, "b": '"body": {'})
    data = line(first, last=last, compact=compact)
    value = json.dumps(first, separators=(",", ":") if compact else None).encode()
    start, end = layouts.learn(data, "body", value)
    assert data[start:end] == value
    data = line(second, last=last, compact=compact)
    assert [json.loads(data[start:end]) for start, end in layouts.guess(data)] == [second]


def test_another_layout_fits_nowhere_until_it_is_learnt():
    layouts = Layouts()
    layouts.learn(b'{"body":{},"x":1}', "body", b"{}")
    other = b'{"body" : {"a": 1}, "y": 1}'
    assert list(layouts.guess(other)) == []
    layouts.learn(other, "body", b'{"a": 1}')
    assert [other[start:end] for start, end in layouts.guess(other)] == [b'{"a": 1}']


def test_a_value_that_stands_nowhere_is_not_learnt():
    layouts = Layouts()
    assert layouts.learn(b'{"body":"{}"}', "body", b'{"a":1}') is None
    assert layouts.learn(b'{"other":{}}', "body", b"{}") is None
