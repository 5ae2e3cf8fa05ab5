"""What leaves the store when it is full or old, and what a store that is not whole says."""

from __future__ import annotations

import json
import sqlite3
import threading

import pytest

from hitrate.core.model import Call, Reply, Timing
from hitrate.logs import retention
from hitrate.logs.store import Store, StoreUnavailable

WHEN = "2026-11-29T12:00:00Z"


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "runs.sqlite3") as opened:
        yield opened


def call(number: int, at: float | None = None, session: str = "s") -> Call:
    """Goes on from the call before it, and its reply stands in the next one."""
    messages = [{"role": "user", "content": "opening " * 100}]
    for turn in range(max(number - 5, 0), number):
        messages.append({"role": "assistant", "content": f"{session} answer {turn} " * 30})
        messages.append({"role": "user", "content": f"{session} question {turn} " * 30})
    said = {"role": "assistant", "content": f"{session} answer {number} " * 30}
    return Call(
        target="practice",
        dialect="openai-chat",
        body=json.dumps({"model": "m", "messages": messages}).encode(),
        session=session,
        reply=Reply(message=said, text=said["content"]),
        timing=None if at is None else Timing(at=at, sent_at_s=at),
    )


def recording(store: Store, calls: list[Call], kind: str = "record") -> str:
    run = store.begin_run(kind, "practice", None, "hitrate proxy practice", WHEN)
    store.add_calls(run, calls)
    return run


def count(store: Store, table: str) -> int:
    return store._database.read(f"SELECT count(*) FROM {table}")[0][0]


def test_old_calls_of_recordings_go_and_nothing_else(store):
    first = recording(store, [call(number, at=100.0 + number) for number in range(10)])
    second = recording(store, [call(number, at=50.0 + number, session="t") for number in range(10)])
    test = recording(store, [call(number, at=1.0) for number in range(3)], kind="test")
    pieces_before = count(store, "parts") + count(store, "texts")
    retired = store.retire(older_than=104.0)
    assert (retired.runs, retired.calls) == ({first: 4, second: 10}, 14)
    assert list(store.calls(first)) == [call(number, at=100.0 + number) for number in range(4, 10)]
    assert list(store.calls(second)) == []
    assert len(list(store.calls(test))) == 3
    assert (store.recording(first).retired_calls, store.recording(first).retired_until) == (4, 103.0)
    assert (store.recording(second).retired_calls, store.recording(second).retired_until) == (10, 59.0)
    assert {run.id for run in store.runs()} == {first, second, test}
    assert count(store, "parts") + count(store, "texts") == pieces_before - retired.pieces
    assert retired.pieces > 0
    assert store.check_integrity() == []


def test_calls_without_a_time_go_with_those_before_them(store):
    run = recording(store, [call(0), call(1, at=5.0), call(2), call(3, at=50.0), call(4)])
    assert store.retire(older_than=10.0).runs == {run: 3}
    assert [number for number, _ in store.numbered_calls(run)] == [4, 5]


def test_positions_go_on_after_everything_was_removed(store):
    run = recording(store, [call(number, at=1.0) for number in range(7)])
    store.retire(older_than=2.0)
    store.add_calls(run, [call(7, at=3.0)])
    assert [number for number, _ in store.numbered_calls(run, after=7)] == [8]
    assert store.retire(older_than=10.0).runs == {run: 1}
    assert store.recording(run).retired_calls == 8


def test_a_store_over_its_limit_loses_its_oldest_calls_and_the_file_becomes_shorter(store):
    run = recording(store, [call(number, at=float(number)) for number in range(800)])
    test = recording(store, [call(0)], kind="test")
    store._database.read("PRAGMA wal_checkpoint(TRUNCATE)")
    before = store.path.stat().st_size
    limit = before // 2
    retired = store.retire(max_bytes=limit)
    assert store.path.stat().st_size <= limit + 8192
    assert retired.bytes_after <= limit < retired.bytes_before
    left = [position for position, _ in store.numbered_calls(run)]
    assert left == list(range(retired.calls + 1, 801))
    assert 200 < len(left) < 600
    assert len(list(store.calls(test))) == 1
    assert store.check_integrity() == []
    assert store.retire(max_bytes=limit).calls == 0


def test_a_limit_that_other_runs_fill_removes_what_there_is_and_ends(store):
    run = recording(store, [call(number) for number in range(5)])
    test = recording(store, [call(number, session="t") for number in range(300)], kind="test")
    assert store.retire(max_bytes=4096).runs == {run: 5}
    assert len(list(store.calls(test))) == 300


def test_a_store_made_before_it_could_shrink_learns_to(tmp_path):
    path = tmp_path / "runs.sqlite3"
    with sqlite3.connect(path) as connection:  # a table there before the mode is set
        connection.execute("CREATE TABLE other (x)")
    with Store.open(path) as store:
        recording(store, [call(number, at=float(number)) for number in range(400)])
        store._database.read("PRAGMA wal_checkpoint(TRUNCATE)")
        before = path.stat().st_size
        store.retire(older_than=399.0)
        assert path.stat().st_size < before / 3
        assert store.check_integrity() == []


def test_a_recording_goes_on_while_old_parts_are_removed(store, monkeypatch):
    """Also with parts that were not used any more when the sweep began."""
    run = recording(store, [call(number, at=float(number)) for number in range(60)])
    monkeypatch.setattr(retention, "_PIECES_AT_ONCE", 5)
    done = threading.Event()
    failed = []

    def go_on() -> None:
        with Store.open(store.path) as own:
            number = 0
            while not done.is_set() or number < 20:
                own.add_calls(run, [call(number % 60, at=1000.0)])
                number += 1

    def watched() -> None:
        try:
            go_on()
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=watched)
    thread.start()
    for _ in range(3):
        store.retire(older_than=500.0)
        retention.sweep(store._database)
    done.set()
    thread.join()
    assert failed == []
    assert store.check_integrity() == []
    assert [one.body for one in store.calls(run)][:5] == [call(number).body for number in range(5)]


def test_a_reader_passes_over_what_was_removed_meanwhile(store):
    run = recording(store, [call(number, at=float(number)) for number in range(10)])
    reading = store.calls(run)
    assert next(reading) == call(0, at=0.0)
    store.retire(older_than=9.0)
    assert list(reading)[-1] == call(9, at=9.0)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE parts SET bytes = x'78' WHERE id = 1", "part 1 is not what its hash says"),
        ("DELETE FROM parts WHERE id = 1", "call 1 of run RUN needs part 1, which is not there"),
        ("DELETE FROM texts WHERE id = 1", "part 2 needs text 1, which is not there"),
        ("UPDATE calls SET body = 'no recipe' WHERE position = 2", "call 2 of run RUN: its recipe cannot be read"),
    ],
)
def test_damage_is_found(store, damage, said):
    run = recording(store, [call(0), call(1)])
    assert store.check_integrity() == []
    with store._database.transaction() as connection:
        connection.execute(damage)
    assert any(line.startswith(said.replace("RUN", run)) for line in store.check_integrity())


def test_a_call_whose_parts_are_gone_is_an_error_and_not_another_call(store):
    run = recording(store, [call(0)])
    with store._database.transaction() as connection:
        connection.execute("DELETE FROM parts")
    with pytest.raises(StoreUnavailable, match=f"call 1 of run {run} cannot be read: parts of it are missing"):
        list(store.calls(run))
