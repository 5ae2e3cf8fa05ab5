"""A recording inside of the program that makes the calls: a journal, and a thread that takes it into the store.

The program's own work comes first. A call appends to the journal and no more; where even that fails it is counted and
said once. What the thread has not taken in when the program ends stays in the journal, and the next `hitrate` command
that reads the store takes it in.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from hitrate.errors import HitrateError, UsageError
from hitrate.logs.database import default_path
from hitrate.logs.recordings import Content
from hitrate.logs.store import Store, StoreUnavailable
from hitrate.record.content_key import content_key
from hitrate.record.exchange import Exchange, Sink
from hitrate.record.intake import STORE_IN_USE, Intake, Listener, begin_run
from hitrate.record.journal import DEFAULT_LIMIT_BYTES, Journal
from hitrate.record.no_content import ContentHasher, WithoutContent
from hitrate.record.prometheus import Counters, Gauges

MAX_BODY_KEPT = 32 << 20
"""Bytes of a request or an answer."""

_WAITING_LIMIT_BYTES = 64 << 20
"""Of exchanges that end before the store is open, which takes a moment."""

_GATHER_S = 0.1
_TRY_AGAIN_S = 2.0
_AT_EXIT_S = 5.0

_FORK_WAITS_S = 2.0
"""For the store to be out of use, which takes milliseconds unless another process holds it."""


class RecordingState(msgspec.Struct, frozen=True, kw_only=True):
    """`run` is None until something was recorded. `trouble`: why the newest exchange was not kept, on one line."""

    run: str | None
    recorded: int
    missed: int
    trouble: str | None


class Recording:
    """Implements `Sink`, for any thread. Nothing is in the store, not even a run, until there is an exchange.

    In a process forked off, it goes on as a recording of its own.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        content: bool = True,
        name: str | None = None,
        max_body_kept: int = MAX_BODY_KEPT,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        listeners: Callable[[], Sequence[Listener]] = tuple,
    ) -> None:
        """`listeners` makes, in the thread that keeps, what each stored call is told to."""
        self.max_body_kept = max_body_kept
        self.store_path = Path(store) if store is not None else default_path()
        self._content = content
        self._name = name
        self._limit_bytes = limit_bytes
        self._make_listeners = listeners
        self._complained = False
        self._begin_anew()
        _RECORDINGS.add(self)

    def _begin_anew(self) -> None:
        self._guard = threading.Lock()
        self._hashing = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._seen = threading.Condition()
        self._counters = Counters()
        self._run: str | None = None
        self._journal: Journal | None = None
        self._sink: Sink | None = None
        self._intake: Intake | None = None
        self._thread: threading.Thread | None = None
        self._waiting: list[Exchange] = []
        self._waiting_bytes = 0
        self._recorded = self._missed = self._taken = 0
        self._failed: str | None = _unusable
        """Why nothing more is recorded."""
        self._trouble: str | None = None

    @property
    def run(self) -> str | None:
        """The id of the run, for `hitrate explain`; None as long as nothing was recorded. May wait for the store."""
        with self._seen:
            self._seen.wait_for(lambda: self._thread is None or self._run is not None or self._failed, _AT_EXIT_S)
        return self._run

    @property
    def closed(self) -> bool:
        return self._closing.is_set()

    def state(self) -> RecordingState:
        journal = self._journal
        missed = self._missed + (journal.missed if journal else 0)
        trouble = self._failed or (journal.trouble if journal else None) or self._trouble
        return RecordingState(run=self._run, recorded=self._recorded, missed=missed, trouble=trouble)

    def metrics(self) -> str:
        """What has been recorded in this process, as Prometheus text."""
        return self._counters.text(Gauges(not_recorded=self.state().missed))

    def record(self, exchange: Exchange) -> bool:
        try:
            kept = self._record(exchange)
        except Exception as error:  # the call that is recorded must not suffer
            kept = self._miss(f"an exchange cannot be recorded ({type(error).__name__}: {error})")
        if kept:
            self._recorded += 1
            self._wake.set()
        elif not self.closed:
            self.complain(self.state().trouble or "an exchange cannot be recorded")
        return kept

    def complain(self, trouble: str) -> None:
        """Once, and never as an exception, even where warnings are made errors."""
        if not self._complained:
            self._complained = True
            with contextlib.suppress(Exception):
                warnings.warn(f"hitrate: {trouble}; calls go on, and are not recorded", RuntimeWarning, stacklevel=2)

    def flush(self, within_s: float = 10.0) -> bool:
        """Wait until all that was recorded is in the store. False if it is not by then."""
        self._wake.set()
        with self._seen:
            return self._seen.wait_for(lambda: self._taken >= self._recorded or bool(self._failed), within_s)

    def close(self, within_s: float = 10.0) -> bool:
        """End the recording; what its clients do from then on is not recorded. False if the thread is not through with
        what was recorded in that time: then the rest is taken in by the next `hitrate` command."""
        with self._guard:
            self._closing.set()
            thread = self._thread
        _RECORDINGS.discard(self)
        self._wake.set()
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(within_s)
        return not thread.is_alive() and not self._failed

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _record(self, exchange: Exchange) -> bool:
        with self._guard:
            if self.closed:
                return False
            if self._failed is not None:
                return self._miss(self._failed)
            sink = self._sink
            if sink is None:
                return self._wait_for_store(exchange)
        if self._content:
            return sink.record(exchange)
        with self._hashing:  # its memory of what it hashed is for one thread at a time
            return sink.record(exchange)

    def _wait_for_store(self, exchange: Exchange) -> bool:
        self._waiting_bytes += len(exchange.request_body) + len(exchange.response_body)
        if self._waiting_bytes > _WAITING_LIMIT_BYTES:
            return self._miss("the store takes too long to open")
        self._waiting.append(exchange)
        if self._thread is None:
            self._thread = threading.Thread(target=self._keep, args=(exchange.upstream,), name="hitrate", daemon=True)
            self._thread.start()
            _close_when_worker_ends()
        return True

    def _miss(self, reason: str) -> bool:
        self._missed += 1
        self._trouble = reason
        return False

    def _keep(self, upstream: str) -> None:
        """The thread. Whatever goes wrong ends the recording, not the program."""
        try:
            listeners = self._make_listeners()
            try:
                self._take_in(self._begin(upstream, listeners))
            finally:
                with STORE_IN_USE:
                    self.let_go()
                for one in listeners:
                    one.close()
        except HitrateError as error:
            self._fail(error.message)
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}")

    def _begin(self, upstream: str, listeners: Sequence[Listener]) -> Intake:
        content: Content = "kept" if self._content else "hashed"
        run, folder = begin_run(self.store_path, self._name or upstream, _command(), content)
        journal = Journal(folder, self._limit_bytes)
        sink: Sink = journal
        if not self._content:
            sink = WithoutContent(journal, ContentHasher(content_key(self.store_path.absolute())))
        intake = Intake(self.store_path, run, folder, (self._counters.add, *(one.add for one in listeners)))
        with self._guard:
            self._recorded -= sum(not sink.record(exchange) for exchange in self._waiting)
            self._waiting.clear()
            self._journal, self._sink, self._intake = journal, sink, intake
        with self._seen:
            self._run = run
            self._seen.notify_all()
        return intake

    def _take_in(self, intake: Intake) -> None:
        assert self._journal is not None
        while not self.closed:
            self._wake.wait()
            self._wake.clear()
            pause_s = _GATHER_S
            try:
                self._took(intake.drain())
            except StoreUnavailable:  # what is recorded waits in the journal
                pause_s = _TRY_AGAIN_S
                self._wake.set()
            except UsageError:
                self._journal.give_up("the recording was deleted, or its store cannot be used")
                raise
            self._closing.wait(pause_s)
        self._journal.close()
        self._took(intake.finish())

    def _took(self, exchanges: int) -> None:
        with self._seen:
            self._taken += exchanges
            self._seen.notify_all()

    def _fail(self, trouble: str) -> None:
        with self._guard:
            self._missed += len(self._waiting)
            self._waiting.clear()
        with self._seen:
            self._failed = trouble
            self._seen.notify_all()
        self.complain(trouble)

    def let_go(self) -> None:
        """Before a fork, with `STORE_IN_USE` held."""
        if self._intake is not None:
            self._intake.let_go()

    def forked(self) -> None:
        """In the child: the journal is the parent's."""
        if self._journal is not None:
            self._journal.leave_to_parent()
        was_closed = self.closed
        self._begin_anew()
        if was_closed:
            self._closing.set()


