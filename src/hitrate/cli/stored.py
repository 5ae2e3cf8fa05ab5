"""The store, with what recordings that were killed had left in their journals taken in."""

from __future__ import annotations

import click

from hitrate.logs.store import Store, StoreUnavailable
from hitrate.record.places import journals_folder


def open_store() -> Store:
    """HITRATE_STORE, or the user's. StoreUnavailable or UsageError where it cannot be opened."""
    store = Store.open()
    folder = journals_folder(store.path)
    if folder.is_dir() and any(folder.iterdir()):
        from hitrate.record.recovery import recover  # what reads replies is loaded only where something is left

        try:
            for run, exchanges in recover(store).items():
                click.echo(f"note: taken in from recording {run}, which was cut off: {exchanges:,} exchanges", err=True)
        except (StoreUnavailable, OSError) as error:
            click.echo(f"note: what is left of recordings in {folder} is not taken in: {error}", err=True)
        except BaseException:
            store.close()
            raise
    return store
