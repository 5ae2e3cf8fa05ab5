"""Replays shared out over real processes: the same bytes, whoever dies meanwhile, and nobody left behind."""

from __future__ import annotations

import json
import os
import pickle
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from made_traces import Chats

from hitrate.core.trace import Chunk
from hitrate.errors import HitrateError, InputFileError, UsageError
from hitrate.simulating import Last, Wanted, simulate
from hitrate.simulating.packed import PackedTrace, packed
from hitrate.simulating.processes import Processes
from hitrate.simulating.replaying import replay
from hitrate.simulating.scale_out import Scale, Unwatched
from hitrate.simulating.tasks import share_out
from hitrate.simulating.wanted import Point


class Told:
    def __init__(self) -> None:
        self.parts: list[tuple[int, int]] = []
        self.requests: list[int] = []

    def read(self, requests: int) -> None:
        self.requests.append(requests)

    def done(self, tasks: int, of: int) -> None:
        self.parts.append((tasks, of))


@pytest.fixture
def _however_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is shared out, however little it is."""
    monkeypatch.setattr("hitrate.simulating.tasks._START_S", 0.0)
    monkeypatch.setattr("hitrate.simulating.tasks._LEAST_S", 0.0)
    monkeypatch.setattr("hitrate.simulating.tasks._LEAST_OF_SHARDS_S", 0.0)


GRID = Wanted(
    rules=("vllm", "leaf-lru"),
    capacities=(60, 200, None),
    replicas=(1, 3),
    policies=("random", "session-affinity", "cache-aware"),
    last=Last(share=0.8),
    plan=False,
)


@pytest.mark.usefixtures("_however_little")
def test_the_result_is_the_same_to_the_byte() -> None:
    told = Told()
    alone = msgspec.json.encode(simulate(Chats(), GRID))
    shared = msgspec.json.encode(simulate(Chats(), GRID, Scale(workers=2, watch=told)))

    assert shared == alone
    parts = told.parts[-1][1]
    assert told.parts == [(part, parts) for part in range(1, parts + 1)]
    assert parts > 2
    assert told.requests == [64, 128, 192, 256, 300]


@pytest.mark.usefixtures("_however_little")
def test_the_curve_is_drawn_by_another_process_too() -> None:
    wanted = Wanted(rules=("optimal",), capacities=(50, 90), curve=True)

    assert simulate(Chats(), wanted, Scale(workers=2)) == simulate(Chats(), wanted)


@pytest.mark.usefixtures("_however_little")
def test_an_error_is_the_one_that_a_single_process_has() -> None:
    wanted = Wanted(ttls_s=(5.0, 60.0))
    with pytest.raises(UsageError) as alone:
        simulate(Chats(times=False), wanted)
    with pytest.raises(UsageError) as shared:
        simulate(Chats(times=False), wanted, Scale(workers=2))

    assert shared.value.message == alone.value.message
    assert shared.value.message.startswith("--ttl needs the time of every request")


@pytest.mark.parametrize(
    "error", [InputFileError("log", "expected JSON", line=3), UsageError("no", hint="yes"), HitrateError("no")]
)
def test_errors_come_through_as_they_are(error: HitrateError) -> None:
    sent = pickle.loads(pickle.dumps(error))

    assert (type(sent), sent.message, sent.hint, str(sent)) == (type(error), error.message, error.hint, str(error))


class Deadly(PackedTrace):
    """Kills so many of those that read it, each a file in `deaths`."""

    deaths: str
    most: int

    def chunks(self) -> Iterator[Chunk]:
        died = len(list(Path(self.deaths).iterdir()))
        if died < self.most:
            Path(self.deaths, str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().chunks()


def deadly(trace: PackedTrace, deaths: Path, most: int) -> Deadly:
    known = {name: getattr(trace, name) for name in trace.__struct_fields__}
    return Deadly(**known, deaths=str(deaths), most=most)


POINTS = [Point(rule="leaf-lru", definition="tokens", capacity=capacity) for capacity in (10, 40, 90, 160)]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills")
def test_what_a_killed_process_did_is_done_again(tmp_path: Path) -> None:
    with packed(Chats()) as trace:
        tasks = share_out(POINTS, None, 0, 10**6, 2)
        answers = Processes(2, Unwatched()).do(deadly(trace, tmp_path, 1), tasks)

        assert [answer.replayed[0] for answer in answers] == replay(trace, POINTS)[1]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills")
def test_processes_that_are_killed_again_and_again_are_said(tmp_path: Path) -> None:
    with packed(Chats()) as trace:
        tasks = share_out(POINTS, None, 0, 10**6, 1)
        with pytest.raises(HitrateError, match="a worker process was ended from outside 3 times") as gave_up:
            Processes(1, Unwatched()).do(deadly(trace, tmp_path, 99), tasks)

    assert "fewer --workers" in (gave_up.value.hint or "")


INTERRUPTED = "\nerror: interrupted\n"


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Takes minutes, over two processes."""
    drawn = random.Random(3)
    file = tmp_path / "trace.jsonl"
    with file.open("w") as out:
        for number in range(5_000):
            ids = [drawn.randrange(50) for _ in range(60)]
            row = {"timestamp": number, "input_length": 512 * 60, "output_length": 1, "hash_ids": ids}
            out.write(json.dumps(row) + "\n")
    (tmp_path / "temporary").mkdir()
    arguments = ["--workers", "2", "--replicas", "64", "--no-plan", "--json", "--capacity-blocks", "1..4096"]
    policies = ("--policy", "fewest-new-tokens", "--policy", "dynamo-kv")
    return [sys.executable, "-m", "hitrate", "simulate", str(file), *arguments, *policies]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for processes that are no children")
