"""Stamps that cannot be right: what becomes of them, and that it is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from trace_files import lines, opened, rows

from hitrate.core.records import Caution

NORMAL = [1000 * second for second in range(20)]
WRONG = 10**13
"""Milliseconds of a clock that ran in nanoseconds."""


def stamped(folder: Path, stamps: list[float | None]) -> tuple[list[float], list[str]]:
    """Times in seconds, and the cautions with their lines."""
    made = ({"timestamp": stamp, "input_length": 1, "hash_ids": [1]} for stamp in stamps)
    trace = opened(folder, lines(*({k: v for k, v in row.items() if v is not None} for row in made)))
    times = [row.at_s for row in rows(trace)]
    cautions = [one for one in trace.records().remarks if isinstance(one, Caution)]
    return times, [f"{one.line}: {one.what}" for one in cautions]


def with_stamps(**wrong: float) -> list[float | None]:
    return [wrong.get(f"at_{number}", stamp) for number, stamp in enumerate(NORMAL)]


@pytest.mark.parametrize(
    ("stamps", "times", "line"),
    [
        (with_stamps(at_10=WRONG), {9: 9.0, 10: 9.0, 11: 11.0, 19: 19.0}, 11),
        (with_stamps(at_10=WRONG, at_11=WRONG), {10: 9.0, 11: 9.0, 12: 12.0}, 11),
        (with_stamps(at_0=WRONG), {0: 0.0, 1: 0.0, 2: 1.0, 19: 18.0}, 1),
        (with_stamps(at_18=WRONG), {17: 17.0, 18: 17.0, 19: 19.0}, 19),
    ],
)
def test_a_stamp_that_those_behind_do_not_go_on_from_is_not_believed(
    tmp_path: Path, stamps: list[float | None], times: dict[int, float], line: int
) -> None:
    found, cautions = stamped(tmp_path, stamps)

    assert {number: found[number] for number in times} == times
    assert cautions[0].startswith(f"{line}: stamped 317 years after ")
    assert "the stamp is not believed" in cautions[0]
    assert "what GPUs cost" in cautions[0]


@pytest.mark.parametrize(
    ("stamps", "said"),
    [
        (with_stamps(at_19=WRONG), "20: stamped 317 years after the request before, 100 % of the time of the whole"),
        ([0.0, *(1.7e12 + stamp for stamp in NORMAL)], "2: stamped 54 years after the request before, 100 % of"),
        ([0.0, 1000.0, 3 * 86_400_000.0, 4 * 86_400_000.0], "3: stamped 3 days after the request before, 75 % of"),
    ],
)
def test_a_gap_that_outweighs_the_rest_is_said_with_what_it_costs(
    tmp_path: Path, stamps: list[float | None], said: str
) -> None:
    found, cautions = stamped(tmp_path, stamps)

    assert found == [(stamp - stamps[0]) / 1000 for stamp in stamps]
    assert len(cautions) == 1
    assert cautions[0].startswith(said)
    assert "GPUs are paid for throughout" in cautions[0]


def test_two_files_one_behind_the_other_are_told_to_be_sorted(tmp_path: Path) -> None:
    later = [stamp + 7_200_000 for stamp in NORMAL]
    found, cautions = stamped(tmp_path, [*later, *NORMAL])

    assert found[19:] == [19.0] * 21
    assert len(cautions) == 1
    assert cautions[0].startswith(
        "21: 20 requests are stamped earlier than the one before; they are taken in the file's"
    )
    assert "by up to 2 hours" in cautions[0]
    assert cautions[0].endswith("sort the file by times")


@pytest.mark.parametrize(
    "stamps",
    [
        NORMAL,
        with_stamps(at_10=30_000),
        [0.0, *(3_600_000.0 + stamp for stamp in NORMAL)],
        [None, *NORMAL, None],
        [None, None],
        [day * 86_400_000.0 for day in range(9)],
    ],
    ids=["even", "a little out of order", "an hour's gap", "some unknown", "none", "days apart"],
)
def test_what_may_well_be_is_no_caution(tmp_path: Path, stamps: list[float | None]) -> None:
    assert stamped(tmp_path, stamps)[1] == []
