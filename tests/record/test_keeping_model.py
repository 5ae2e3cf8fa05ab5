"""Journal, keeper and store together against a plain list, with kills at any moment and damage at any byte.

What was acknowledged comes out of the store once, in order, to the byte; what a cut or a flipped bit took away, and
nothing else, is missing.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from exchanges import chat
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from hitrate.logs.store import Store
from hitrate.record import keeper as keeper_module
from hitrate.record.exchange import Exchange
from hitrate.record.journal import FRAME, Journal, segment_numbers, segment_path
from hitrate.record.keeper import Keeper
from hitrate.record.reading import call_of

_SEGMENT_BYTES = 2500
_LENGTH_FIELD = range(4, 8)


class _Killed(BaseException):
    """Nothing handles it, as nothing handles SIGKILL."""


class Recording(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name) / "journal"
        self.number = 0
        self.acknowledged: list[tuple[Exchange, int, int]] = []
        """With the segment and the end of its frame there."""
        self.damaged = self.maybe_torn = 0
        self.writer: Journal | None = None

    @initialize()
    def begin(self) -> None:
        self.store = Store.open(Path(self.place.name) / "runs.sqlite3")
        self.run = self.store.begin_run("record", "practice", None, "hitrate proxy", "2026-11-29T12:00:00Z")
        self.start_writer()
        self.start_keeper()

    def teardown(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.drain()
        assert self.keeper.finish()
        expected = [call_of(exchange) for exchange, _, _ in self.acknowledged]
        assert list(self.store.calls(self.run)) == expected
        recording = self.store.recording(self.run)
        assert recording.ended
        assert self.damaged <= recording.damaged_frames <= self.damaged + self.maybe_torn
        assert self.store.check_integrity() == []
        assert not self.folder.exists()
        self.store.close()
        self.place.cleanup()

    def start_writer(self) -> None:
        self.writer = Journal(self.folder, segment_bytes=_SEGMENT_BYTES)

    def start_keeper(self) -> None:
        self.keeper = Keeper(self.folder, self.store, self.run)

    def new(self, size: int) -> Exchange:
        self.number += 1
        return chat(self.number, request_headers={"session_id": "s" * size})

    @rule(sizes=st.lists(st.integers(0, 2000), min_size=1, max_size=4))
    def record(self, sizes: list[int]) -> None:
        if self.writer is None:
            self.start_writer()
        for size in sizes:
            exchange = self.new(size)
            assert self.writer.record(exchange)
            segment = segment_numbers(self.folder)[-1]
            self.acknowledged.append((exchange, segment, segment_path(self.folder, segment).stat().st_size))

    @rule()
    def drain(self) -> None:
        self.keeper.drain()

    @rule(after_commits=st.integers(0, 2), committed=st.booleans(), at_once=st.integers(1, 3))
    def kill_the_keeper(self, after_commits: int, committed: bool, at_once: int) -> None:
        """In front of a commit or behind it, in the middle of taking in; and start another."""
        add_calls = self.store.add_calls
        left = after_commits

        def add_or_die(run_id, calls, journal):
            nonlocal left
            if left == 0 and not committed:
                raise _Killed
            add_calls(run_id, calls, journal)
            if left == 0:
                raise _Killed
            left -= 1

        before = keeper_module._EXCHANGES_AT_ONCE
        keeper_module._EXCHANGES_AT_ONCE = at_once
        self.store.add_calls = add_or_die
        try:
            self.keeper.drain()
        except _Killed:
            pass
        finally:
            keeper_module._EXCHANGES_AT_ONCE = before
            del self.store.add_calls
        self.keeper.close()
        self.start_keeper()

    @rule(share=st.floats(0, 1, exclude_max=True))
    def kill_the_writer_in_the_middle_of_a_write(self, share: float) -> None:
        """What it was writing was not acknowledged, and some of it is there."""
        if self.writer is None:
            self.start_writer()
        size_before = self._size()
        exchange = self.new(10)
        assert self.writer.record(exchange)
        self.writer.close()
        self.writer = None
        numbers = segment_numbers(self.folder)
        path = segment_path(self.folder, numbers[-1])
        start = size_before[1] if numbers[-1] == size_before[0] else 0
        with path.open("r+b") as file:
            file.truncate(start + int((path.stat().st_size - start) * share))

    @precondition(lambda self: self.writer is None)
    @rule(share=st.floats(0, 1))
    def cut_the_newest_segment(self, share: float) -> None:
        """As a machine that lost its power may, behind what was taken in."""
        segment, size = self._size()
        taken = self.store.recording(self.run)
        least = taken.offset if taken.segment == segment else 0
        end = least + int((size - least) * share)
        with segment_path(self.folder, segment).open("r+b") as file:
            file.truncate(end)
        self.acknowledged = [one for one in self.acknowledged if one[1] < segment or one[2] <= end]

    @rule(which=st.floats(0, 1, exclude_max=True), place=st.floats(0, 1, exclude_max=True))
    def flip_a_bit(self, which: float, place: float) -> None:
        """In a frame that was not taken in and that others follow; the last one may still be on its way."""
        taken = self.store.recording(self.run)
        waiting = [one for one in self.acknowledged if (one[1], one[2]) > (taken.segment, taken.offset)][:-1]
        if not waiting:
            return
        exchange, segment, end = waiting[int(len(waiting) * which)]
        starts = [one[2] for one in self.acknowledged if one[1] == segment and one[2] < end]
        start = max(starts, default=0)
        with segment_path(self.folder, segment).open("r+b") as file:
            file.seek(start)
            frame = bytearray(file.read(end - start))
            if FRAME.unpack_from(frame)[1] != len(frame) - FRAME.size:
                return  # damaged frames in front of it belong to no exchange any more
            flipped = int(len(frame) * place)
            frame[flipped] ^= 0x40
            file.seek(start)
            file.write(frame)
        self.acknowledged.remove((exchange, segment, end))
        if flipped in _LENGTH_FIELD:  # at the end of a segment a longer frame looks like half a one
            self.maybe_torn += 1
        else:
            self.damaged += 1
        self.drain_past(segment, end)

    def drain_past(self, segment: int, end: int) -> None:
        """So that two damaged frames are never neighbours, which would be reported as one."""
        self.keeper.drain()
        if self.writer is None:
            return
        taken = self.store.recording(self.run)
        assert (taken.segment, taken.offset) >= (segment, end)

    def _size(self) -> tuple[int, int]:
        numbers = segment_numbers(self.folder)
        return (numbers[-1], segment_path(self.folder, numbers[-1]).stat().st_size) if numbers else (0, 0)


Recording.TestCase.settings = settings(
    max_examples=20, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestRecording = Recording.TestCase
