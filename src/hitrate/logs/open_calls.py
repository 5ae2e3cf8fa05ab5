"""Calls of a server's log that wait for the line with their answer, given out in the order in which they came in."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hitrate.core.model import Call

_MOST_WAITING = 1000
"""Calls a server answers at once, with room to spare. The oldest is given out as it is when there are more."""


class OpenCalls:
    def __init__(self) -> None:
        self._waiting: dict[str, Call] = {}
        self._answered: set[str] = set()

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._waiting

    def begin(self, request_id: str, call: Call) -> Iterator[Call]:
        """A request came in."""
        self._waiting[request_id] = call
        if len(self._waiting) > _MOST_WAITING:
            oldest = next(iter(self._waiting))
            self._answered.discard(oldest)
            yield self._waiting.pop(oldest)

    def answer(self, request_id: str, change: Callable[[Call], Call]) -> Iterator[Call]:
        """Its answer did; one whose request is not known, or was given out already, changes nothing."""
        if request_id in self._waiting:
            self._waiting[request_id] = change(self._waiting[request_id])
            self._answered.add(request_id)
        while self._waiting and (oldest := next(iter(self._waiting))) in self._answered:
            self._answered.discard(oldest)
            yield self._waiting.pop(oldest)

    def rest(self) -> Iterator[Call]:
        """Those without an answer at the end of the log."""
        yield from self._waiting.values()
        self._waiting = {}
        self._answered = set()
