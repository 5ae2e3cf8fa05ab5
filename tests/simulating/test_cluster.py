"""Replays shared out over a real Dask cluster, a scheduler and three workers on this machine, one of them killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from made_traces import Chats
from msgspec.structs import replace

from hitrate import __version__
from hitrate.errors import Unreachable, UsageError
from hitrate.simulating import Wanted, simulate
from hitrate.simulating.cluster import Cluster, _check_versions
from hitrate.simulating.copies import drop
from hitrate.simulating.packed import packed
from hitrate.simulating.replaying import replay
from hitrate.simulating.scale_out import Scale, Unwatched
from hitrate.simulating.tasks import share_out
from hitrate.simulating.wanted import Point

OWN = (__version__, sys.byteorder)


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (None, f"worker tcp://b has no hitrate: install version {__version__} there"),
        (("0.0.9", sys.byteorder), f"worker tcp://b has hitrate 0.0.9, this is {__version__}: install the same on bo"),
        ((__version__, "other"), "worker tcp://b has another byte order than this machine"),
        (SyntaxError("bad"), "worker tcp://b cannot say which hitrate it has: bad"),
    ],
)
def test_workers_have_to_be_alike(theirs: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        _check_versions({"tcp://a": OWN, "tcp://b": theirs})

    assert refused.value.message.startswith(said)


def test_a_worker_that_is_gone_meanwhile_is_left_out() -> None:
    _check_versions({"tcp://a": OWN, "tcp://b": OSError("connection closed")})


def test_without_dask_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"--cluster needs Dask: pip install 'hitrate\[dask\]'"):
        simulate(Chats(), Wanted(), Scale(cluster="tcp://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("address", "error", "said"),
    [
        ("tcp://127.0.0.1:1", Unreachable, "no Dask scheduler answers at tcp://127.0.0.1:1: Connection refused"),
        ("somewhere", UsageError, "--cluster: expected an address like tcp://host:8786; missing port"),
    ],
)
def test_an_address_where_nobody_is(address: str, error: type[Exception], said: str) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(error, match=said):
        simulate(Chats(), Wanted(), Scale(cluster=address))


@pytest.mark.parametrize(
    ("first_words", "said"),
    [
        (b"", "what listens there said nothing that Dask understands within 0.5 s"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what listens there does not speak as Dask does"),
        (b"\0" * 64, "what listens there does not speak as Dask does"),
    ],
)
def test_something_else_that_listens_there(monkeypatch: pytest.MonkeyPatch, first_words: bytes, said: str) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("hitrate.simulating.cluster.PATIENCE_S", 0.5)
    with talking(first_words) as address, pytest.raises(Unreachable) as refused:
        simulate(Chats(), Wanted(), Scale(cluster=address))

    assert refused.value.message == f"no Dask scheduler answers at {address}: {said}"


def test_tls_without_certificates() -> None:
    pytest.importorskip("distributed")
    with talking(b"") as address, pytest.raises(UsageError, match="tls:// needs the certificates"):
        simulate(Chats(), Wanted(), Scale(cluster=address.replace("tcp", "tls")))


@contextmanager
def talking(first_words: bytes) -> Iterator[str]:
    """The address of one that says so to whoever comes, and no more."""
    came = []

    def talk(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                came.append(listener.accept()[0])
                came[-1].sendall(first_words)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=talk, args=(listener,), daemon=True)
        thread.start()
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in came:
        connection.close()


class Started(NamedTuple):
    address: str
    client: Any
    """Of the test's own."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    distributed = pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    loopback = ("--scheduler-file", str(file), "--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
    one = ("worker", *loopback, "--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
    started = []
    try:
        started.append(dask(folder, "scheduler", *loopback, "--port", "0"))
        address = address_in(file)
        started += [dask(folder, *one) for _ in range(3)]
        with distributed.Client(address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(3, timeout=120)
            yield Started(address, client)
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def dask(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dask", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def address_in(file: Path) -> str:
    for _ in range(3000):
        with suppress(OSError, ValueError):
            return str(json.loads(file.read_text())["address"])
        time.sleep(0.02)
    raise AssertionError("no scheduler after 60 s")


POINTS = [Point(rule="leaf-lru", definition="tokens", capacity=capacity) for capacity in (10, 40, 90, 160)]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_workers_that_cannot_see_the_trace_get_a_copy(
    cluster: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copies() -> list[list[str]]:
        return list(cluster.client.run(lambda dask_worker: names(Path(dask_worker.local_directory))).values())

    def names(folder: Path) -> list[str]:
        return [file.name for file in folder.glob("hitrate-*")]

    with packed(Chats()) as trace:
        monkeypatch.chdir(Path(trace.file).parent)
        here = replace(trace, file=Path(trace.file).name)  # relative: workers run in another folder
        tasks = share_out(POINTS, None, 0, 10**6, 3)
        expected = replay(trace, POINTS)[1]
        with Cluster(cluster.address, Unwatched()) as workers:
            assert workers.workers == 3
            first = [answer.replayed[0] for answer in workers.do(here, tasks)]
            sent = copies()
            drop(cluster.client, here)  # as if all of them had come later
            again = [answer.replayed[0] for answer in workers.do(here, tasks)]

    assert (first, again) == (expected, expected)
    assert sent == [[f"hitrate-{trace.digest}.columns"]] * 3
    assert copies() == [[]] * 3


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_address_of_a_worker_is_not_that_of_its_scheduler(cluster: Started) -> None:
    address = next(iter(cluster.client.nthreads()))
    with pytest.raises(Unreachable, match=f"no Dask scheduler answers at {address}: what listens there is a worker"):
        simulate(Chats(), Wanted(), Scale(cluster=address))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_error_is_the_one_that_a_single_process_has(cluster: Started) -> None:
    with pytest.raises(UsageError, match="--ttl needs the time of every request, which this trace does not have"):
        simulate(Chats(times=False), Wanted(ttls_s=(5.0, 60.0)), Scale(cluster=cluster.address))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_result_is_the_same_to_the_byte_with_a_worker_killed(cluster: Started, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    with file.open("w") as out:
        for number in range(4_000):
            ids = [number % 40 * 50 + block for block in range(number // 40 % 50 + 1)]
            row = {"timestamp": number, "input_length": 512 * len(ids), "output_length": 1, "hash_ids": ids}
            out.write(json.dumps(row) + "\n")
    command = [sys.executable, "-m", "hitrate", "simulate", str(file), "--json", "--capacity-blocks", "100,400,1600"]
    command += ["--replicas", "2..8", "--policy", "random", "--policy", "sglang-cache-aware", "--no-plan"]
    alone = subprocess.run([*command, "--workers", "1"], check=True, capture_output=True)
    shared = subprocess.Popen([*command, "--cluster", cluster.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pids = cluster.client.run(os.getpid)
    victim = at_work(cluster.client)
    os.kill(pids[victim], signal.SIGKILL)
    out, err = shared.communicate(timeout=200)

    assert err.decode() == ""
    assert out == alone.stdout
    assert len(json.loads(out)["rows"]) == 18
    lost = [event["processing-tasks"] for _, event in cluster.client.get_events(victim) if "processing-tasks" in event]
    assert lost and lost[0], "what the killed worker had begun was given to another one"


def at_work(client: Any) -> str:
    """A worker in the midst of a replay."""
    for _ in range(3000):
        for worker, keys in client.processing().items():
            if keys and "replaying.py" in str(client.call_stack(keys=list(keys))):
                return str(worker)
        time.sleep(0.02)
    raise AssertionError("nobody replays after 60 s")
