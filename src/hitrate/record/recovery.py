"""Takes in what recordings left in their journals when both of their processes were killed."""

from __future__ import annotations

import time
from pathlib import Path

from hitrate.errors import UsageError
from hitrate.logs.store import Store
from hitrate.record.journal import segment_numbers
from hitrate.record.journal_reader import has_writer
from hitrate.record.keeper import AlreadyKept, Keeper
from hitrate.record.places import journals_folder

_MADE_WITHIN_S = 60.0


def recover(store: Store) -> dict[str, int]:
    """The recordings that had something left, with how many exchanges it was. Those still going on are left alone.

    To be called before the calls of a recording are read. StoreUnavailable where the store cannot be written.
    """
    folder = journals_folder(store.path)
    if not folder.is_dir():
        return {}
    found: dict[str, int] = {}
    for journal in sorted(folder.iterdir()):
        if not journal.is_dir() or has_writer(journal) or _is_being_made(journal):
            continue
        try:
            keeper = Keeper(journal, store, journal.name)
        except AlreadyKept:
            continue
        except UsageError:  # the run was deleted
            import shutil

            shutil.rmtree(journal, ignore_errors=True)
            continue
        try:
            taken = keeper.drain()
            keeper.finish()
        finally:
            keeper.close()
        if taken:
            found[keeper.run_id] = taken
    return found


def _is_being_made(journal: Path) -> bool:
    """A writer makes the folder first and its lock next; it writes when it has both."""
    try:
        return not segment_numbers(journal) and time.time() - journal.stat().st_mtime < _MADE_WITHIN_S
    except FileNotFoundError:  # its keeper is through with it
        return True
