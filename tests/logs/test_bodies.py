"""Bodies in, pieces out."""

from __future__ import annotations

import pytest

from hitrate.logs.bodies import split_body

LONG = b'"' + b"x" * 70 + b'"'


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        (b'{"model":"m","messages":[{"role":"user"},{"role":"tool"}]}', [b'{"role":"user"}', b'{"role":"tool"}']),
        (b'{ "tools" : [ {"a":1} , 2 ], "input": ["a"] }', [b'{"a":1}', b"2", b'"a"']),
        (b'{"system":' + LONG + b',"short":"x"}', [LONG]),
        (b'{"messages":[]}', []),
        (b"{}", []),
        (b"", [b""]),
        (b"[1, 2]", [b"[1, 2]"]),
        (b"not json", [b"not json"]),
        (b'{"messages":["\xff"]}', [b'{"messages":["\xff"]}']),
        (b"[" * 100_000, [b"[" * 100_000]),
        (b'{"a":[1],"b":[2],"a":[3]}', [b"3"]),
    ],
    ids=lambda value: None if isinstance(value, list) else value[:20].decode("latin-1"),
)
def test_parts(body, parts):
    pieces = split_body(body)
    assert [piece.data for piece in pieces if piece.is_part] == parts
    assert b"".join(piece.data for piece in pieces) == body
