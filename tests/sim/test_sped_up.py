"""A trace under more or less load."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from hitrate.core.records import Records
from hitrate.core.trace import Chunk, Replayable
from hitrate.sim.sped_up import SpedUp


class Made:
    facts = Replayable(path="trace", format="made", block_tokens=4, has_partial_blocks=True)

    def chunks(self) -> Iterator[Chunk]:
        yield Chunk(
            array("d", [0.0, 3.0]), array("q", [4, 4]), array("q", [1, 1]), array("q", [0, 1]), array("q", [0, 1, 2]),
            array("q", [0, 1]),
        )  # fmt: skip

    def records(self) -> Records:
        return Records(read=2, used=2)


def test_only_times_change() -> None:
    trace = SpedUp(Made(), 2.0)
    (chunk,) = trace.chunks()
    (own,) = Made().chunks()

    assert list(chunk.at_s) == [0.0, 1.5]
    assert chunk._replace(at_s=own.at_s) == own
    assert (trace.facts, trace.records()) == (Made.facts, Records(read=2, used=2))