@pytest.mark.parametrize(
    ("end", "whole_group", "code", "said"),
    [
        (signal.SIGINT, True, 130, INTERRUPTED),
        (signal.SIGTERM, True, 143, INTERRUPTED),
        (signal.SIGTERM, False, 143, INTERRUPTED),
        (signal.SIGKILL, False, -9, None),
    ],
)
def test_no_process_outlives_the_command(
    tmp_path: Path, command: list[str], end: signal.Signals, whole_group: bool, code: int, said: str | None
) -> None:
    process, temporary = started(command, tmp_path)
    workers = [os.pidfd_open(worker) for worker in working(process.pid)]
    (os.killpg if whole_group else os.kill)(process.pid, end)
    out, err = process.communicate(timeout=30)

    assert (process.returncode, out) == (code, b"")
    assert said in (err.decode(), None)
    for worker in workers:
        assert select.select([worker], [], [], 20)[0] == [worker]
        os.close(worker)
    assert end == signal.SIGKILL or list(temporary.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for the processes of another")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("end", "whole_group", "code"),
    [(signal.SIGINT, True, 130), (signal.SIGTERM, True, 143), (signal.SIGTERM, False, 143)],
)
def test_an_interruption_while_workers_start_is_one_line(
    tmp_path: Path, command: list[str], end: signal.Signals, whole_group: bool, code: int, workers: int
) -> None:
    process, temporary = started(command, tmp_path)
    wait_for_start(process.pid, workers)
    (os.killpg if whole_group else os.kill)(process.pid, end)
    out, err = process.communicate(timeout=30)

    assert (process.returncode, out, err.decode()) == (code, b"", INTERRUPTED)
    assert list(temporary.iterdir()) == []


def started(command: list[str], tmp_path: Path) -> tuple[subprocess.Popen[bytes], Path]:
    """And its folder for temporary files."""
    temporary = tmp_path / "temporary"
    environment = {**os.environ, "TMPDIR": str(temporary)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, process_group=0, env=environment), temporary


def wait_for_start(pid: int, workers: int) -> None:
    """Of so many, far enough to be importing, so that an interruption would be an exception there."""
    for _ in range(6000):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if sum(map(handles_interruptions, children)) >= workers:
            return
        time.sleep(0.005)
    raise AssertionError("no worker after 30 s")


def handles_interruptions(child: str) -> bool:
    """A worker; the process that multiprocessing starts to clean up is none."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{child}/status").read_text().splitlines())
    told = int(status["SigCgt"], 16) | int(status["SigIgn"], 16)
    return b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes() and bool(told >> signal.SIGINT - 1 & 1)


def working(pid: int) -> list[int]:
    """Its children, once two of them watch over it: that is before their first task."""
    for _ in range(1500):
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        if sum(len(list(Path(f"/proc/{child}/task").iterdir())) > 1 for child in children) == 2:
            return children
        time.sleep(0.02)
    raise AssertionError("no two workers after 30 s")


def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    simulate(Chats(), GRID, Scale(workers=2))

    assert list(tmp_path.iterdir()) == []
