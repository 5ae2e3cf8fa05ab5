"""The live page of a recording in the store: everything that is imported when somebody looks."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator

from starlette.applications import Starlette

from hitrate.core.model import Call
from hitrate.errors import HitrateError
from hitrate.logs.hashed.stand_ins import expand_call
from hitrate.logs.store import Store
from hitrate.record.journal import segment_numbers, segment_path
from hitrate.record.places import journal_folder
from hitrate.record.prometheus import Counters, Gauges
from hitrate.targets.prices import PriceBook, read_user_prices
from hitrate.watch.app import make_app
from hitrate.watch.feed import Feed, QuoteOf


class StoredCalls:
    """The calls of a run, as the feed asks for them; with stand-ins for content that was not kept."""

    def __init__(self, store: Store, run_id: str) -> None:
        recording = store.recording(run_id)
        self.content_kept = recording is None or recording.content == "kept"
        self._store = store
        self._run_id = run_id

    def calls_after(self, position: int) -> Iterator[tuple[int, Call]]:
        for at, call in self._store.numbered_calls(self._run_id, position):
            yield at, call if self.content_kept else expand_call(call)


def feed_of_run(store: Store, run_id: str, quote: QuoteOf) -> Feed:
    """UsageError where the store has no such run."""
    full_id = store.find(run_id)
    calls = StoredCalls(store, full_id)
    return Feed(calls, recording=full_id, quote=quote, content_kept=calls.content_kept)


def app_of_recording(store: Store, run_id: str, counters: Counters, closing: contextlib.ExitStack) -> Starlette:
    """`closing` closes what is opened here."""
    feed = feed_of_run(store, run_id, _listed_prices())
    closing.callback(feed.close)
    return make_app(feed, metrics=lambda: counters.text(_gauges(store, run_id)))


def _listed_prices() -> QuoteOf:
    """A page without prices is better than none."""
    try:
        return PriceBook(now=datetime.datetime.now(datetime.UTC), user=read_user_prices()).quote
    except HitrateError:
        return PriceBook(now=datetime.datetime.now(datetime.UTC)).quote


def _gauges(store: Store, run_id: str) -> Gauges:
    try:
        recording = store.recording(run_id)
        if recording is None:
            return Gauges()
        folder = journal_folder(store.path, run_id)
        waiting = sum(
            segment_path(folder, number).stat().st_size - (recording.offset if number == recording.segment else 0)
            for number in segment_numbers(folder)
            if number >= recording.segment
        )
    except (HitrateError, OSError):
        return Gauges()
    return Gauges(not_recorded=recording.missed_exchanges, journal_bytes=waiting)
