"""What a recording loses when things break: named faults against a real proxy and its keeper, under load.

    python benchmarks/proxy/faults.py [--json] [--check] [FAULT...]

For each fault a proxy is started on a store of its own in front of a scripted upstream (`scripted.py`). Afterwards the
recording is ended, by a further proxy where the first was killed, and every call in the store is compared with the
request that was sent and the answer that was scripted.

- sent: requests that went out whole; acknowledged: whose answer the client saw the end of
- recorded: calls in the store; noted: exchanges that the record itself says are missing in it
- lost: acknowledged, and neither recorded nor noted
- doubled: recorded more than once
- corrupted: recorded or received with other bytes than were sent
- serves: whether the proxy, or the one after it, answers when the fault is over
- peak MB: of proxy and keeper together (PSS), looked at ten times a second
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import scripted
from run import memory_mb, process, tree
from scripted import CUT, LARGE, PACED, REFUSED, RESET, STALLED, WHOLE

from hitrate.logs.store import Store
from hitrate.record.places import journals_folder

STREAMS = 16
PATIENCE_S = 30.0


class Row(msgspec.Struct, kw_only=True):
    fault: str
    sent: int = 0
    acknowledged: int = 0
    recorded: int = 0
    noted: int = 0
    lost: int = 0
    doubled: int = 0
    corrupted: int = 0
    serves: bool = False
    peak_mb: float = 0.0
    said: list[str] = []


class Proxy:
    """A proxy with its keeper, on a store. What it says goes to a file if `logs` is True."""

    def __init__(self, upstream: str, folder: Path, *options: str, logs: bool = False) -> None:
        self.store = folder / "faults.sqlite"
        self.said: list[str] = []
        command = [sys.executable, "-m", "hitrate", "proxy", f"{upstream}/v1", "--port", "0", "--json"]
        self._process = subprocess.Popen(
            [*command, "--store", str(self.store), *options],
            stdout=subprocess.PIPE,
            stderr=(folder / "log.txt").open("w") if logs else subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        ready = json.loads(self._process.stdout.readline())
        self.pid, self.run = self._process.pid, ready["run"]
        self.port = int(ready["upstreams"][0]["base_url"].rpartition(":")[2].partition("/")[0])
        self.peak_mb = 0.0
        self._over = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._watch_memory, daemon=True).start()

    def keeper(self) -> int:
        """Its process, once there is one."""
        while len(pids := tree(self.pid)) < 2:
            time.sleep(0.05)
        return pids[1]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._over.set()

    def stop(self) -> None:
        """In order; what was recorded is in the store afterwards."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(PATIENCE_S)
        self._over.set()

    def _listen(self) -> None:
        for line in self._process.stderr or ():
            if line.startswith(("note:", "warning:", "error:")) and line.strip() not in self.said:
                self.said.append(line.strip())

    def _watch_memory(self) -> None:
        while not self._over.wait(0.1):
            with suppress(OSError, ValueError):  # one of them ends while it is looked at
                self.peak_mb = max(self.peak_mb, memory_mb(self.pid))


class Load:
    """Clients of one proxy. Each request is sent once, whatever becomes of it."""

    def __init__(self) -> None:
        self.sent: dict[int, str] = {}
        self._numbers = itertools.count(1)
        self.acknowledged: set[int] = set()
        self.corrupted: set[int] = set()

    async def one(self, port: int, script: str, leave_after: int | None = None, pause_s: float = 0.0) -> bool:
        """Ask on a connection of its own. `leave_after` so many bytes of the answer the client goes away."""
        number = next(self._numbers)
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**16)
        except OSError:
            return False
        body = scripted.request(number, script)
        self.sent[number] = script
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: proxy\r\nContent-Length: {len(body)}\r\n\r\n"
        expected = b"".join(scripted.answer(number, script))
        try:
            writer.write(head.encode() + body)
            received = await self._read(reader, len(expected), leave_after, pause_s)
        except OSError:
            return False
        finally:
            writer.transport.abort() if leave_after is not None else writer.close()
        if received == expected:
            self.acknowledged.add(number)
        elif received.startswith(b"HTTP/1.1 200") and not expected.startswith(received):
            self.corrupted.add(number)
        return received == expected

    async def _read(self, reader: asyncio.StreamReader, wanted: int, leave_after: int | None, pause_s: float) -> bytes:
        received = bytearray()
        wanted = wanted if leave_after is None else leave_after
        while len(received) < wanted:
            data = await asyncio.wait_for(reader.read(2**16), PATIENCE_S)
            if not data:
                break
            received += data
            await asyncio.sleep(pause_s)
        return bytes(received)

    async def many(self, port: int, count: int, *scripts: str, streams: int = STREAMS, **manner: float) -> None:
        """`scripts` in turn, at so many streams at once."""
        left = iter(range(count))

        async def stream() -> None:
            for place in left:
                await self.one(port, scripts[place % len(scripts)], **manner)

        await asyncio.gather(*(stream() for _ in range(streams)))


