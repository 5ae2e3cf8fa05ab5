"""The keeper's loop, in this process: woken, ended, kept from its store, limited."""

from __future__ import annotations

import os
import threading

import pytest
from exchanges import chat

from hitrate.errors import UsageError
from hitrate.logs.store import StoreUnavailable
from hitrate.record import keeping
from hitrate.record.journal import Journal
from hitrate.record.keeper import Keeper
from hitrate.record.keeping import Limits, Wakes, keep
from hitrate.record.places import journal_folder
from hitrate.record.reading import call_of


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    for name in ("_GATHER_S", "_TRY_AGAIN_S"):
        monkeypatch.setattr(keeping, name, 0.001)


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    yield reading, lambda: os.close(writing)
    os.close(reading)


@pytest.fixture
def journal(store, run):
    writer = Journal(journal_folder(store.path, run))
    yield writer
    writer.close()


def test_until_the_pipe_ends_and_everything_is_taken_in(store, run, journal, pipe):
    reading, end = pipe
    found = []

    def after(taken: int) -> None:
        found.append(taken)
        if sum(found) == 1:
            journal.record(chat(2))
        else:
            journal.record(chat(3))
            journal.close()
            end()

    journal.record(chat(1))
    keep(Keeper(journal.folder, store, run), store, Wakes(reading), after=after)
    assert list(store.calls(run)) == [call_of(chat(number)) for number in (1, 2, 3)]
    assert store.recording(run).ended
    assert not journal.folder.exists()


def test_a_writer_that_does_not_end_is_left_its_journal(store, run, journal, pipe, monkeypatch):
    monkeypatch.setattr(keeping, "_WRITER_ENDS_WITHIN_S", 0.05)
    reading, end = pipe
    journal.record(chat(1))
    end()
    keep(Keeper(journal.folder, store, run), store, Wakes(reading))
    assert not store.recording(run).ended
    assert journal.folder.exists()


def test_a_store_that_cannot_be_written_is_said_once_and_tried_again(store, run, journal, pipe, monkeypatch):
    reading, end = pipe
    add_calls, tries, said = store.add_calls, [], []

    def fail_three_times(*given):
        tries.append(given)
        if len(tries) <= 3:
            raise StoreUnavailable("the disk is full")
        add_calls(*given)
        journal.close()
        end()

    monkeypatch.setattr(store, "add_calls", fail_three_times)
    journal.record(chat(1))
    keep(Keeper(journal.folder, store, run), store, Wakes(reading), say=said.append)
    assert said == ["the disk is full; what is recorded waits in the journal"]
    assert list(store.calls(run)) == [call_of(chat(1))]


def test_limits_are_kept_and_what_goes_is_said(store, run, journal, pipe):
    reading, end = pipe
    said = []
    journal.record(chat(1))  # from 2026
    journal.record(chat(2, at=4e9))  # from 2096
    journal.close()

    def say(line: str) -> None:
        said.append(line)
        end()

    keep(Keeper(journal.folder, store, run), store, Wakes(reading), limits=Limits(max_age_s=0.0), say=say)
    assert said == [f"removed from recording {run}, as the store has reached its limit: its 1 oldest calls"]
    assert [call.timing.at for call in store.calls(run)] == [4e9]


def test_what_earlier_recordings_left_is_taken_in(store, run, journal, pipe):
    reading, end = pipe
    earlier = store.begin_run("record", "practice", None, "hitrate proxy", "2026-11-28T12:00:00Z")
    left = Journal(journal_folder(store.path, earlier))
    left.record(chat(1))
    left.close()
    journal.close()
    end()
    said = []
    keep(Keeper(journal.folder, store, run), store, Wakes(reading), say=said.append)
    assert said == [f"taken in from recording {earlier}, which was cut off: 1 of its exchanges"]
    assert list(store.calls(earlier)) == [call_of(chat(1))]


def test_a_deleted_run_ends_it(store, run, journal, pipe):
    keeper = Keeper(journal.folder, store, run)
    store.delete(run)
    journal.record(chat(1))
    with pytest.raises(UsageError, match=f"no run '{run}'"):
        keep(keeper, store, Wakes(pipe[0]))
    pipe[1]()


def test_bytes_wake_before_the_time_is_over():
    reading, writing = os.pipe()
    wakes = Wakes(reading)
    woken = threading.Event()
    waiting = threading.Thread(target=lambda: (wakes.wait(60.0), woken.set()))
    waiting.start()
    os.write(writing, b"\n")
    assert woken.wait(30.0)
    assert not wakes.ended
    os.close(writing)
    wakes.wait(60.0)
    assert wakes.ended
    os.close(reading)
