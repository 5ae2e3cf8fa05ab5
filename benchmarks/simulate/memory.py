"""Whether memory stays the same however long the trace is: replays under a limit that the trace itself would break.

    python benchmarks/simulate/memory.py [--millions 3,30] [--limit-mb 200] [--json]

Traces are generated, with half a million distinct blocks whatever their length; 30 million are 300 MB as text, 240 MB
in columns. Every process of a command may have so many MB of data (Linux counts private memory that can be written);
one that needs more fails, and so does this. Peaks are of the largest process of each command, with pages of files and
libraries, which the limit does not count. Compiling a rule for the first time takes more than that, so it is done
before. 30 takes five minutes of CPU time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import generate

DISTINCT = 500_000
COMMANDS = {
    "read and packed, the last half counted": ("--last", "50%", "--rules", "leaf-lru", "--capacity-blocks", "20000"),
    "vllm at 20,000 blocks": ("--capacity-blocks", "20000"),
    "three rules over two processes": (
        *("--workers", "2", "--rules", "vllm,leaf-lru,fifo", "--capacity-blocks", "20000"),
    ),
    "8 replicas at random, in two shards": (
        *("--workers", "2", "--replicas", "8", "--policy", "random", "--no-plan", "--capacity-blocks", "20000"),
    ),
    "curve": ("--curve",),
}


def row(name: str, file: Path, options: tuple[str, ...], millions: int, limit: int) -> dict[str, Any]:
    print(f"{name}, {millions} M blocks", file=sys.stderr)
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "hitrate", "simulate", str(file), "--json", *options],
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "what": name,
        "million_blocks": millions,
        "fits": process.returncode == 0,
        "peak_rss_mb": usage.ru_maxrss * 1024 / 1e6,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "wall_s": time.monotonic() - start,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", default="3,30")
    parser.add_argument("--limit-mb", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="hitrate-memory-") as folder:
        for millions in map(int, arguments.millions.split(",")):
            file = Path(folder) / f"{millions}.jsonl"
            generate.write(file, millions * 1_000_000, DISTINCT)
            limit = arguments.limit_mb * 1_000_000
            if not rows:
                row("warming up", file, COMMANDS["three rules over two processes"], millions, resource.RLIM_INFINITY)
            rows += [row(name, file, options, millions, limit) for name, options in COMMANDS.items()]
            file.unlink()
    if arguments.json:
        print(json.dumps({"limit_mb": arguments.limit_mb, "rows": rows}, indent=2))
    else:
        print(f"{'what':<42} {'M blocks':>8} {'peak MB':>8} {'CPU s':>7} {'wall s':>7}")
        for one in rows:
            figures = f"{one['peak_rss_mb']:>8.0f} {one['cpu_s']:>7.1f} {one['wall_s']:>7.1f}"
            print(
                f"{one['what']:<42} {one['million_blocks']:>8} {figures}" + ("" if one["fits"] else "  out of memory")
            )
    return 0 if all(one["fits"] for one in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
