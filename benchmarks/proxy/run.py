"""What carrying and recording a request costs, beside other proxies in the same run.

    python benchmarks/proxy/run.py [--json] [--check] [--requests 4000] [--memory-requests 100000] [--litellm PYTHON]

A request has 12 KB and is answered by a stream of 36 chunks. CPU is user and system time of a proxy and its children,
which depends little on what else the machine does. `--litellm` is the interpreter
of an environment of its own with `litellm[proxy]` (about 580 MB).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles

HERE = Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")
RECORDING, PLAIN, AIOHTTP, LITELLM = "hitrate", "hitrate --no-record", "aiohttp", "LiteLLM"
BARS = {"cpu_ms": 1.0, "added_p50_ms": 1.0, "memory_mb": 60.0}
LEAST_TIMES_LITELLM = 10.0
ROUNDS = 5


def tree(pid: int) -> list[int]:
    """The process and all that it started."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def cpu_s(pid: int) -> float:
    total = 0
    for one in tree(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15] if one == pid else fields[11:13]))
    return total / TICKS


def memory_mb(pid: int, kind: str = "Pss") -> float:
    """Of all processes together: pages that several of them share count once (the proportional set size)."""
    return sum(memory_of(one, kind) for one in tree(pid))


def memory_of(pid: int, kind: str) -> float:
    """Of one process, in megabytes. As `Rss` its pages count in full, whoever shares them."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


@contextmanager
def process(command: list[str], *, ends_with_input: bool = False, **options) -> Iterator[subprocess.Popen]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, **options) as running:
        try:
            yield running
        finally:
            running.stdin.close()
            if not ends_with_input:
                running.send_signal(signal.SIGINT)
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                running.kill()


@contextmanager
def upstream(gap_ms: float = 0.0) -> Iterator[str]:
    command = [sys.executable, str(HERE / "upstream.py"), "--gap-ms", str(gap_ms)]
    with process(command, ends_with_input=True, stdout=subprocess.PIPE) as running:
        yield f"http://127.0.0.1:{int(running.stdout.readline())}"


@contextmanager
def hitrate(root: str, *arguments: str) -> Iterator[tuple[int, str]]:
    command = [sys.executable, "-m", "hitrate", "proxy", f"{root}/v1", "--port", "0", "--json", *arguments]
    with process(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        yield running.pid, json.loads(running.stdout.readline())["upstreams"][0]["base_url"]


@contextmanager
def aiohttp(root: str) -> Iterator[tuple[int, str]]:
    command = [sys.executable, str(HERE / "aiohttp_proxy.py"), root]
    with process(command, ends_with_input=True, stdout=subprocess.PIPE) as running:
        yield running.pid, f"http://127.0.0.1:{int(running.stdout.readline())}/v1"


@contextmanager
def litellm(root: str, python: str) -> Iterator[tuple[int, str]]:
    with socket.create_server(("127.0.0.1", 0)) as free, tempfile.TemporaryDirectory() as folder:
        port = free.getsockname()[1]
        free.close()
        config = Path(folder) / "config.yaml"
        config.write_text(
            f"model_list:\n- model_name: reference\n  litellm_params:\n    model: openai/reference\n"
            f"    api_base: {root}/v1\n    api_key: none\n"
        )
        command = [str(Path(python).parent / "litellm"), "--config", str(config), "--host", "127.0.0.1"]
        environment = {**os.environ, "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
        with process(
            [*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
        ) as running:
            wait_until_answers(f"http://127.0.0.1:{port}/health/liveliness", running)
            yield running.pid, f"http://127.0.0.1:{port}/v1"


def wait_until_answers(url: str, running: subprocess.Popen, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and running.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except (OSError, urllib.error.URLError):
            time.sleep(1)
    raise SystemExit(f"{url} does not answer")


def load(streams: int, requests: int, *urls: str) -> list[dict]:
    command = [sys.executable, str(HERE / "load.py"), str(streams), str(requests), *urls]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98]


def measure(arguments: argparse.Namespace) -> list[dict]:
    with ExitStack() as stack:
        root, paced_root = stack.enter_context(upstream()), stack.enter_context(upstream(gap_ms=5.0))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        makers = {
            RECORDING: lambda at: hitrate(at, "--store", f"{folder}/{at[-5:]}.sqlite"),
            PLAIN: lambda at: hitrate(at, "--no-record"),
            AIOHTTP: aiohttp,
        }
        if arguments.litellm:
            makers[LITELLM] = lambda at: litellm(at, arguments.litellm)
        proxies = {name: stack.enter_context(make(root)) for name, make in makers.items()}
        paced = {name: stack.enter_context(make(paced_root)) for name, make in makers.items() if name != LITELLM}
        rows = bursts({"direct": (None, f"{root}/v1"), **proxies}, arguments.requests)
        add_first_bytes(rows, [f"{root}/v1", *(url for _, url in proxies.values())], arguments.requests)
        for row in rows:
            if row["proxy"] in paced:
                pid, url = paced[row["proxy"]]
                before = cpu_s(pid)
                load(16, 300, url)
                row["paced_cpu_ms"] = (cpu_s(pid) - before) / 300 * 1e3
            if row["proxy"] in proxies:
                note_memory(row, proxies[row["proxy"]][0])
        if arguments.memory_requests:
            print(f"carrying {arguments.memory_requests} requests", file=sys.stderr)
            pid, url = proxies[RECORDING]
            load(16, arguments.memory_requests, url)
            settle(pid)
            note_memory(rows[1], pid)
            rows[1]["memory_after_requests"] = arguments.memory_requests + 2 * arguments.requests
    return rows


def bursts(proxies: dict[str, tuple[int | None, str]], requests: int) -> list[dict]:
    """The medians of some rounds, in each of which every proxy has its turn, so that all see the same machine."""
    found: dict[str, list[dict]] = {name: [] for name in proxies}
    for number in range(ROUNDS):
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
        for name, (pid, url) in proxies.items():
            share = max(requests // ROUNDS // (50 if name == LITELLM else 1), 20)
            if not number:  # the first ones warm everything
                load(16, share, url)
            found[name].append(burst(url, pid, share))
    rows = []
    for name, rounds in found.items():
        row = {"proxy": name, "requests_per_s": median(one["requests_per_s"] for one in rounds)}
        times = [one["cpu_ms"] for one in rounds if "cpu_ms" in one]
        rows.append({**row, "cpu_ms": median(times), "cpu_ms_rounds": times} if times else row)
    return rows


def burst(url: str, pid: int | None, requests: int) -> dict:
    if pid is None:
        return load(16, requests, url)[0]
    before = cpu_s(pid)
    (result,) = load(16, requests, url)
    settle(pid)
    return {"cpu_ms": (cpu_s(pid) - before) / requests * 1e3, "requests_per_s": result["requests_per_s"]}


def settle(pid: int) -> None:
    """Until a recorder has stored what it holds: that work belongs to the requests that caused it."""
    last = -1.0
    while last != (last := cpu_s(pid)):
        time.sleep(0.5)


def note_memory(row: dict, pid: int) -> None:
    row["memory_mb"] = memory_mb(pid)
    row["rss_mb"] = [memory_of(one, "Rss") for one in tree(pid)]


def add_first_bytes(rows: list[dict], urls: list[str], requests: int) -> None:
    slow = any(row["proxy"] == LITELLM for row in rows)
    quick = load(1, requests, *(urls[:-1] if slow else urls)) + (load(1, 30, urls[0], urls[-1])[1:] if slow else [])
    direct = quick[0]["ttft_ms"]
    for row, result in zip(rows, quick, strict=True):
        row["ttft_p50_ms"], row["ttft_p99_ms"] = median(result["ttft_ms"]), p99(result["ttft_ms"])
        row["added_p50_ms"] = row["ttft_p50_ms"] - median(direct) if result is not quick[0] else None


def missed_bars(rows: list[dict]) -> list[str]:
    own = next(row for row in rows if row["proxy"] == RECORDING)
    missed = [f"{name} is {own[name]:.2f}, the bar is {bar:g}" for name, bar in BARS.items() if own[name] > bar]
    other = next((row for row in rows if row["proxy"] == LITELLM), None)
    if other is not None and other["cpu_ms"] < LEAST_TIMES_LITELLM * own["cpu_ms"]:
        missed.append(
            f"LiteLLM takes {other['cpu_ms'] / own['cpu_ms']:.1f} times the CPU, the bar is {LEAST_TIMES_LITELLM:g}"
        )
    return missed


COLUMNS = {
    "cpu_ms": "CPU ms",
    "paced_cpu_ms": "paced",
    "ttft_p50_ms": "TTFT p50",
    "ttft_p99_ms": "p99",
    "added_p50_ms": "added p50",
    "requests_per_s": "requests/s",
    "memory_mb": "memory MB",
}


def table(rows: list[dict]) -> str:
    lines = [f"{'proxy':<20}" + "".join(f"{title:>11}" for title in COLUMNS.values())]
    for row in rows:
        cells = (row.get(name) for name in COLUMNS)
        lines.append(f"{row['proxy']:<20}" + "".join(f"{'' if cell is None else f'{cell:.2f}':>11}" for cell in cells))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--memory-requests", type=int, default=0, help="carry so many more before memory is looked at")
    parser.add_argument("--litellm", metavar="PYTHON")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.litellm and not shutil.which(str(Path(arguments.litellm).parent / "litellm")):
        parser.error(f"{arguments.litellm} has no litellm beside it; install litellm[proxy] into that environment")
    rows = measure(arguments)
    load_average = os.getloadavg()[0]
    print(json.dumps({"load_average": load_average, "rows": rows}) if arguments.json else table(rows))
    for row in rows:
        if "rss_mb" in row:
            each = " + ".join(f"{one:.1f}" for one in row["rss_mb"])
            print(f"RSS of each process, {row['proxy']}: {each} MB", file=sys.stderr)
    if not arguments.litellm:
        print("LiteLLM was not measured: --litellm names an interpreter with litellm[proxy]", file=sys.stderr)
    print(f"load average over the last minute: {load_average:.1f} on {os.cpu_count()} cores", file=sys.stderr)
    missed = missed_bars(rows)
    for text in missed:
        print(f"bar missed: {text}", file=sys.stderr)
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
