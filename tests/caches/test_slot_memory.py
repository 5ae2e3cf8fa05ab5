"""Which cells of a sliding window are used again, by literal positions; a real server has the last word elsewhere."""

from __future__ import annotations

import pytest

from hitrate.caches.slot_memory import RecurrentMemory, WindowMemory, window_cells


def filled(window: int, cells: int | None, tokens: int, micro_batch: int = 2) -> WindowMemory:
    memory = WindowMemory(window, cells)
    memory.compute(0, 0, tokens, micro_batch)
    memory.check_integrity()
    return memory


@pytest.mark.parametrize(
    ("window", "micro_batch", "context", "sequences", "cells"),
    [(128, 512, 8192, 1, 768), (128, 32, 8192, 1, 256), (1024, 512, None, 1, 1536), (128, 512, 4096, 4, 1024)],
)
def test_cells_are_the_windows_and_a_micro_batch_in_steps_of_256(
    window: int, micro_batch: int, context: int | None, sequences: int, cells: int
) -> None:
    assert window_cells(window, micro_batch, context, sequences) == cells


def test_the_cells_of_a_small_context_are_its_own() -> None:
    assert window_cells(128, 512, 300, 1) == 512


@pytest.mark.parametrize(
    ("tokens", "lowest"),
    [(0, -1), (8, 0), (9, 0), (10, 1), (12, 3), (13, 4)],
)
def test_what_left_the_window_stays_until_its_cell_is_needed(tokens: int, lowest: int) -> None:
    memory = filled(4, 9, tokens)
    assert (memory.lowest(0), memory.highest(0)) == (lowest, tokens - 1)


def test_without_a_limit_nothing_goes() -> None:
    assert filled(4, None, 500).lowest(0) == 0


def test_a_copy_holds_the_window_in_the_order_of_cells_and_comes_back_without_the_rest() -> None:
    memory = filled(4, 8, 10)
    assert memory.saved(0) == (8, 9, 6, 7)
    memory.load(0, (8, 9, 6, 7))
    memory.check_integrity()
    assert (memory.lowest(0), memory.highest(0), memory.saved(0)) == (6, 9, (8, 9, 6, 7))


def test_no_gap_is_left_where_a_later_position_was_overwritten() -> None:
    memory = filled(4, 8, 10)
    memory.load(0, (8, 9, 6, 7))
    memory.compute(0, 10, 14, 1)  # Fills the cells behind.
    memory.compute(0, 14, 15, 1)  # Takes the cell of 8: 6 and 7 go, too.
    memory.check_integrity()
    assert memory.lowest(0) == 9


def test_what_is_cut_makes_room() -> None:
    memory = filled(4, 8, 10)
    memory.cut(0, 8)
    assert (memory.lowest(0), memory.highest(0)) == (2, 7)
    memory.compute(0, 8, 10, 2)
    assert memory.lowest(0) == 2
    memory.cut(0, 0)
    assert (memory.lowest(0), memory.saved(0)) == (-1, ())


def test_one_sequence_takes_the_cells_that_another_no_longer_sees() -> None:
    memory = filled(3, 10, 8)
    memory.compute(1, 0, 4, 2)
    memory.check_integrity()
    assert (memory.lowest(0), memory.highest(0), memory.lowest(1), memory.highest(1)) == (2, 7, 0, 3)


def test_too_few_cells_are_told() -> None:
    memory = WindowMemory(4, 5)
    with pytest.raises(AssertionError, match="5 cells have no room for 6 tokens"):
        memory.compute(0, 0, 6, 6)


def test_a_state_is_replaced_but_not_taken_back() -> None:
    memory = RecurrentMemory()
    memory.compute(0, 0, 5, 512)
    assert (memory.lowest(0), memory.highest(0), memory.saved(0)) == (4, 4, (4,))
    memory.cut(0, 5)
    with pytest.raises(AssertionError, match="cannot be taken back"):
        memory.cut(0, 4)
    memory.load(0, (2,))
    assert memory.highest(0) == 2
    memory.cut(0, 0)
    assert (memory.lowest(0), memory.saved(0)) == (-1, ())