_RECORDINGS: weakref.WeakSet[Recording] = weakref.WeakSet()
_OPEN: list[Recording] = []
_OPEN_GUARD = threading.Lock()


def opened(recording: Recording) -> Recording:
    """Makes it the one that clients record into which are bound to none; StoreUnavailable where it cannot begin."""
    if _unusable is not None:
        raise HitrateError(_unusable)
    with STORE_IN_USE:
        Store.open(recording.store_path).close()
    with _OPEN_GUARD:
        _OPEN.append(recording)
    return recording


def current(*, make: bool = True) -> Recording | None:
    """The recording opened last of those that are open; else the process's own, which is made when there is none."""
    with _OPEN_GUARD:
        while _OPEN and _OPEN[-1].closed:
            _OPEN.pop()
        if not _OPEN and make:
            _OPEN.append(Recording())
        return _OPEN[-1] if _OPEN else None


def _command() -> str:
    """The program without its arguments, which may hold keys."""
    return f"{Path(sys.argv[0]).name or 'python'} (hitrate.record)" if getattr(sys, "argv", None) else "hitrate.record"


def _close_all(within_s: float = _AT_EXIT_S) -> None:
    give_up_at_s = time.monotonic() + within_s
    for recording in list(_RECORDINGS):
        recording.close(max(give_up_at_s - time.monotonic(), 0.0))


def _close_when_worker_ends() -> None:
    """Workers of `multiprocessing` end without `atexit`."""
    processes = sys.modules.get("multiprocessing.util")
    if processes is not None:
        processes.Finalize(None, _close_all, exitpriority=100)


_store_held_for_fork = False
_unusable: str | None = None
"""Why nothing can be recorded in this process."""


def _before_fork() -> None:
    global _store_held_for_fork
    _store_held_for_fork = STORE_IN_USE.acquire(timeout=_FORK_WAITS_S)
    if _store_held_for_fork:
        for recording in list(_RECORDINGS):
            recording.let_go()


def _after_fork_in_parent() -> None:
    if _store_held_for_fork:
        STORE_IN_USE.release()


def _after_fork_in_child() -> None:
    global _OPEN_GUARD, _unusable
    _OPEN_GUARD = threading.Lock()
    if _store_held_for_fork:
        STORE_IN_USE.release()
    else:
        _unusable = "this process was forked off while the store was in use"
    for recording in list(_RECORDINGS):
        recording.forked()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
