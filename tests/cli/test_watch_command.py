"""`hitrate watch`: the live page of a stored run."""

import json
import subprocess
import sys
import urllib.request

import pytest

from hitrate.cli.group import run
from hitrate.core.model import Call
from hitrate.logs.store import RECORDING, Store


@pytest.fixture
def store_path(tmp_path, monkeypatch):
    path = tmp_path / "runs.sqlite3"
    monkeypatch.setenv("HITRATE_STORE", str(path))
    return path


def recording(path, kind=RECORDING):
    with Store.open(path) as store:
        run_id = store.begin_run(kind, "openai", None, "hitrate proxy openai", "2026-11-29T20:00:00+00:00")
        store.add_call(run_id, Call(target="openai", dialect="openai-chat", body=b"{}", session="s1"))
        return run_id


def test_the_newest_recording_is_shown(store_path):
    recording(store_path)
    newest = recording(store_path)
    recording(store_path, kind="test")
    command = [sys.executable, "-m", "hitrate", "watch", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            ready = json.loads(process.stdout.readline())
            with urllib.request.urlopen(ready["url"], timeout=20) as page:
                assert f"recording {newest}" in page.read().decode()
        finally:
            process.kill()
    assert (ready["schema_version"], ready["run"], ready["pid"]) == (1, newest, process.pid)


def test_nothing_recorded_is_said(store_path, capsys):
    recording(store_path, kind="test")
    assert run(["watch"]) == 2
    assert "nothing is recorded in" in capsys.readouterr().err


def test_a_run_that_is_not_there_is_said(store_path, capsys):
    recording(store_path)
    assert run(["watch", "rzzzzz"]) == 2
    assert "no run 'rzzzzz'" in capsys.readouterr().err
