"""A store that tells of each call put into it: for counts and exports that need no second look at the calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hitrate.core.model import Call
from hitrate.logs.recordings import JournalPosition
from hitrate.logs.store import Store


class ToldStore(Store):
    """`listeners` are told once a call is committed, in order."""

    listeners: tuple[Callable[[Call], None], ...] = ()

    def add_calls(self, run_id: str, calls: Sequence[Call], journal: JournalPosition | None = None) -> None:
        super().add_calls(run_id, calls, journal)
        for call in calls:
            for listener in self.listeners:
                listener(call)
