"""The store's side of a recording inside of a program: what takes its journal in, and lets go of the store for a fork.

SQLite must not be carried over a fork: a child would count its parent's locks for its own. So the store is in use only
while `STORE_IN_USE` is held, and whoever forks holds it and closes all stores first.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from hitrate.core.model import Call
from hitrate.logs.recordings import Content
from hitrate.logs.store import RECORDING, Store
from hitrate.record.keeper import Keeper
from hitrate.record.places import journal_folder
from hitrate.record.told_store import ToldStore

STORE_IN_USE = threading.Lock()


_BREATH_S = 0.0002


def _let_others_run() -> None:
    """So that the program's own threads need not wait for the interpreter until this one is made to give it up, which
    takes five milliseconds (`sys.getswitchinterval`)."""
    time.sleep(_BREATH_S)


class Listener(Protocol):
    """Is told of each call that was stored."""

    def add(self, call: Call) -> None: ...

    def close(self) -> None: ...


def begin_run(path: Path, target: str, command: str, content: Content) -> tuple[str, Path]:
    """The id of a new recording, and the folder of its journal. StoreUnavailable."""
    started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with STORE_IN_USE, Store.open(path) as store:
        run = store.begin_run(RECORDING, target, None, command, started_at, content=content)
        return run, journal_folder(store.path.absolute(), run)


class Intake:
    """Of one recording; its methods raise what `Keeper`'s do."""

    def __init__(self, path: Path, run: str, folder: Path, told: Sequence[Callable[[Call], None]]) -> None:
        self._path = path
        self._run = run
        self._folder = folder
        self._told = tuple(told)
        self._store: Store | None = None
        self._keeper: Keeper | None = None

    def drain(self) -> int:
        with STORE_IN_USE:
            return self._opened().drain()

    def finish(self) -> int:
        """Take in the rest and remove the journal, once its writer has closed it."""
        with STORE_IN_USE:
            keeper = self._opened()
            taken = keeper.drain()
            keeper.finish()
            self.let_go()
            return taken

    def let_go(self) -> None:
        """Close the store, with `STORE_IN_USE` held. It is opened again when it is needed."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
        if self._store is not None:
            self._store.close()
            self._store = None

    def _opened(self) -> Keeper:
        if self._keeper is None:
            if self._store is None:
                self._store = store = ToldStore.open(self._path)
                assert isinstance(store, ToldStore)
                store.listeners = self._told
            self._keeper = Keeper(self._folder, self._store, self._run, between=_let_others_run)
        return self._keeper
