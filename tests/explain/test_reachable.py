import pytest

from hitrate.explain.evidence import Mark
from hitrate.explain.reachable import longest_found, out_of_reach

SYSTEM, TAIL = Mark(6, 5700), Mark(9, 5988)


@pytest.mark.parametrize(
    ("marks", "entries", "look_back", "found"),
    [
        ([SYSTEM, Mark(37, 8472)], [SYSTEM, TAIL], 20, SYSTEM),
        ([SYSTEM, Mark(28, 8472)], [SYSTEM, TAIL], 20, TAIL),
        ([SYSTEM, Mark(29, 8472)], [SYSTEM, TAIL], 20, SYSTEM),
        ([Mark(29, 8472)], [TAIL], 20, None),
        ([Mark(29, 8472)], [TAIL], 21, TAIL),
        ([Mark(1000, 90000)], [TAIL], None, TAIL),
        ([TAIL], [TAIL], 1, TAIL),
        ([Mark(10, 6000)], [TAIL], 1, None),
        ([SYSTEM], [TAIL], 20, None),
        ([], [TAIL], 20, None),
        ([TAIL], [], 20, None),
    ],
)
def test_what_markers_find(marks, entries, look_back, found):
    assert longest_found(marks, entries, look_back) == found


@pytest.mark.parametrize(
    ("marks", "entries", "look_back", "missed"),
    [
        ([SYSTEM, Mark(37, 8472)], [SYSTEM, TAIL], 20, (TAIL, 28)),
        ([SYSTEM, Mark(29, 8472)], [SYSTEM, TAIL], 20, (TAIL, 20)),
        ([SYSTEM, Mark(28, 8472)], [SYSTEM, TAIL], 20, None),
        ([SYSTEM], [SYSTEM, TAIL], 20, (TAIL, None)),
        ([], [TAIL], 20, (TAIL, None)),
        ([TAIL], [], 20, None),
    ],
)
def test_what_they_do_not_find(marks, entries, look_back, missed):
    assert out_of_reach(marks, entries, look_back) == missed
