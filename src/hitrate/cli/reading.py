"""A log or a stored run, named on the command line, as its calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from hitrate.core.model import Call
from hitrate.core.money import Price
from hitrate.core.records import RecordCount, Records
from hitrate.errors import InputFileError, UsageError
from hitrate.logs.interface import OwnRules
from hitrate.logs.opened import STANDARD_INPUT
from hitrate.logs.sniff import Log, open_log, reader_named
from hitrate.targets.dialects.by_shape import read_reply

STORED = "run"
"""The format of hitrate's own store, beside those of `hitrate.logs.sniff`."""

_SHOWN = 10
"""Damaged records named one by one when none is left to use."""


class StoredRun:
    """A run of the store, in the shape of `Log`."""

    format = STORED
    own_price: Price | None = None
    own_rules = OwnRules()

    def __init__(self, run: str) -> None:
        from hitrate.cli.stored import open_store

        self._store = open_store()
        try:
            self.path = self._store.find(run)
        except BaseException:
            self._store.close()
            raise
        recording = self._store.recording(self.path)
        self.content_kept = recording is None or recording.content == "kept"
        self._count = RecordCount()

    def __iter__(self) -> Iterator[Call]:
        """With stand-ins for content that was not kept."""
        from hitrate.logs.hashed.stand_ins import expand_call

        for call in self.stored():
            yield call if self.content_kept else expand_call(call)

    def stored(self) -> Iterator[Call]:
        """The calls as they stand in the store."""
        with self._store as store:
            for call in store.calls(self.path):
                self._count.use()
                yield call

    def records(self) -> Records:
        return self._count.records()


def open_source(name: str, format: str | None, *, stream: BinaryIO | None = None) -> Log | StoredRun:
    """A file where there is one of that name, else a run. UsageError where there is neither, or the file is no log.

    `stream` is what the file holds, where it was opened already.
    """
    if format == STORED:
        return StoredRun(name)
    if name == STANDARD_INPUT or Path(name).exists():
        return open_log(name, read_reply, format, stream=stream)
    if format is not None:
        reader_named(format)
    try:
        return StoredRun(name)
    except UsageError as error:
        raise UsageError(f"no file {name!r}, and {error.message}") from None


def no_call_in(source: Log | StoredRun) -> InputFileError:
    """The error to raise when not one call could be read; says on stderr what was wrong with the first records."""
    records = source.records()
    for skipped in records.skipped[:_SHOWN]:
        click.echo(f"{source.path}{skipped.place}: {skipped.reason}", err=True)
    if records.read:
        return InputFileError(source.path, f"none of its {records.read} records can be used")
    return InputFileError(source.path, f"no call is recorded in it (read as {source.format})")
