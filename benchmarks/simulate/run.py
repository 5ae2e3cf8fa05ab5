"""What `hitrate simulate` costs, beside kvcache-simulator, libcachesim and vLLM's own block manager.

    python benchmarks/simulate/run.py [--json] [--check] [--repeat 3] [--sizes 1,3,10] [--no-peers]

The trace is Mooncake's conversations (288,500 blocks). CPU time is user and system time, the least of the runs; whole
commands count from start to end, rates are of the replay alone. Peers are installed into an environment of their own
below `--cache`; vLLM is used where VLLM_PYTHON names an interpreter that has it. What cannot be measured is left out,
with the reason. `--sizes` are millions of blocks of generated traces, for time and memory as they grow: with
1,3,10,30,100 it takes half an hour. `--check` ends with 1 if hitrate misses its bars.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import generate
import platformdirs

from hitrate.core.trace import Chunk
from hitrate.logs.traces.sniff import open_trace
from hitrate.sim.capacity.kernel import Kernel
from hitrate.sim.capacity.rules import Setting, block_rule
from hitrate.sim.fleet_replay import FleetReplay

MOONCAKE = Path(__file__).resolve().parents[2] / "tests" / "data" / "engines" / "mooncake_conversation.jsonl.gz"
PEERS = ("kvcache-simulator==0.1.3", "libcachesim==0.3.5")
CAPACITY = 5_859
GIB = 366.19
"""The same in memory of Llama 3.1 8B."""
POLICIES = (
    "round-robin",
    "consistent-hash",
    "sglang-cache-aware",
    "llm-d-precise",
    "dynamo-kv",
    "fewest-new-tokens",
)
REPLICAS = 16
MOST_IN_PYTHON = 10
"""Million blocks; beyond, the plain rule takes a minute more for each fifty."""
BOUNDED = 500_000
"""Distinct blocks of the traces that have no more of them, however long they are."""

Row = dict[str, Any]


def spent(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak MB of a child."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(errors.read().decode().strip()[-300:])
    kilobytes = usage.ru_maxrss / 1024 if sys.platform == "darwin" else usage.ru_maxrss
    return usage.ru_utime + usage.ru_stime, kilobytes * 1024 / 1e6


def command_row(name: str, command: list[str], blocks: int, repeat: int) -> Row:
    print(f"measuring {name}", file=sys.stderr)
    costs = [spent(command) for _ in range(repeat)]
    return row(name, min(cost for cost, _ in costs), blocks, max(peak for _, peak in costs))


def simulate(file: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "hitrate", "simulate", str(file), "--json", *options]


def row(name: str, cpu_s: float, blocks: int, peak_mb: float | None = None) -> Row:
    return {"what": name, "cpu_s": cpu_s, "blocks_per_s": blocks / cpu_s, "peak_rss_mb": peak_mb}


def replay_rows(repeat: int) -> dict[str, Row]:
    """Rules and fleets over chunks that are read already, by a short name each."""
    trace = open_trace(str(MOONCAKE))
    assert trace is not None
    chunks = list(trace.chunks())
    rows = {}
    for rule in ("vllm", "leaf-lru", "fifo", "block-lru"):
        for kernel, form in (("python", "plain Python"), ("fast", "compiled")):
            print(f"measuring {rule}, {form}", file=sys.stderr)
            rows[f"{rule} {kernel}"] = rule_row(f"{rule} at one size, {form}", rule, kernel, chunks, repeat)
    for policy in POLICIES:
        print(f"measuring {policy}", file=sys.stderr)
        rows[policy] = fleet_row(policy, chunks, repeat)
    together = sum(rows[policy]["cpu_s"] for policy in POLICIES)
    blocks = len(POLICIES) * sum(len(chunk.ids) for chunk in chunks)
    rows["fleets"] = row(f"{REPLICAS} replicas, these six policies", together, blocks)
    return rows


def rule_row(name: str, rule: str, kernel: Kernel, chunks: list[Chunk], repeat: int) -> Row:
    best = float("inf")
    for number in range(repeat + (kernel == "fast")):
        cache = block_rule(rule).make(Setting(CAPACITY, 512, kernel=kernel))
        start = time.process_time()
        for chunk in chunks:
            cache.add(chunk)
        if number or kernel == "python":  # the first compiles
            best = min(best, time.process_time() - start)
    return row(name, best, sum(len(chunk.ids) for chunk in chunks))


def fleet_row(policy: str, chunks: list[Chunk], repeat: int) -> Row:
    rule = block_rule("vllm")
    best = float("inf")
    for _ in range(repeat):
        fleet = FleetReplay(REPLICAS, lambda: rule.make(Setting(CAPACITY, 512)), policy, 512)
        start = time.process_time()
        for chunk in chunks:
            fleet.add(chunk)
        best = min(best, time.process_time() - start)
    return row(f"{REPLICAS} replicas, {policy}", best, sum(len(chunk.ids) for chunk in chunks))


def child(file: Path, kernel: Kernel, capacity: int, kept: Path | None = None) -> dict[str, Any]:
    """What `replay.py` says; `kept` is where compiled code is kept, its usual place if left out."""
    environment = os.environ if kept is None else {**os.environ, "NUMBA_CACHE_DIR": str(kept)}
    script = Path(__file__).with_name("replay.py")
    command = [sys.executable, str(script), str(file), kernel, str(capacity)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def start_rows(folder: Path) -> list[Row]:
    print("measuring what compiling takes", file=sys.stderr)
    rows = []
    for name in ("compiling vllm, once after installation", "starting it again in another process"):
        found = child(MOONCAKE, "fast", CAPACITY, folder)
        rows.append({"what": name, "cpu_s": found["start_cpu_s"], "blocks_per_s": None, "peak_rss_mb": None})
    return rows


def peer_home(cache: Path) -> Path:
    """An environment with the peers."""
    home = cache / "simulators"
    if not (home / "bin" / "kvcache-simulator").exists():
        for command in (
            [sys.executable, "-m", "venv", str(home)],
            [str(home / "bin" / "pip"), "install", "-q", *PEERS],
        ):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return home


def peer_rate(name: str, python: str, peer: str, blocks: int) -> Row:
    print(f"measuring {name}", file=sys.stderr)
    script = Path(__file__).with_name("peers.py")
    command = [python, str(script), peer, str(blocks), str(CAPACITY), str(MOONCAKE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-300:])
    found = json.loads(done.stdout.splitlines()[-1])
    return row(name, found["cpu_s"], found["blocks"])


def peer_rows(cache: Path, repeat: int) -> tuple[list[Row], list[str]]:
    """What could be measured of them, and why the rest could not."""
    rows, reasons = [], []

    def add(name: str, measure: Callable[[], Row]) -> None:
        try:
            rows.append(measure())
        except (subprocess.CalledProcessError, OSError, RuntimeError) as error:
            said = str(getattr(error, "stderr", None) or error).strip()
            reasons.append(f"{name} could not be measured: {said.splitlines()[-1] if said else 'no reason given'}")

    def kvcache_simulator() -> Row:
        command = [str(peer_home(cache) / "bin" / "kvcache-simulator"), "run", "--trace", str(MOONCAKE)]
        command += ["--model", "llama-3.1-8b", "--block-size", "512", "--backend", "python", "--policies", "lru"]
        command += ["--budgets-gib", str(GIB), "--format", "json", "--no-progress"]
        return command_row("kvcache-simulator 0.1.3, python, LRU at one size: whole command", command, 288_500, repeat)

    add("kvcache-simulator", kvcache_simulator)
    python = str(cache / "simulators" / "bin" / "python")
    add("libcachesim", lambda: peer_rate("libcachesim 0.3.5, LRU, a call a block", python, "libcachesim", 288_500))
    if own := os.environ.get("VLLM_PYTHON"):
        add("vLLM", lambda: peer_rate("vLLM's KVCacheManager, ids as hashes", own, "vllm", 60_000))
    else:
        reasons.append("vLLM was not measured: VLLM_PYTHON names no interpreter that has it")
    return rows, reasons


class Sizes:
    """Generated traces, and what they cost as they grow."""

    def __init__(self, folder: Path, millions: list[int]) -> None:
        self.series: dict[str, list[Row]] = {}
        for size in millions:
            file = folder / f"{size}.jsonl"
            print(f"measuring {size} M blocks", file=sys.stderr)
            generate.write(file, size * 1_000_000)
            for kernel in ("fast", *(("python",) if size <= MOST_IN_PYTHON else ())):
                self._replay(f"read and replayed by vllm, {kernel}", size, file, kernel)
            self._add("curve: whole command", size, command_row("curve", simulate(file, "--curve"), size * 10**6, 1))
            generate.write(file, size * 1_000_000, BOUNDED)
            self._replay(f"{BOUNDED:,} of them distinct, vllm, fast", size, file, "fast")
            file.unlink()

    def _replay(self, name: str, size: int, file: Path, kernel: Kernel) -> None:
        found = child(file, kernel, 20_000)
        self._add(name, size, row("", found["cpu_s"], found["blocks"], found["peak_rss_mb"]))
        alone = row("", found["replay_cpu_s"], found["blocks"])
        self._add(f"{name}: replay alone", size, alone)

    def _add(self, name: str, size: int, measured: Row) -> None:
        self.series.setdefault(name, []).append({**measured, "what": f"{size} M blocks, {name}", "millions": size})

    def rows(self) -> list[Row]:
        return sorted((one for rows in self.series.values() for one in rows), key=lambda one: one["millions"])

    def missed(self) -> list[str]:
        """Where time or memory grows faster than the trace; of less than a second nothing can be told."""
        found = []
        for name, rows in self.series.items():
            for before, after in pairwise(rows):
                times = after["millions"] / before["millions"]
                if after["cpu_s"] > 1.3 * times * max(1, before["cpu_s"]):
                    found.append(
                        f"{name}: {times:g} times the blocks took {after['cpu_s'] / before['cpu_s']:.1f} the CPU"
                    )
                peaks = before["peak_rss_mb"], after["peak_rss_mb"]
                if None in peaks:
                    continue
                flat = "distinct" in name and before["millions"] * 10**6 > 4 * BOUNDED
                if peaks[1] > peaks[0] * (1.1 if flat else times):
                    found.append(f"{name}: {times:g} times the blocks took {peaks[1]:.0f} MB after {peaks[0]:.0f}")
        return found


def table(rows: list[Row]) -> str:
    lines = [f"{'what':<72} {'CPU s':>8} {'M blocks/s':>11} {'peak MB':>8}"]
    for one in rows:
        peak = "-" if one["peak_rss_mb"] is None else f"{one['peak_rss_mb']:.0f}"
        rate = "-" if one["blocks_per_s"] is None else f"{one['blocks_per_s'] / 1e6:.3f}"
        lines.append(f"{one['what']:<72} {one['cpu_s']:>8.2f} {rate:>11} {peak:>8}")
    return "\n".join(lines)


def missed_bars(curve: Row, replays: dict[str, Row], sizes: Sizes) -> list[str]:
    found = []
    for name, cpu_s, most in (("the curve", curve["cpu_s"], 2.5), ("six fleets", replays["fleets"]["cpu_s"], 10.0)):
        if cpu_s > most:
            found.append(f"{name} took {cpu_s:.2f} s of CPU, the bar is {most:g}")
    for kernel, least in (("python", 0.5e6), ("fast", 3e6)):
        rate = replays[f"vllm {kernel}"]["blocks_per_s"]
        if rate < least:
            found.append(f"vLLM's rule, {kernel}: {rate:,.0f} blocks/s, the bar is {least:,.0f}")
    return [*found, *sizes.missed()]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sizes", default="1,3,10")
    parser.add_argument("--cache", type=Path, default=Path(platformdirs.user_cache_dir("hitrate-benchmarks")))
    return parser.parse_args()


def main() -> int:
    arguments = parsed()
    repeat = arguments.repeat
    # A child's peak is never below this process's own, so what takes memory here comes last.
    spent(simulate(MOONCAKE))  # writes byte code
    curve = command_row("whole exact LRU curve: whole command", simulate(MOONCAKE, "--curve"), 288_500, repeat)
    one_size = simulate(MOONCAKE, "--rules", "leaf-lru", "--capacity-blocks", str(CAPACITY))
    commands = [curve, command_row("leaf-first LRU at one size: whole command", one_size, 288_500, repeat)]
    peers, reasons = ([], []) if arguments.no_peers else peer_rows(arguments.cache, repeat)
    with tempfile.TemporaryDirectory(prefix="hitrate-simulate-") as folder:
        starts = start_rows(Path(folder))
        sizes = Sizes(Path(folder), [int(size) for size in arguments.sizes.split(",") if size])
    replays = replay_rows(repeat)
    rows = [*commands, *replays.values(), *peers, *starts, *sizes.rows()]
    if arguments.json:
        print(json.dumps({"python": sys.version.split()[0], "rows": rows, "left_out": reasons}, indent=2))
    else:
        print(table(rows))
        print(f"Python {sys.version.split()[0]}, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print("\n".join(reasons))
    missed = missed_bars(curve, replays, sizes)
    for text in missed:
        print(f"bar missed: {text}", file=sys.stderr)
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
