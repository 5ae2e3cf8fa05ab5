"""What a proxy or a hook gives exchanges to: a recording in the store, a journal, and a keeper process behind it."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hitrate.errors import UsageError
from hitrate.logs.recordings import Content
from hitrate.logs.store import RECORDING, Store
from hitrate.record.exchange import Exchange
from hitrate.record.journal import DEFAULT_LIMIT_BYTES, Journal
from hitrate.record.places import journal_folder
from hitrate.record.saying import say

_WAKE_S = 0.05
"""Between two wake-ups; an exchange in between waits for the keeper to look by itself."""

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
"""Before a keeper that ended is started again; twice as long each time, unless it had lived for longer than this."""


class SinkState(msgspec.Struct, frozen=True, kw_only=True):
    """`trouble` is why the newest exchange was not kept, in one line; None while all is well."""

    run: str
    recorded: int
    missed: int
    trouble: str | None
    keeper_starts: int


class Recorder:
    """Implements `Sink`, for any thread. `run_id` names the recording."""

    def __init__(self, run_id: str, journal: Journal, keeper: Sequence[str], say: Callable[[str], None]) -> None:
        self.run_id = run_id
        self._journal = journal
        self._command = list(keeper)
        self._say = say
        self._recorded = 0
        self._woken_s = 0.0
        self._keeper_starts = 0
        self._closing = threading.Event()
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: dict[str, Any] | None = None
        self._said: str | None = None
        self._supervisor = threading.Thread(target=self._supervise, name="keeper", daemon=True)
        self._supervisor.start()

    def record(self, exchange: Exchange) -> bool:
        kept = self._journal.record(exchange)
        if kept:
            self._recorded += 1
            now = time.monotonic()
            if now - self._woken_s >= _WAKE_S:
                self._woken_s = now
                self._wake()
        if self._journal.trouble != self._said:
            self._tell_trouble()
        return kept

    def keeper_ready(self) -> dict[str, Any] | None:
        """What the keeper said when it was ready (the address of its page, say); None while there is none."""
        return self._ready

    def state(self) -> SinkState:
        return SinkState(
            run=self.run_id,
            recorded=self._recorded,
            missed=self._journal.missed,
            trouble=self._journal.trouble,
            keeper_starts=self._keeper_starts,
        )

    def close(self, within_s: float = 10.0) -> bool:
        """End the recording: nothing more is recorded, and the keeper takes in what is left. False if it is not through
        with that in time; then it goes on by itself."""
        self._closing.set()
        self._journal.close()
        with self._guard:
            process = self._process
            self._close_pipe()
        if process is None:
            return False
        try:
            process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        self._supervisor.join(within_s)
        return process.returncode == 0

    def _wake(self) -> None:
        with self._guard:
            if self._process is not None and self._process.stdin is not None:
                with contextlib.suppress(OSError, ValueError):  # it is behind, or gone
                    os.write(self._process.stdin.fileno(), b"\\n")

    def _tell_trouble(self) -> None:
        trouble, self._said = self._journal.trouble, self._journal.trouble
        if trouble is not None:
            self._say(f"{trouble}; traffic goes on, and is not recorded")
        else:
            self._say(f"recording goes on; {self._journal.missed} exchanges are missing so far")

    def _supervise(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._closing.is_set():
            started_s = time.monotonic()
            code = self._run_keeper()
            if self._closing.is_set():
                return
            if code == UsageError.exit_code:
                self._journal.give_up(f"recording {self.run_id} was deleted, or its store cannot be used")
                return
            if time.monotonic() - started_s > _LONGEST_PAUSE_S:
                pause_s = _FIRST_PAUSE_S
            self._say(f"the keeper ended ({code}) and is started again; nothing is lost meanwhile")
            self._closing.wait(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _run_keeper(self) -> int:
        """Start it and wait for its end; its exit code."""
        try:
            process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            self._say(f"the keeper cannot be started: {error}")
            return 1
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError, AttributeError):  # Windows has no such pipes; there the pipe is never full
            os.set_blocking(process.stdin.fileno(), False)
        with self._guard:
            self._process = process
            self._keeper_starts += 1
            if self._closing.is_set():
                self._close_pipe()
        with process.stdout:
            with contextlib.suppress(ValueError):
                self._ready = json.loads(process.stdout.readline())
            code = process.wait()
        self._ready = None
        with self._guard:
            self._close_pipe()
        return code

    def _close_pipe(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            self._process.stdin = None


def open_sink(
    *,
    target: str,
    command: str,
    model: str | None = None,
    content: Content = "kept",
    store: str | os.PathLike[str] | None = None,
    limit_bytes: int = DEFAULT_LIMIT_BYTES,
    keeper: Sequence[str] = ("-m", "hitrate.record"),
    keeper_options: Sequence[str] = (),
    say: Callable[[str], None] = say,
) -> Recorder:
    """Begin a recording. `command` is stored as it is: without keys.

    `keeper` are arguments of this Python that start the keeper; the store's file, the run and `keeper_options` follow.
    StoreUnavailable where the recording cannot be begun.
    """
    started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with Store.open(store) as opened:
        run_id = opened.begin_run(RECORDING, target, model, command, started_at, content=content)
        path = Path(opened.path).absolute()
    journal = Journal(journal_folder(path, run_id), limit_bytes)
    return Recorder(run_id, journal, [sys.executable, *keeper, str(path), run_id, *keeper_options], say)
