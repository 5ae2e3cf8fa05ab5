"""Ends of programs with a hooked client: in order, by a kill, by a fork. Each test is a program of its own."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from hitrate.logs.store import Store
from hitrate.record.recovery import recover

PROGRAM = """
import os, sys, time, warnings, multiprocessing
import httpx, hitrate.record

def answer(request):
    return httpx.Response(200, json={"model": "m", "choices": [{"message": {"role": "assistant", "content": "Yes."},
        "finish_reason": "stop"}], "usage": {"prompt_tokens": 40, "completion_tokens": 2}})

client = hitrate.record.httpx(httpx.Client(transport=httpx.MockTransport(answer)))

def ask(text):
    client.post("http://model.test/v1/chat/completions", json={"messages": [{"role": "user", "content": text}]})
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite3"


def program(path, ending, **further):
    environment = {**os.environ, "HITRATE_STORE": str(path)}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM + ending], env=environment, capture_output=True, text=True, timeout=60, **further
    )


def asked(path):
    """Per run the questions that are in the store, sorted."""
    with contextlib.closing(sqlite3.connect(path)) as store:
        runs = [run for (run,) in store.execute("SELECT id FROM runs")]
    with Store.open(path) as store:
        return sorted(
            sorted(call.body.decode().rpartition('"content":"')[2].partition('"')[0] for _, call in calls)
            for calls in (store.numbered_calls(run, 0) for run in runs)
        )


def journals(path):
    folder = path.with_name(f"{path.name}-journals")
    return list(folder.iterdir()) if folder.exists() else []


def test_a_program_that_ends_leaves_all_in_the_store(path):
    ended = program(path, "[ask(f'q{n}') for n in range(20)]")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert asked(path) == [sorted(f"q{number}" for number in range(20))]
    assert journals(path) == []


def test_a_program_that_is_killed_leaves_the_rest_to_the_next_command(path):
    ended = program(
        path,
        "ask('first'); r = hitrate.record.in_process.current(); r.flush(); [ask(f'q{n}') for n in range(50)]\n"
        f"os.kill(os.getpid(), {signal.SIGKILL.value})",
    )
    assert ended.returncode == -signal.SIGKILL
    with Store.open(path) as store:
        recover(store)
    assert asked(path) == [sorted(["first", *(f"q{number}" for number in range(50))])]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_process_forked_off_has_a_recording_of_its_own(path):
    ended = program(
        path,
        "ask('before')\nchild = os.fork()\nask('child' if child == 0 else 'parent')\nif child: os.waitpid(child, 0)\n",
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert asked(path) == [["before", "parent"], ["child"]]
    assert journals(path) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_workers_of_multiprocessing(path):
    ended = program(
        path,
        "if __name__ == '__main__':\n"
        "    ask('before')\n"
        "    context = multiprocessing.get_context('fork')\n"
        "    workers = [context.Process(target=ask, args=(f'worker {n}',)) for n in range(3)]\n"
        "    [worker.start() for worker in workers]\n"
        "    [worker.join() for worker in workers]\n",
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert asked(path) == [["before"], ["worker 0"], ["worker 1"], ["worker 2"]]
    assert journals(path) == []


def test_a_store_that_cannot_be_written_is_said_once_and_stops_nothing(tmp_path):
    (tmp_path / "file").write_text("no folder")
    ended = program(tmp_path / "file" / "runs.sqlite3", "[ask(f'q{n}') for n in range(5)]; print('done')")
    assert (ended.returncode, ended.stdout) == (0, "done\n")
    assert ended.stderr.count("hitrate: ") == 1 and "calls go on, and are not recorded" in ended.stderr
