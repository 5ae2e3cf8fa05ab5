"""The keeper: exchanges into calls, once each; what it does when the store or a call is no good."""

from __future__ import annotations

import os
import sqlite3

import pytest
from exchanges import chat, exchange

from hitrate.core.model import Call, Reply
from hitrate.errors import UsageError
from hitrate.logs import recipe_maker
from hitrate.logs.store import Store, StoreUnavailable
from hitrate.record import keeper as keeper_module
from hitrate.record.journal import Gap, Journal, segment_numbers
from hitrate.record.keeper import AlreadyKept, Keeper
from hitrate.record.places import journal_folder
from hitrate.record.reading import call_of
from hitrate.record.recovery import recover


@pytest.fixture
def folder(store, run):
    return journal_folder(store.path, run)


def write(folder, *numbers: int, **options) -> Journal:
    writer = Journal(folder, **options)
    assert all(writer.record(chat(number)) for number in numbers)
    return writer


def calls(*numbers: int) -> list[Call]:
    return [call_of(chat(number)) for number in numbers]


def test_each_exchange_once_in_order(store, run, folder):
    writer = write(folder, *range(600), segment_bytes=20_000)
    keeper = Keeper(folder, store, run)
    assert (keeper.drain(), keeper.drain()) == (600, 0)
    assert list(store.calls(run)) == calls(*range(600))
    assert len(segment_numbers(folder)) == 1  # the others are taken in
    assert writer.record(chat(600))
    assert keeper.drain() == 1
    assert not keeper.finish()  # its writer lives
    writer.close()
    assert keeper.finish()
    assert store.recording(run).ended
    assert not folder.exists()


def test_what_is_no_call_is_counted_with_the_gaps(store, run, folder):
    writer = write(folder, 1)
    writer.record(chat(2, path="/v1/embeddings"))
    writer._gap = Gap(exchanges=3, first_at=1.0, last_at=2.0, reason="the disk was full")
    writer.record(chat(3))
    writer.close()
    Keeper(folder, store, run).drain()
    recording = store.recording(run)
    assert (recording.other_exchanges, recording.missed_exchanges) == (1, 3)
    assert recording.missed_reason == "the disk was full"
    assert list(store.calls(run)) == calls(1, 3)


def test_damage_is_said_and_counted(store, run, folder):
    write(folder, 1, 2, 3).close()
    path = folder / "00000001.journal"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    said = []
    Keeper(folder, store, run, said.append).drain()
    assert said == [f"00000001.journal: {len(data) // 3} bytes at {len(data) // 3} are damaged"]
    assert store.recording(run).damaged_frames == 1
    assert list(store.calls(run)) == calls(1, 3)


def test_one_keeper_at_a_time(store, run, folder):
    first = Keeper(folder, store, run)
    with pytest.raises(AlreadyKept):
        Keeper(folder, store, run)
    first.close()
    Keeper(folder, store, run).close()


def test_a_store_that_cannot_be_written_is_tried_again_and_nothing_is_lost(store, run, folder, monkeypatch):
    monkeypatch.setattr(keeper_module, "_EXCHANGES_AT_ONCE", 2)
    writer = write(folder, 1, 2, 3, 4, 5)
    keeper = Keeper(folder, store, run)
    connection = store._database._connection
    connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreUnavailable, match="attempt to write a readonly database"):
        keeper.drain()
    connection.execute("PRAGMA query_only = OFF")
    assert keeper.drain() == 5
    assert list(store.calls(run)) == calls(1, 2, 3, 4, 5)
    writer.close()


def test_another_process_may_hold_the_store_for_a_while(store, run, folder):
    writer = write(folder, 1)
    keeper = Keeper(folder, store, run)
    store._database._connection.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="database is locked"):
        keeper.drain()
    other.execute("ROLLBACK")
    assert keeper.drain() == 1
    other.close()
    writer.close()


