"""Blocks by number: in the order of their first occurrence, whatever the file calls them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.logs.traces.numbering import BlockNumbers


def numbered(prompts: list[list[object]]) -> list[list[int]]:
    numbers = BlockNumbers()
    return [list(numbers.of(list(prompt))) for prompt in prompts]


@pytest.mark.parametrize(
    ("prompts", "numbers"),
    [
        ([[0, 1, 2], [0, 1, 3], []], [[0, 1, 2], [0, 1, 3], []]),
        ([[46, 47], [46, 48]], [[0, 1], [0, 2]]),
        ([[0, 1], [3], [1, 2]], [[0, 1], [2], [1, 3]]),
        ([[0, 1], [0, 3, 2], [3]], [[0, 1], [0, 2, 3], [2]]),
        ([[0, 1], [2, 0, 3]], [[0, 1], [2, 0, 3]]),
        ([[0], [-1, 1], [1]], [[0], [1, 2], [2]]),
        ([[0], [2**70, 1]], [[0], [1, 2]]),
        ([["a", "b"], ["a", "c"]], [[0, 1], [0, 2]]),
        ([[(0, 1)], [(0, 2), (0, 1)]], [[0], [1, 0]]),
        ([[], [0]], [[], [0]]),
        ([[0, 0, 1], [1, 1]], [[0, 0, 1], [1, 1]]),
        ([[0, 1, 1]], [[0, 1, 1]]),
    ],
)
def test_first_occurrences(prompts: list[list[object]], numbers: list[list[int]]) -> None:
    assert numbered(prompts) == numbers


@given(st.lists(st.lists(st.integers(-1, 9), max_size=5), max_size=9))
def test_numbers_of_any_file_are_those_of_a_table(prompts: list[list[object]]) -> None:
    table: dict[object, int] = {}

    assert numbered(prompts) == [[table.setdefault(name, len(table)) for name in prompt] for prompt in prompts]
