"""Ctrl-C, a reader that goes away, a disk that is full: real processes and signals."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

HITRATE = [sys.executable, "-m", "hitrate"]
SLOW = ("--prefill-rate", "200000", "--decode-rate", "160", "--base-ms", "1")
"""Thirty-two tokens take 200 ms, so that a run of many turns lasts for seconds."""

CTRL_C = (signal.SIGINT, 130)

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process that is not a child")


def started(*arguments: str) -> subprocess.Popen[bytes]:
    """A command in a process group of its own, as a shell starts it."""
    return subprocess.Popen([*HITRATE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)


def wait_for(store: Path, rows: int, table: str) -> None:
    """Until the store holds so many calls, or a run that has just begun."""
    for _ in range(600):
        with contextlib.suppress(sqlite3.OperationalError), sqlite3.connect(f"file:{store}?mode=ro", uri=True) as found:
            if found.execute(f"select count(*) from {table}").fetchone()[0] >= rows:
                return
        time.sleep(0.02)
    raise AssertionError(f"no {table} after 12 s")


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize(
    ("arguments", "rows", "whole_group", "signal_number", "code"),
    [
        (("test", "practice", "--turns", "40"), lambda result: result["turns"], True, *CTRL_C),
        (
            ("test", "practice", "--turns", "1", "--pad", ",".join(["64"] * 30)),
            lambda result: result["turns"],
            False,
            *CTRL_C,
        ),
        (
            ("bench", "practice", "--calls", "40", "--max-tokens", "32"),
            lambda result: result["rows"][0]["calls"],
            True,
            *CTRL_C,
        ),
        (("test", "practice", "--turns", "40"), lambda result: result["turns"], False, signal.SIGTERM, 143),
    ],
)
def test_ctrl_c_shows_and_stores_what_was_measured(
    tmp_path, hitrate, arguments, rows, whole_group, signal_number, code
):
    process = started(*arguments, *SLOW, "--json")
    wait_for(tmp_path / "runs.sqlite3", 4, "calls")
    (server,) = children_of(process.pid)
    server_end = os.pidfd_open(server)
    (os.killpg if whole_group else os.kill)(process.pid, signal_number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, err.decode()
    assert select.select([server_end], [], [], 10)[0] == [server_end]  # the practice server is gone
    os.close(server_end)
    result = json.loads(out)
    assert len(rows(result)) >= 1
    assert any(text.startswith("interrupted after ") for text in result["warnings"])
    assert err.decode() == f"stored as {result['run_id']}: hitrate show {result['run_id']}\n"
    assert hitrate("show", result["run_id"], "--json").json == result


def test_a_killed_run_keeps_the_calls_it_had_made(tmp_path, hitrate):
    process = started("test", "practice", "--turns", "40", *SLOW)
    wait_for(tmp_path / "runs.sqlite3", 4, "calls")
    process.kill()
    process.communicate(timeout=30)
    (listed,) = hitrate("runs", "--json").json["runs"]
    assert listed["finished"] is False
    assert listed["calls"] >= 3


def test_ctrl_c_in_the_warm_up_is_one_word(tmp_path):
    process = started("bench", "practice", "--base-ms", "60000", "--calls", "2")
    wait_for(tmp_path / "runs.sqlite3", 1, "runs")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.decode().strip()) == (130, b"", "error: interrupted")


@pytest.mark.parametrize("arguments", [("runs", "--json"), ("--help",), ("serve", "--fault", "list")])
def test_a_reader_that_goes_away_is_no_failure(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run([*HITRATE, *arguments], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (process.returncode, process.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said_in_one_line():
    with Path("/dev/full").open("w") as full:
        process = subprocess.run([*HITRATE, "runs"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert (process.returncode, process.stderr) == (
        1,
        b"error: the output cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize("before", ["", "trap '' INT; "])
def test_sigterm_is_a_word_too_where_interruptions_are_ignored(tmp_path, before):
    command = [sys.executable, "-m", "hitrate", "bench", "practice", "--base-ms", "60000", "--calls", "2"]
    process = subprocess.Popen(["/bin/sh", "-c", before + 'exec "$@"', "sh", *command], stderr=subprocess.PIPE)
    wait_for(tmp_path / "runs.sqlite3", 1, "runs")
    process.terminate()
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err.decode().strip()) == (143, "error: interrupted")