def test_a_run_that_is_deleted_while_it_is_recorded(store, run, folder):
    writer = write(folder, 1)
    keeper = Keeper(folder, store, run)
    keeper.drain()
    store.delete(run)
    writer.record(chat(2))
    with pytest.raises(UsageError, match=f"no run '{run}'"):
        keeper.drain()
    writer.close()


def test_a_call_that_has_no_form_in_the_store_does_not_keep_others_from_it(store, run, folder, monkeypatch):
    def odd(made):
        call = call_of(made)
        return call if made.at != chat(2).at else Call(**{**as_fields(call), "reply": Reply(message={"odd": object()})})

    def as_fields(call):
        return {name: getattr(call, name) for name in call.__struct_fields__}

    monkeypatch.setattr(keeper_module, "call_of", odd)
    writer = write(folder, 1, 2, 3)
    said = []
    assert Keeper(folder, store, run, said.append).drain() == 3
    found = list(store.calls(run))
    assert (found[0], found[2]) == tuple(calls(1, 3))
    assert (found[1].error, found[1].body) == ("its reply cannot be stored (TypeError)", chat(2).request_body)
    assert said[0].startswith("a call cannot be stored as it is (TypeError: ")
    writer.close()


def test_memory_is_bounded_over_many_calls(store, run, folder, monkeypatch):
    """Everything that is kept in mind from one call to the next is counted."""
    monkeypatch.setattr(recipe_maker, "MOST_IDS", 200)
    store._recipes.forget()
    writer = Journal(folder, segment_bytes=50_000)
    keeper = Keeper(folder, store, run)
    for start in range(0, 2000, 500):
        for number in range(start, start + 500):
            body = b'{"messages":[{"role":"user","content":"%07d %s"}]}' % (number, b"w" * 1000)
            assert writer.record(exchange(body, b"{}"))
        assert keeper.drain() == 500
        ids, bodies, held = store._recipes.sizes()
        assert ids <= 4 * 200
        assert bodies <= recipe_maker.MOST_BODIES
        assert held <= recipe_maker.MOST_BYTES
        assert len(segment_numbers(folder)) == 1
    writer.close()


# --- recovery ----------------------------------------------------------------------------------------------------


def test_what_both_processes_left_is_taken_in(store, run, folder):
    write(folder, *range(10)).close()
    keeper = Keeper(folder, store, run)
    keeper.drain()
    keeper.close()
    write(folder, 10, 11).close()
    other = store.begin_run("record", "practice", None, "hitrate proxy", "2026-11-29T12:00:00Z")
    write(journal_folder(store.path, other), 1).close()
    assert recover(store) == {run: 2, other: 1}
    assert list(store.calls(run)) == calls(*range(12))
    assert list(store.calls(other)) == calls(1)
    assert store.recording(run).ended and store.recording(other).ended
    assert recover(store) == {}
    assert list(folder.parent.iterdir()) == []


def test_recordings_that_go_on_are_left_alone(store, run, folder):
    writer = write(folder, 1)
    assert recover(store) == {}
    writer.close()
    keeper = Keeper(folder, store, run)
    assert recover(store) == {}
    keeper.close()
    assert recover(store) == {run: 1}


def test_one_that_is_just_being_made_is_left_alone(store, folder):
    folder.mkdir(parents=True)
    assert recover(store) == {}
    assert folder.exists()
    os.utime(folder, (1.79e9, 1e9))
    assert recover(store) == {}
    assert not folder.exists()


def test_the_journal_of_a_deleted_run_goes(store, run, folder):
    write(folder, 1).close()
    store.delete(run)
    assert recover(store) == {}
    assert not folder.exists()


def test_no_journals_is_nothing_to_do(tmp_path):
    with Store.open(tmp_path / "runs.sqlite3") as store:
        assert recover(store) == {}
    assert [path.name for path in tmp_path.iterdir()] == ["runs.sqlite3"]
