"""`hitrate import`: a log put into the store as a run."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hitrate.core.model import Call
    from hitrate.logs.recordings import Content
    from hitrate.logs.store import Store

_CALLS_AT_ONCE, _BYTES_AT_ONCE = 256, 4 << 20


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--format", "log_format", metavar="NAME", help="Format of the log; left out, told by how it starts.")
def import_logs(files: tuple[str, ...], log_format: str | None) -> int:
    """Put a log that can be read into the store, as a recording; print the run's id.

    FILE is a log in any format that `explain` reads ("-" for standard input); each becomes a run of its own. What
    `export` wrote as JSONL comes back as it was.
    """
    from hitrate.logs.store import Store

    with Store.open() as store:
        for file in files:
            click.echo(_import(store, file, log_format))
    return 0


def _import(store: Store, file: str, log_format: str | None) -> str:
    """The id of the run. InputFileError where not one call can be read; the run is taken back when it breaks off."""
    from hitrate.cli.reading import no_call_in
    from hitrate.logs.call_secrets import without_secrets
    from hitrate.logs.sniff import open_log
    from hitrate.logs.store import RECORDING
    from hitrate.targets.dialects.by_shape import read_reply

    log = open_log(file, read_reply, log_format)
    calls = iter(log.stored())
    first = next(calls, None)
    if first is None:
        raise no_call_in(log)
    content: Content = "kept" if log.content_kept else "hashed"
    run_id = store.begin_run(
        RECORDING, first.target, first.model, f"hitrate import {file}", _started_at(first), content=content
    )
    try:
        calls = chain([first], calls)
        for batch in _batches(map(without_secrets, calls) if log.content_kept else calls):
            store.add_calls(run_id, batch)
    except BaseException:
        store.delete(run_id)
        raise
    store.end_recording(run_id)
    records = log.records()
    if records.damaged:
        click.echo(f"note: {records.damaged:,} of {records.read:,} records of {file} cannot be used", err=True)
    return run_id


def _batches(calls: Iterable[Call]) -> Iterator[list[Call]]:
    batch: list[Call] = []
    held = 0
    for call in calls:
        batch.append(call)
        held += len(call.body)
        if len(batch) >= _CALLS_AT_ONCE or held >= _BYTES_AT_ONCE:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _started_at(call: Call) -> str:
    moment = datetime.datetime.now(datetime.UTC)
    if call.timing is not None:
        with contextlib.suppress(ValueError, OverflowError, OSError):  # a time that no calendar has
            moment = datetime.datetime.fromtimestamp(call.timing.at, datetime.UTC)
    return moment.isoformat(timespec="seconds")