Fault = Callable[[Proxy, Load], None]


def of_upstream(*scripts: str) -> Fault:
    """Every second request gets an answer as it should be."""

    def fault(proxy: Proxy, load: Load) -> None:
        mixed = [one for script in scripts for one in (WHOLE, script)]
        asyncio.run(load.many(proxy.port, 300, *mixed))

    return fault


def client_aborts(proxy: Proxy, load: Load) -> None:
    async def both() -> None:
        await asyncio.gather(load.many(proxy.port, 200, WHOLE), load.many(proxy.port, 200, PACED, leave_after=600))

    asyncio.run(both())


def stall(proxy: Proxy, load: Load) -> None:
    asyncio.run(load.many(proxy.port, 96, WHOLE, STALLED, streams=32))


def slow_readers(proxy: Proxy, load: Load) -> None:
    asyncio.run(load.many(proxy.port, 48, LARGE, streams=24, pause_s=0.02))


def thousand_at_once(proxy: Proxy, load: Load) -> None:
    asyncio.run(load.many(proxy.port, 1000, PACED, streams=1000))


def disk_full(proxy: Proxy, load: Load) -> None:
    """No file grows: neither the journal nor the store."""
    asyncio.run(load.many(proxy.port, 100, WHOLE))
    limit_files(proxy.pid, 1)
    asyncio.run(load.many(proxy.port, 200, WHOLE))
    limit_files(proxy.pid, resource.RLIM_INFINITY)
    asyncio.run(load.many(proxy.port, 100, WHOLE))


