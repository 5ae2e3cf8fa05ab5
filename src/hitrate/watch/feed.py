"""Reads a recording as it grows and keeps the board, in a thread of its own and only while somebody looks.

Nothing is read before the first look. What was recorded by then is caught up with; when nobody has looked for a while
the thread waits, and goes on where it was when somebody looks again.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from hitrate.core.cost import Quote
from hitrate.core.findings import ExplainReport
from hitrate.core.model import Call, Usage
from hitrate.core.money import Price
from hitrate.errors import HitrateError
from hitrate.report.escape import escape_line
from hitrate.watch.board import Board
from hitrate.watch.explained import Added, LiveExplainer, NumberedCalls
from hitrate.watch.views import Break, SessionHead, Turn, Update

LOOKED_AT_FOR_S = 60.0
"""After the last look, how long the board is kept up to date."""

_POLL_S = 0.25
_RETRY_S = 2.0
_BATCH = 64
"""Calls after which what was found is shown while there are more to read."""

QuoteOf = Callable[[Call], Any]
"""A call's `Quote`, or anything else where it has no price."""


class SessionView:
    """All of one session at one moment."""

    def __init__(self, head: SessionHead, turns: list[Turn], breaks: list[Break], report: ExplainReport) -> None:
        self.head = head
        self.turns = turns
        self.breaks = breaks
        self.report = report


class Feed:
    """`epoch` tells the revisions of this feed from those of another one at the same address. Not `content_kept`: the
    calls have stand-ins for what was said, which are shown nowhere."""

    def __init__(
        self,
        calls: NumberedCalls,
        *,
        recording: str,
        quote: QuoteOf | None = None,
        content_kept: bool = True,
        looked_at_for_s: float = LOOKED_AT_FOR_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.epoch = secrets.token_hex(4)
        self.recording = recording
        self._calls = calls
        self._quote = quote
        self._looked_at_for_s = looked_at_for_s
        self._clock = clock
        self._content_kept = content_kept
        self._board = Board(recording, content_kept=content_kept)
        self._explainer: LiveExplainer | None = None
        self._position = 0
        self._changed = threading.Condition()
        """Guards the board and all below; notified when somebody looks, and when the feed is closed."""
        self._thread: threading.Thread | None = None
        self._looked_at = clock()
        self._watchers: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._closed = False
        self._unexplained = 0
        self._unexplained_text: str | None = None

    def look(self) -> None:
        """Somebody looks: begin to read, or go on."""
        with self._changed:
            self._looked_at = self._clock()
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="hitrate-feed", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def update(self, since: int | None = None) -> Update:
        with self._changed:
            return self._board.update(since)

    def session(self, identity: int) -> SessionView | None:
        with self._changed:
            found = self._board.session(identity)
            if found is None:
                return None
            breaks = self._board.breaks_of(found)
            return SessionView(found.head(), list(found.turns_after(-1)), breaks, self._board.report(found))

    @contextlib.contextmanager
    def watching(self) -> Iterator[asyncio.Event]:
        """For a coroutine that looks all the while: its event is set whenever the board has changed, and at the end."""
        event = asyncio.Event()
        with self._changed:
            self._watchers[event] = asyncio.get_running_loop()
        self.look()
        try:
            yield event
        finally:
            with self._changed:
                del self._watchers[event]
                self._looked_at = self._clock()

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def idle(self) -> bool:
        """Whether nothing is read, for want of anybody who looks."""
        with self._changed:
            return not self._wanted()

    def close(self) -> None:
        """End the thread. Whoever watches is woken."""
        with self._changed:
            self._closed = True
            self._tell_watchers()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _wanted(self) -> bool:
        return bool(self._watchers) or self._clock() - self._looked_at < self._looked_at_for_s

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._closed and not self._wanted():
                    self._changed.wait()
                if self._closed:
                    return
            pause = self.step()
            with self._changed:
                if pause and not self._closed:
                    self._changed.wait(pause)

    def step(self) -> float:
        """Read some calls; how long to wait before there may be more."""
        try:
            batch = list(islice(self._calls.calls_after(self._position), _BATCH))
            behind = len(batch) == _BATCH
            for position, call in batch:
                self._take_in(position, call, more=behind)
                if self._closed:
                    return 0.0
        except HitrateError as error:
            self._say(behind=True, fault=error.message)
            return _RETRY_S
        if not behind and self._board.behind:
            self._finish_catching_up()
        if batch or behind != self._board.behind or self._board.fault != self._unexplained_text:
            self._say(behind=behind, fault=None)
        return 0.0 if behind else _POLL_S

    def _take_in(self, position: int, call: Call, *, more: bool) -> None:
        added = self._explained(position, call, more=more)
        with self._changed:
            self._board.add(position, call, self._price(call), added)
            self._position = position

    def _explained(self, position: int, call: Call, *, more: bool) -> Added:
        """A call that cannot be explained, whatever the reason, is shown with its numbers alone; then pairing begins
        anew, since what the explainer holds may be half of something."""
        explainer = self._explaining()
        try:
            return explainer.add(position, call, more=more)
        except Exception as error:
            self._begin_anew(explainer.conversations + 1, f"call {position - 1}", error)
            return Added(explainer.conversations, "first", [])

    def _begin_anew(self, first_conversation: int, what: str, error: Exception) -> None:
        self._unexplained += 1
        reason = error.message if isinstance(error, HitrateError) else f"{type(error).__name__}: {error}"
        times = "" if self._unexplained == 1 else f" ({self._unexplained} times so far)"
        self._unexplained_text = escape_line(f"{what} could not be explained{times}: {reason}")
        self._explainer = self._new_explainer(first_conversation)

    def _explaining(self) -> LiveExplainer:
        if self._explainer is None:
            self._explainer = self._new_explainer(0)
        return self._explainer

    def _new_explainer(self, first_conversation: int) -> LiveExplainer:
        return LiveExplainer(
            self._calls, self._price, content_kept=self._content_kept, first_conversation=first_conversation
        )

    def _finish_catching_up(self) -> None:
        explainer = self._explaining()
        try:
            outcomes = explainer.judge_open()
        except Exception as error:
            self._begin_anew(explainer.conversations, "what was open", error)
            return
        with self._changed:
            self._board.change(outcomes)

    def _say(self, *, behind: bool, fault: str | None) -> None:
        with self._changed:
            self._board.behind, self._board.fault = behind, fault or self._unexplained_text
            if self._explainer is not None:
                self._board.rule_set = self._explainer.rule_sets()
                self._board.oddities = tuple(self._explainer.oddities())
            self._board.touch()
            self._tell_watchers()

    def _tell_watchers(self) -> None:
        for event, loop in self._watchers.items():
            with contextlib.suppress(RuntimeError):  # its loop ended meanwhile
                loop.call_soon_threadsafe(event.set)

    def _price(self, call: Call) -> Price | None:
        if self._quote is None or call.usage == _NO_USAGE:
            return None
        found = self._quote(call)
        return found.price if isinstance(found, Quote) else None


_NO_USAGE = Usage()
