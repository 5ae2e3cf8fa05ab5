"""Linear least squares for a few coefficients that are not negative, with outliers held short. In plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt

Matrix = list[list[float]]

OUTLIER = 0.1
"""Residuals above it count by their size, not by its square (Huber, "Robust Estimation of a Location Parameter", Annals
of Mathematical Statistics 35, 1964)."""

_SWEEPS = 2000


def loss(residuals: Sequence[float]) -> float:
    return sum(r * r if abs(r) < OUTLIER else OUTLIER * (2 * abs(r) - OUTLIER) for r in residuals)


def weights(residuals: Sequence[float]) -> list[float]:
    """With which squares add up to `loss`, but for a constant, near these residuals."""
    return [1.0 if abs(r) < OUTLIER else OUTLIER / abs(r) for r in residuals]


def normal(rows: Sequence[Sequence[float]], weighed: Sequence[float]) -> Matrix:
    """Of the columns with each other."""
    columns = list(zip(*rows, strict=True))
    return [[sum(w * a * b for w, a, b in zip(weighed, one, two, strict=True)) for two in columns] for one in columns]


def nonnegative(rows: Sequence[Sequence[float]], wanted: Sequence[float], weighed: Sequence[float]) -> list[float]:
    """Coefficients of the columns, none below 0, that come nearest to what is wanted: by descent along one after the
    other (Franc, Hlavac & Navara, "Sequential Coordinate-Wise Algorithm for the Non-negative Least Squares Problem",
    CAIP 2005). Columns of nothing get 0."""
    scales = [max(map(abs, column)) or 1.0 for column in zip(*rows, strict=True)]
    scaled = [[value / scale for value, scale in zip(row, scales, strict=True)] for row in rows]
    matrix = normal(scaled, weighed)
    right = [sum(w * a * y for w, a, y in zip(weighed, one, wanted, strict=True)) for one in zip(*scaled, strict=True)]
    found = [0.0] * len(scales)
    for _ in range(_SWEEPS):
        moved = 0.0
        for place, row in enumerate(matrix):
            if row[place] <= 0:
                continue
            slope = sum(a * x for a, x in zip(row, found, strict=True)) - right[place]
            better = max(0.0, found[place] - slope / row[place])
            moved = max(moved, abs(better - found[place]))
            found[place] = better
        if moved <= 1e-9 * max(1e-300, *found):
            break
    return [value / scale for value, scale in zip(found, scales, strict=True)]


def standard_errors(rows: Sequence[Sequence[float]], residuals: Sequence[float]) -> list[float]:
    """Of the coefficients, from the scatter of the residuals; infinite where the rows cannot tell them apart. Residuals
    are taken for independent."""
    scales = [max(map(abs, column)) or 1.0 for column in zip(*rows, strict=True)]
    scaled = [[value / scale for value, scale in zip(row, scales, strict=True)] for row in rows]
    matrix = normal(scaled, weights(residuals))
    count = len(scales)
    noise = loss(residuals) / max(1, len(residuals) - count)
    errors = []
    for place, scale in enumerate(scales):
        column = solve(matrix, [1.0 if number == place else 0.0 for number in range(count)])
        known = column is not None and column[place] > 0
        errors.append(sqrt(noise * column[place]) / scale if known and column else inf)
    return errors


def solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float] | None:
    """Of linear equations, by elimination with pivots; None where they do not say."""
    count = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    largest = max((abs(value) for row in matrix for value in row), default=0.0)
    for place in range(count):
        pivot = max(range(place, count), key=lambda number: abs(rows[number][place]))
        if abs(rows[pivot][place]) <= 1e-12 * largest:
            return None
        rows[place], rows[pivot] = rows[pivot], rows[place]
        for row in rows[place + 1 :]:
            share = row[place] / rows[place][place]
            for column in range(place, count + 1):
                row[column] -= share * rows[place][column]
    found = [0.0] * count
    for place in reversed(range(count)):
        known = sum(rows[place][column] * found[column] for column in range(place + 1, count))
        found[place] = (rows[place][count] - known) / rows[place][place]
    return found