def limit_files(pid: int, size: int) -> None:
    """Of a process first and then of its children: one that is started meanwhile inherits it."""
    for one in (pid, *tree(pid)[1:]):
        with suppress(ProcessLookupError):
            resource.prlimit(one, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def killing(*, proxy: bool = False, keeper: bool = False, times: int = 1) -> Fault:
    def fault(running: Proxy, load: Load) -> None:
        async def main() -> None:
            asking = asyncio.create_task(load.many(running.port, 1500, WHOLE, PACED))
            for _ in range(times):
                await asyncio.sleep(1.5)
                pid = await asyncio.to_thread(running.keeper)
                if proxy:
                    running.kill()
                if keeper:
                    os.kill(pid, signal.SIGKILL)
            await asking

        asyncio.run(main())

    return fault


FAULTS: dict[str, tuple[Fault, tuple[str, ...]]] = {
    "none": (of_upstream(PACED), ()),
    "upstream resets": (of_upstream(RESET), ()),
    "upstream cuts streams": (of_upstream(CUT), ()),
    "upstream answers 500": (of_upstream(REFUSED), ()),
    "upstream stalls": (stall, ("--idle-timeout", "1")),
    "clients abort": (client_aborts, ()),
    "slow readers": (slow_readers, ()),
    "1,000 connections at once": (thousand_at_once, ()),
    "disk full": (disk_full, ()),
    "disk full, also for its log": (disk_full, ()),
    "kill -9 of the keeper": (killing(keeper=True, times=3), ()),
    "kill -9 of the proxy": (killing(proxy=True), ()),
    "kill -9 of both": (killing(proxy=True, keeper=True), ()),
}


def measure(name: str, upstream: str) -> Row:
    fault, options = FAULTS[name]
    with tempfile.TemporaryDirectory() as folder:
        load = Load()
        proxy = Proxy(upstream, Path(folder), *options, logs=name.endswith("its log"))
        try:
            fault(proxy, load)
            is_alive = Path(f"/proc/{proxy.pid}").exists()
            serves = is_alive and asyncio.run(load.one(proxy.port, WHOLE))
        finally:
            proxy.stop()
        if not is_alive:
            further = Proxy(upstream, Path(folder))
            serves = asyncio.run(Load().one(further.port, WHOLE))
            further.stop()
        row = compare(name, proxy, load)
        row.serves, row.peak_mb, row.said = serves, proxy.peak_mb, proxy.said
    return row


def compare(name: str, proxy: Proxy, load: Load) -> Row:
    wait_for_keepers(proxy.store)
    with Store.open(proxy.store) as store:
        recording = store.recording(proxy.run)
        calls = list(store.calls(proxy.run))
        damage = store.check_integrity()
    if damage:
        raise SystemExit(f"{name}: the store is damaged: {damage[0]}")
    assert recording is not None
    times = Counter(scripted.number_in(call.body) for call in calls)
    corrupted = set(load.corrupted)
    for call in calls:
        number = scripted.number_in(call.body)
        if not is_right(call, number, load.sent[number], number in load.acknowledged):
            corrupted.add(number)
    missing = len(load.acknowledged - times.keys())
    return Row(
        fault=name,
        sent=len(load.sent),
        acknowledged=len(load.acknowledged),
        recorded=len(times),
        noted=recording.missed_exchanges,
        lost=max(missing - recording.missed_exchanges, 0) + recording.damaged_frames,
        doubled=sum(count - 1 for count in times.values()),
        corrupted=len(corrupted),
    )


def is_right(call, number: int, script: str, acknowledged: bool) -> bool:
    """The request byte for byte; of the answer all of its text, or its start where the client did not see its end."""
    if call.body != scripted.request(number, script):
        return False
    if script == REFUSED:
        return call.status == 500 and f"#{number} is refused" in (call.error or "")
    text = "" if call.reply is None else call.reply.text
    expected = "".join(scripted.pieces(number, script))
    if acknowledged:
        return call.status == 200 and call.error is None and text == expected
    return expected.startswith(text)


def wait_for_keepers(store: Path) -> None:
    """One whose proxy was killed takes in the rest by itself, or the next one does."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and journals_folder(store).exists() and any(journals_folder(store).iterdir()):
        time.sleep(0.1)


@contextmanager
def scripted_upstream() -> Iterator[str]:
    command = [sys.executable, str(Path(scripted.__file__))]
    with process(command, ends_with_input=True, stdout=subprocess.PIPE) as running:
        yield f"http://127.0.0.1:{int(running.stdout.readline())}"


COLUMNS = ("sent", "acknowledged", "recorded", "noted", "lost", "doubled", "corrupted", "serves", "peak_mb")


def table(rows: list[Row]) -> str:
    lines = ["| fault | " + " | ".join(name.replace("_mb", " MB") for name in COLUMNS) + " |"]
    lines.append("|---|" + "---:|" * len(COLUMNS))
    for row in rows:
        cells = (getattr(row, name) for name in COLUMNS)
        shown = ("yes" if cell is True else "no" if cell is False else f"{cell:,.0f}" for cell in cells)
        lines.append(f"| {row.fault} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=f"of: {', '.join(FAULTS)}")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 where anything was lost, doubled, corrupted")
    arguments = parser.parse_args()
    if unknown := set(arguments.faults) - FAULTS.keys():
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    rows = []
    with scripted_upstream() as upstream:
        for name in arguments.faults or FAULTS:
            print(name, file=sys.stderr)
            rows.append(measure(name, upstream))
            for line in rows[-1].said:
                print(f"  said: {line}", file=sys.stderr)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, load average {os.getloadavg()[0]:.1f}"
    if arguments.json:
        print(json.dumps({"machine": machine, "rows": msgspec.to_builtins(rows)}))
    else:
        print(table(rows))
        print(machine, file=sys.stderr)
    bad = [row.fault for row in rows if row.lost or row.doubled or row.corrupted or not row.serves]
    for name in bad:
        print(f"failed: {name}", file=sys.stderr)
    return 1 if arguments.check and bad else 0


if __name__ == "__main__":
    sys.exit(main())
