"""Real processes: the sink, the keeper behind it, and kill -9 of either or both."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from exchanges import chat

from hitrate.logs.store import Store, StoreUnavailable
from hitrate.record import sink as sink_module
from hitrate.record.keeper import KEEPER_LOCK
from hitrate.record.places import journal_folder, journals_folder
from hitrate.record.reading import call_of
from hitrate.record.recovery import recover
from hitrate.record.sink import open_sink
from hitrate.record.writer_lock import is_held

HERE = Path(__file__).parent

WRITER = """
import sys, time
sys.path.insert(0, sys.argv[2])
from exchanges import chat
from hitrate.record.sink import open_sink
sink = open_sink(target="practice", command="hitrate proxy practice", store=sys.argv[1])
while not sink.keeper_ready():
    time.sleep(0.01)
print(sink.run_id, sink.keeper_ready()["pid"], flush=True)
for number in range(3_000):
    if sink.record(chat(number)):
        print(number, flush=True)  # acknowledged
time.sleep(60)
"""


def until(condition, within_s: float = 30.0):
    """The first true value of a condition. Waits for another process, which has no other way to say so."""
    give_up = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.01)
    return found


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite3"


def stored(path, run) -> list:
    with Store.open(path) as store:
        return list(store.calls(run))


def test_a_recording_from_its_beginning_to_its_end(path):
    sink = open_sink(target="practice", command="hitrate proxy practice", store=path)
    assert all(sink.record(chat(number)) for number in range(200))
    ready = until(sink.keeper_ready)
    assert ready["run"] == sink.run_id
    until(lambda: len(stored(path, sink.run_id)) == 200)  # while it goes on
    assert sink.record(chat(200))
    assert sink.close()
    assert stored(path, sink.run_id) == [call_of(chat(number)) for number in range(201)]
    state = sink.state()
    assert (state.recorded, state.missed, state.trouble, state.keeper_starts) == (201, 0, None, 1)
    assert not sink.record(chat(201))
    with Store.open(path) as store:
        (run,) = store.runs()
        assert (run.kind, run.target, run.command, run.finished) == (
            "record",
            "practice",
            "hitrate proxy practice",
            True,
        )
        assert store.recording(run.id).content == "kept"
    assert list(journals_folder(path).iterdir()) == []


def test_a_killed_keeper_is_started_again_and_nothing_is_lost_or_doubled(path, monkeypatch):
    monkeypatch.setattr(sink_module, "_FIRST_PAUSE_S", 0.01)
    said = []
    sink = open_sink(target="practice", command="hitrate proxy", store=path, say=said.append)
    number = 0
    for kill in range(2):
        pid = until(sink.keeper_ready)["pid"]
        for _ in range(300):
            assert sink.record(chat(number))
            number += 1
        until(lambda at_least=number - 200: len(stored(path, sink.run_id)) >= at_least)
        for _ in range(100):
            assert sink.record(chat(number))
            number += 1
        os.kill(pid, signal.SIGKILL)
        until(lambda dead=pid: (sink.keeper_ready() or {"pid": dead})["pid"] != dead)
        assert sink.state().keeper_starts == kill + 2
    assert sink.close()
    assert stored(path, sink.run_id) == [call_of(chat(one)) for one in range(number)]
    assert said == [f"the keeper ended ({-signal.SIGKILL}) and is started again; nothing is lost meanwhile"] * 2


@pytest.mark.parametrize("both", [False, True], ids=["the writer alone", "and its keeper"])
def test_a_killed_writer_loses_nothing_it_had_acknowledged(path, both):
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(HERE)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        run, keeper = process.stdout.readline().decode().split()
        lines = [process.stdout.readline() for _ in range(400)]
        if both:
            until(lambda: len(stored(path, run)) > 0)
        process.kill()
        if both:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(keeper), signal.SIGKILL)
        lines += process.stdout.read().splitlines(keepends=True)
    acknowledged = len([line for line in lines if line.endswith(b"\n")])
    if both:
        until(lambda: not is_held(journal_folder(path, run) / KEEPER_LOCK))
        with Store.open(path) as store:
            recover(store)
    else:
        until(lambda: not journal_folder(path, run).exists())  # the keeper ends when it is through
    found = stored(path, run)
    assert len(found) in (acknowledged, acknowledged + 1)  # the last one may have been kept and not said to be
    assert found == [call_of(chat(number)) for number in range(len(found))]
    with Store.open(path) as store:
        assert store.recording(run).ended
        assert store.check_integrity() == []


def test_a_deleted_recording_ends(path):
    said = []
    sink = open_sink(target="practice", command="hitrate proxy", store=path, say=said.append)
    until(sink.keeper_ready)
    with Store.open(path) as store:
        store.delete(sink.run_id)
    until(lambda: not sink.record(chat(1)) or time.sleep(0.02))
    assert sink.state().trouble == f"recording {sink.run_id} was deleted, or its store cannot be used"
    assert not sink.close()


def test_a_store_that_cannot_be_opened_is_said_at_once(tmp_path):
    (tmp_path / "file").write_text("no database " * 100)
    with pytest.raises(StoreUnavailable, match="file is not a database"):
        open_sink(target="practice", command="hitrate proxy", store=tmp_path / "file")


def test_trouble_is_said_once_and_so_is_its_end(path, monkeypatch):
    said = []
    sink = open_sink(target="practice", command="hitrate proxy", store=path, say=said.append)
    until(sink.keeper_ready)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("hitrate.record.journal.os.write", full)
        assert not sink.record(chat(1))
        assert not sink.record(chat(2))
    assert sink.record(chat(3))
    assert said == [
        f"the journal {journal_folder(path, sink.run_id)} cannot be written: No space left on device; "
        "traffic goes on, and is not recorded",
        "recording goes on; 2 exchanges are missing so far",
    ]
    assert sink.close()
    with Store.open(path) as store:
        assert store.recording(sink.run_id).missed_exchanges == 2


# --- secrets -----------------------------------------------------------------------------------------------------

KEY = "sk-planted-7f3a9c"


def test_no_planted_key_reaches_the_disk(path):
    """Whoever makes exchanges masks keys; what comes here in a header all the same goes no further."""
    sink = open_sink(target="practice", command="hitrate proxy", store=path)
    headers = {
        "authorization": f"Bearer {KEY}",
        "x-api-key": KEY,
        "api-key": KEY,
        "cookie": f"session={KEY}",
        "proxy-authorization": KEY,
        "x-goog-api-key": KEY,
        "ocp-apim-subscription-key": KEY,
        "x-amz-security-token": KEY,
        "session_id": "s",
    }
    made = chat(1, path="/v1/chat/completions?key=***", request_headers=headers, response_headers={"set-cookie": KEY})
    assert sink.record(made)
    journal = (journal_folder(path, sink.run_id) / "00000001.journal").read_bytes()
    assert KEY.encode() not in journal
    until(lambda: stored(path, sink.run_id))
    for file in path.parent.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file
    sink.close()
    (call,) = stored(path, sink.run_id)
    assert (call.headers, call.response_headers) == ({"session_id": "s"}, {})
    assert KEY.encode() not in path.read_bytes()
