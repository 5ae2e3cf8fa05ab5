"""Bodies in, pieces out."""

from __future__ import annotations

import pytest

from hitrate.logs.bodies import BLOCK_BYTES, LONGEST_PART, Joined, elements_of, split_body

LONG = b'"' + b"x" * 70 + b'"'
HUGE = b'"' + b"x" * LONGEST_PART + b'"'


def value_bytes(pieces) -> list[bytes]:
    return [b"".join(value) for piece in pieces if isinstance(piece, Joined) for value in piece.values]


def whole(pieces) -> bytes:
    return b"".join(
        piece.separator.join(b"".join(value) for value in piece.values) if isinstance(piece, Joined) else piece
        for piece in pieces
    )


@pytest.mark.parametrize(
    ("body", "values"),
    [
        (b'{"model":"m","messages":[{"role":"user"},{"role":"tool"}]}', [b'{"role":"user"}', b'{"role":"tool"}']),
        (b'{"messages": [{"a": 1}, {"b": 2}, {"c": 3}]}', [b'{"a": 1}', b'{"b": 2}', b'{"c": 3}']),
        (b'{"messages":[{"a":1},\n {"b":2} , {"c":3}]}', [b'{"a":1}', b'{"b":2}', b'{"c":3}']),
        (b'{ "tools" : [ {"a":1} , 2 ], "input": ["a"] }', [b'{"a":1}', b"2", b'"a"']),
        (b'{"system":' + LONG + b',"short":"x"}', [LONG]),
        (b'{"messages":[]}', []),
        (b'{"prompt":[1,2,3]}', []),
        (b'{"prompt":[' + b"1," * 40 + b"2]}", [b"[" + b"1," * 40 + b"2]"]),
        (b"{}", []),
        (b"", []),
        (b"[1, 2]", [b"[1, 2]"]),
        (b"not json", [b"not json"]),
        (b'{"messages":["\xff"]}', [b'{"messages":["\xff"]}']),
        (b"[" * 10_000, [b"[" * 10_000]),
        (b'{"a":["1"],"b":["2"],"a":["3"]}', [b'"3"']),
    ],
    ids=lambda value: None if isinstance(value, list) else value[:20].decode("latin-1"),
)
def test_values(body, values):
    pieces = split_body(body)
    assert value_bytes(pieces) == values
    assert whole(pieces) == body


def test_elements_with_the_same_bytes_between_are_one_piece():
    assert split_body(b'{"messages": [{"a":1}, {"b":2}], "n": 1}') == [
        b'{"messages": [',
        Joined(b", ", [[b'{"a":1}'], [b'{"b":2}']]),
        b'], "n": 1}',
    ]


@pytest.mark.parametrize("body", [HUGE, b'{"prompt":' + HUGE + b"}", b'{"messages":[' + HUGE + b"]}"])
def test_long_values_are_cut_into_blocks(body):
    pieces = split_body(body)
    (joined,) = [piece for piece in pieces if isinstance(piece, Joined)]
    (blocks,) = joined.values
    assert {len(block) for block in blocks[:-1]} == {BLOCK_BYTES}
    assert whole(pieces) == body


@pytest.mark.parametrize("array", [b"", b"{}", b"[", b"[]", b"[1,2]", b"[null]", b"[\xff]"])
def test_what_has_no_elements_worth_keeping(array):
    assert elements_of(array) is None
