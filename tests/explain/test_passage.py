from __future__ import annotations

from typing import Any

import pytest

from hitrate.explain.passage import Passage, passage


@pytest.mark.parametrize(
    ("sent", "arrived", "found"),
    [
        ({"a": 1}, {"a": 1}, Passage(False)),
        ({"a": 1, "b": 2}, {"b": 2}, Passage(False, dropped=("/a",))),
        ({"a": 1}, {"a": 1, "b": 2}, Passage(False, added=("/b",))),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, Passage(False, reordered=("",))),
        ({"max_tokens": 17}, {"limit": 17}, Passage(False, renamed=(("/max_tokens", "/limit"),))),
        ({"a": True, "b": 0}, {"c": True, "d": 0}, Passage(False, dropped=("/a", "/b"), added=("/c", "/d"))),
        ({"a": 1}, {"a": True}, Passage(False, changed=("/a",))),
        ({"a": 1}, {"a": 1.0}, Passage(False)),
        ({"m": ["x", "y"]}, {"m": ["x"]}, Passage(False, dropped=("/m/1",))),
        ({"m": ["x"]}, {"m": ["x", "y"]}, Passage(False, added=("/m/1",))),
        ({"m": [{"t": "é"}]}, {"m": [{"t": "e\u0301"}]}, Passage(False, changed=("/m/0/t",))),
        ({"a/b": {"c~d": 1}}, {"a/b": {"c~d": 2}}, Passage(False, changed=("/a~1b/c~0d",))),
        ({"m": "text"}, {"m": ["text"]}, Passage(False, changed=("/m",))),
    ],
)  # fmt: skip
def test_what_became_of_a_request(sent: Any, arrived: Any, found: Passage) -> None:
    assert passage(sent, arrived) == found


def test_the_same_bytes_need_no_look() -> None:
    assert passage({}, {}, same_bytes=True) == Passage(True)


def test_touches_the_place_and_what_is_below_it() -> None:
    found = Passage(False, changed=("/tools/0/name",))

    assert found.touches("/tools")
    assert found.touches("/tools/0/name")
    assert not found.touches("/tool")
    assert not found.touches("/tools/0/name/x")
