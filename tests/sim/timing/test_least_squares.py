from __future__ import annotations

from math import inf

import pytest

from hitrate.sim.timing.least_squares import loss, nonnegative, solve, standard_errors, weights


@pytest.mark.parametrize(
    ("rows", "wanted", "found"),
    [
        ([(1, 0), (0, 2)], [3, 4], [3, 2]),
        ([(1, 1), (1, 2), (1, 3)], [3, 5, 7], [1, 2]),
        ([(1e6, 1e-6), (1e6, 2e-6), (1e6, 4e-6)], [3e-3, 4e-3, 6e-3], [2e-9, 1e3]),
        ([(1, 1), (1, 2), (1, 3)], [3, 2, 1], [2, 0]),
        ([(1, 0), (1, 0)], [3, 5], [4, 0]),
    ],
    ids=["diagonal", "line", "scales apart", "falling line", "column of nothing"],
)
def test_coefficients_that_are_not_negative(rows: list, wanted: list, found: list) -> None:
    assert nonnegative(rows, wanted, [1.0] * len(rows)) == pytest.approx(found, rel=1e-5)


def test_outliers_count_by_their_size() -> None:
    assert loss([0.05, -0.3]) == pytest.approx(0.0025 + 0.1 * 0.5)
    assert weights([0.05, -0.2]) == [1.0, 0.5]


@pytest.mark.parametrize(
    ("matrix", "right", "found"),
    [
        ([[0, 2], [4, 1]], [6, 11], [2, 3]),
        ([[1, 2], [2, 4]], [1, 2], None),
        ([[0]], [0], None),
    ],
)
def test_linear_equations(matrix: list, right: list, found: list | None) -> None:
    assert solve(matrix, right) == found


def test_standard_errors_of_a_mean_and_of_columns_that_are_alike() -> None:
    """Of 4 residuals of 0.02: 0.02 x sqrt(4/3) / sqrt(4)."""
    residuals = [0.02, -0.02, 0.02, -0.02]

    assert standard_errors([(1.0,)] * 4, residuals) == pytest.approx([0.01 * (4 / 3) ** 0.5])
    assert standard_errors([(1.0, 3.0)] * 4, residuals) == [inf, inf]
