"""The loop of the keeper's process: woken by bytes on a pipe, or looking by itself, until the pipe ends."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable

import msgspec

from hitrate.errors import HitrateError
from hitrate.logs.store import Store, StoreUnavailable
from hitrate.record.keeper import Keeper
from hitrate.record.recovery import recover

LOOK_S = 0.2
"""The longest an exchange waits when no wake-up came for it."""

_GATHER_S = 0.1
"""Between two looks, so that what comes meanwhile goes into one transaction."""

_TRY_AGAIN_S = 2.0
_RETIRE_S = 600.0
_WRITER_ENDS_WITHIN_S = 5.0
"""After the pipe has ended: a process that is killed lets go of its files one after another."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What the store keeps of recordings; None: all."""

    max_age_s: float | None = None
    max_bytes: int | None = None


class Wakes:
    """Bytes and the end of a pipe, read by a thread, since not every system can wait for a pipe and a clock at once."""

    def __init__(self, pipe: int) -> None:
        self.ended = False
        self._event = threading.Event()
        threading.Thread(target=self._read, args=(pipe,), name="wakes", daemon=True).start()

    def wait(self, seconds: float) -> None:
        self._event.wait(seconds)
        self._event.clear()

    def _read(self, pipe: int) -> None:
        with contextlib.suppress(OSError):  # an end like any other
            while os.read(pipe, 4096):
                self._event.set()
        self.ended = True
        self._event.set()


def keep(
    keeper: Keeper,
    store: Store,
    wakes: Wakes,
    *,
    limits: Limits | None = None,
    after: Callable[[int], None] = lambda taken: None,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Until `wakes` end and everything is taken in. `after` is called with the exchanges of each look that found any.

    First takes in what earlier recordings left. A store that cannot be written is said once, and tried again.
    UsageError when the run was deleted.
    """
    _take_in_others(store, say)
    retired_at_s = float("-inf")
    trouble: str | None = None
    while not wakes.ended:
        try:
            if taken := keeper.drain():
                after(taken)
            if limits is not None and time.monotonic() - retired_at_s > _RETIRE_S:
                _retire(store, limits, say)
                retired_at_s = time.monotonic()
            trouble = None
        except StoreUnavailable as error:
            if error.message != trouble:
                say(f"{error.message}; what is recorded waits in the journal")
            trouble = error.message
            wakes.wait(_TRY_AGAIN_S)
        time.sleep(_GATHER_S)
        if not wakes.ended:
            wakes.wait(LOOK_S - _GATHER_S)
    give_up_at_s = time.monotonic() + _WRITER_ENDS_WITHIN_S
    while not keeper.finish() and time.monotonic() < give_up_at_s:
        time.sleep(_GATHER_S)


def _take_in_others(store: Store, say: Callable[[str], None]) -> None:
    """Through a connection of its own: what counts the calls put into `store` counts those of one recording."""
    try:
        with Store.open(store.path) as own:
            for run, exchanges in recover(own).items():
                say(f"taken in from recording {run}, which was cut off: {exchanges:,} of its exchanges")
    except (HitrateError, OSError) as error:
        say(f"what earlier recordings left is not taken in: {error}")


def _retire(store: Store, limits: Limits, say: Callable[[str], None]) -> None:
    if limits.max_age_s is None and limits.max_bytes is None:
        return
    older_than = None if limits.max_age_s is None else time.time() - limits.max_age_s
    retired = store.retire(older_than=older_than, max_bytes=limits.max_bytes)
    for run, calls in retired.runs.items():
        say(f"removed from recording {run}, as the store has reached its limit: its {calls:,} oldest calls")
