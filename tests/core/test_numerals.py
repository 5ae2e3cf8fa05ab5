"""Numbers of things in words."""

from __future__ import annotations

import pytest

from hitrate.core.numerals import counted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 requests"), (1, "1 request"), (2, "2 requests"), (12_031, "12,031 requests")]
)
def test_one_is_singular(number: int, words: str) -> None:
    assert counted(number, "request") == words
