"""Keeps a run in the store without disturbing its clock."""

from __future__ import annotations

import sys
import time

from hitrate.core.model import Call
from hitrate.logs.store import RunResult, Store, StoreUnavailable

_LATEST_S = 2.0


_SECRET_OPTIONS = ("--header", "--api-key", "--token", "--key-upstream")


def command_line(arguments: list[str]) -> str:
    """The command line without the values that may be keys."""
    shown = []
    hide_next = False
    for argument in arguments:
        name = argument.partition("=")[0]
        if hide_next:
            shown.append("***")
        elif name in _SECRET_OPTIONS and name != argument:
            shown.append(f"{name}=***")
        else:
            shown.append(argument)
        hide_next = not hide_next and argument in _SECRET_OPTIONS
    return " ".join(shown)


class Keeper:
    """Writes calls when no other call is under way, and at the latest every two seconds: a write takes a millisecond
    that a stamp could be late by. A store that cannot be written is said once; the run goes on."""

    def __init__(self, wanted: bool) -> None:
        self._store: Store | None = None
        self._pending: list[Call] = []
        self._flushed = time.monotonic()
        self.run_id: str | None = None
        if wanted:
            try:
                self._store = Store.open()
            except StoreUnavailable as error:
                self._give_up(error)

    def begin(self, kind: str, target: str, model: str, started_at: str) -> None:
        if self._store is not None:
            try:
                self.run_id = self._store.begin_run(kind, target, model, command_line(sys.argv[1:]), started_at)
            except StoreUnavailable as error:
                self._give_up(error)

    def call(self, call: Call, idle: bool) -> None:
        if self._store is None:
            return
        self._pending.append(call)
        if idle or time.monotonic() - self._flushed > _LATEST_S:
            self._flush()

    def finish(self, result: RunResult) -> None:
        self._flush()
        if self._store is not None and self.run_id is not None:
            try:
                self._store.finish_run(self.run_id, result)
            except StoreUnavailable as error:
                self._give_up(error)

    def close(self) -> None:
        self._flush()
        if self._store is not None:
            self._store.close()

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        self._flushed = time.monotonic()
        for call in pending:
            if self._store is None or self.run_id is None:
                return
            try:
                self._store.add_call(self.run_id, call)
            except StoreUnavailable as error:
                self._give_up(error)

    def _give_up(self, error: StoreUnavailable) -> None:
        print(f"note: this run is not stored: {error.message}", file=sys.stderr)
        self._store = None
