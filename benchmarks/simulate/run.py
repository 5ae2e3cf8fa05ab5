"""What `hitrate simulate` costs, beside kvcache-simulator, libcachesim and vLLM's own block manager.

    python benchmarks/simulate/run.py [--json] [--check] [--repeat 3] [--sizes 1,10] [--no-peers]

The trace is Mooncake's conversations (288,500 blocks). CPU time is user and system time, the least of the runs; whole
commands count from start to end, rates are of the replay alone. Peers are installed into an environment of their own
below `--cache`; vLLM is used where VLLM_PYTHON names an interpreter that has it. What cannot be measured is left out,
with the reason. `--sizes` are millions of blocks of generated traces, for time and memory as they grow: 100 takes a
quarter of an hour. `--check` ends with 1 if hitrate misses its bars.
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
from pathlib import Path
from typing import Any

import generate
import platformdirs

from hitrate.logs.traces.sniff import open_trace
from hitrate.sim.capacity.block_lru import BlockLru
from hitrate.sim.capacity.interface import BlockCache
from hitrate.sim.capacity.leaf_lru import LeafLru
from hitrate.sim.capacity.vllm import VllmBlocks

MOONCAKE = Path(__file__).resolve().parents[2] / "tests" / "data" / "engines" / "mooncake_conversation.jsonl.gz"
PEERS = ("kvcache-simulator==0.1.3", "libcachesim==0.3.5")
CAPACITY = 5_859
GIB = 366.19
"""The same in memory of Llama 3.1 8B."""
BARS = {"curve_cpu_s": 2.5, "vllm_blocks_per_s": 500_000.0}

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
    cpu_s = min(cost for cost, _ in costs)
    return {
        "what": name,
        "cpu_s": cpu_s,
        "blocks_per_s": blocks / cpu_s,
        "peak_rss_mb": max(peak for _, peak in costs),
    }


def simulate(file: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "hitrate", "simulate", str(file), "--json", *options]


def rate_row(name: str, make: Callable[[], BlockCache], repeat: int) -> Row:
    print(f"measuring {name}", file=sys.stderr)
    trace = open_trace(str(MOONCAKE))
    assert trace is not None
    chunks = list(trace.chunks())
    best = float("inf")
    for _ in range(repeat):
        cache = make()
        start = time.process_time()
        for chunk in chunks:
            cache.add(chunk)
        best = min(best, time.process_time() - start)
    blocks = sum(len(chunk.ids) for chunk in chunks)
    return {"what": name, "cpu_s": best, "blocks_per_s": blocks / best, "peak_rss_mb": None}


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
    return {
        "what": name,
        "cpu_s": found["cpu_s"],
        "blocks_per_s": found["blocks"] / found["cpu_s"],
        "peak_rss_mb": None,
    }


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


def size_rows(folder: Path, millions: list[int]) -> list[Row]:
    rows = []
    for size in millions:
        file = folder / f"{size}.jsonl"
        generate.write(file, size * 1_000_000)
        for name, options in (("vllm at 20,000 blocks", ("--capacity-blocks", "20000")), ("curve", ("--curve",))):
            rows.append(command_row(f"{size} M blocks generated, {name}", simulate(file, *options), size * 10**6, 1))
        file.unlink()
    return rows


def table(rows: list[Row]) -> str:
    lines = [f"{'what':<66} {'CPU s':>8} {'M blocks/s':>11} {'peak MB':>8}"]
    for row in rows:
        peak = "-" if row["peak_rss_mb"] is None else f"{row['peak_rss_mb']:.0f}"
        lines.append(f"{row['what']:<66} {row['cpu_s']:>8.2f} {row['blocks_per_s'] / 1e6:>11.3f} {peak:>8}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sizes", default="1,10")
    parser.add_argument("--cache", type=Path, default=Path(platformdirs.user_cache_dir("hitrate-benchmarks")))
    arguments = parser.parse_args()
    spent(simulate(MOONCAKE))  # writes byte code
    curve = command_row(
        "whole exact LRU curve: whole command", simulate(MOONCAKE, "--curve"), 288_500, arguments.repeat
    )
    vllm = rate_row("vLLM's rule at one size", lambda: VllmBlocks(CAPACITY, 512), arguments.repeat)
    one_size = simulate(MOONCAKE, "--rules", "leaf-lru", "--capacity-blocks", str(CAPACITY))
    rows = [
        curve,
        command_row("leaf-first LRU at one size: whole command", one_size, 288_500, arguments.repeat),
        vllm,
        rate_row("leaf-first LRU at one size", lambda: LeafLru(CAPACITY), arguments.repeat),
        rate_row("block LRU at one size", lambda: BlockLru(CAPACITY), arguments.repeat),
    ]
    found, reasons = ([], []) if arguments.no_peers else peer_rows(arguments.cache, arguments.repeat)
    rows += found
    with tempfile.TemporaryDirectory(prefix="hitrate-simulate-") as folder:
        rows += size_rows(Path(folder), [int(size) for size in arguments.sizes.split(",") if size])
    if arguments.json:
        print(json.dumps({"python": sys.version.split()[0], "rows": rows, "left_out": reasons}, indent=2))
    else:
        print(table(rows))
        print(f"Python {sys.version.split()[0]}, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print("\n".join(reasons))
    missed = []
    if curve["cpu_s"] > BARS["curve_cpu_s"]:
        missed.append(f"the curve took {curve['cpu_s']:.2f} s of CPU, the bar is {BARS['curve_cpu_s']:g}")
    if vllm["blocks_per_s"] < BARS["vllm_blocks_per_s"]:
        missed.append(
            f"vLLM's rule at {vllm['blocks_per_s']:,.0f} blocks/s, the bar is {BARS['vllm_blocks_per_s']:,.0f}"
        )
    for text in missed:
        print(f"bar missed: {text}", file=sys.stderr)
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
