"""What `hitrate explain` costs on large logs, beside promptcachelint and beside merely decoding each line.

    python benchmarks/explain/run.py [--json] [--check] [--requests 20000] [--peer-requests 2000] [--repeat 3]

CPU time is user and system time of the child process, as a median; memory is its peak resident set. The peer is
installed into an environment of its own below `--cache`, and left out, with the reason, where that is not possible. It
gets a log of fewer requests, because it would need minutes for the large one; hitrate reads the same one, too.
`--check` ends with 1 if hitrate misses its bars.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import generate
import platformdirs

PEER = "promptcachelint==0.1.0"
BARS = {"mb_per_s": 60.0, "peak_rss_mb": 150.0, "long_cpu_s": 5.0}
"""The first two on the large log, MB of log per second of CPU time; the last for the log of long prompts."""

FLOOR = "import msgspec, sys\nfor line in open(sys.argv[1], 'rb'): msgspec.json.decode(line)"


class Log(NamedTuple):
    name: str
    path: Path
    requests: int
    size: int


class Cost(NamedTuple):
    cpu_s: float
    peak_rss_mb: float


def spent(command: list[str]) -> Cost:
    """By one run. Byte code may be written, else each run would compile the program anew."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {errors.read().decode()[-500:]}")
    kilobytes = usage.ru_maxrss / 1024 if sys.platform == "darwin" else usage.ru_maxrss
    return Cost(usage.ru_utime + usage.ru_stime, kilobytes * 1024 / 1e6)


def measured(program: str, command: list[str], log: Log | None, repeat: int) -> dict[str, Any]:
    print(f"measuring {program}" + (f" on {log.name}" if log else ""), file=sys.stderr)
    costs = [spent(command) for _ in range(repeat)]
    cpu_s = median(cost.cpu_s for cost in costs)
    return {
        "program": program,
        "log": log.name if log else None,
        "cpu_s": cpu_s,
        "mb_per_s": log.size / 1e6 / cpu_s if log else None,
        "requests_per_s": log.requests / cpu_s if log else None,
        "peak_rss_mb": max(cost.peak_rss_mb for cost in costs),
        "times_hitrate": None,
    }


def explain_command(*arguments: str) -> list[str]:
    script = Path(sys.executable).with_name("hitrate")
    if not script.exists():
        sys.exit(f"no {script}: install hitrate into this environment first (pip install -e .)")
    return [sys.executable, str(script), "explain", *arguments]


def peer_program(cache: Path) -> Path:
    """The peer's script, installed if it is not. CalledProcessError or OSError where it cannot be."""
    home = cache / PEER.replace("==", "-")
    program = home / "bin" / "promptcachelint"
    if not program.exists():
        for command in ([sys.executable, "-m", "venv", str(home)], [str(home / "bin" / "pip"), "install", "-q", PEER]):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return program


def made(folder: Path, name: str, kind: str, requests: int, *, trace: bool = False) -> Log:
    path = folder / f"{name.replace(' ', '-')}{'-trace' if trace else ''}.jsonl"
    return Log(name, path, requests, generate.write(kind, path, requests, trace=trace))


def rows(arguments: argparse.Namespace, folder: Path) -> tuple[list[dict[str, Any]], str | None]:
    """The rows of the table, and why the peer is missing in it."""
    large = made(folder, "large", "chats", arguments.requests)
    long = made(folder, "long prompts", "long", 100)
    small = made(folder, "small", "chats", arguments.peer_requests)
    spent(explain_command("--help"))  # writes byte code
    found = [measured("hitrate explain --help", explain_command("--help"), None, arguments.repeat)]
    for log in (large, long, small):
        command = explain_command(str(log.path), "--json")
        group = [measured("hitrate explain", command, log, arguments.repeat)]
        group.append(measured("msgspec decode", [sys.executable, "-c", FLOOR, str(log.path)], log, arguments.repeat))
        found += group
    reason = None
    try:
        program = peer_program(arguments.cache)
        trace = made(folder, "small", "chats", arguments.peer_requests, trace=True)
        command = [str(program), "report", str(trace.path), "--json"]
        found.append(measured(PEER.replace("==", " "), command, small, arguments.repeat))
    except (subprocess.CalledProcessError, OSError, RuntimeError) as error:
        said = getattr(error, "stderr", None) or str(error)
        reason = f"{PEER} could not be measured: {said.strip().splitlines()[-1]}"
    own = {row["log"]: row["cpu_s"] for row in found if row["program"] == "hitrate explain"}
    for row in found:
        row["times_hitrate"] = row["cpu_s"] / own[row["log"]] if row["log"] else None
    return found, reason


def missed_bars(found: list[dict[str, Any]]) -> list[str]:
    own = {row["log"]: row for row in found if row["program"] == "hitrate explain"}
    large, long_cpu_s = own["large"], own["long prompts"]["cpu_s"]
    missed = []
    if large["mb_per_s"] < BARS["mb_per_s"]:
        missed.append(f"{large['mb_per_s']:.1f} MB/s on the large log, the bar is {BARS['mb_per_s']:g}")
    if large["peak_rss_mb"] > BARS["peak_rss_mb"]:
        missed.append(f"{large['peak_rss_mb']:.0f} MB of memory on the large log, the bar is {BARS['peak_rss_mb']:g}")
    if long_cpu_s > BARS["long_cpu_s"]:
        missed.append(f"{long_cpu_s:.1f} s for the log of long prompts, the bar is {BARS['long_cpu_s']:g}")
    return missed


def table(found: list[dict[str, Any]]) -> str:
    def number(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    lines = [
        f"{'program':<24} {'log':<13} {'CPU s':>8} {'MB/s':>8} {'requests/s':>11} {'peak MB':>8} {'x hitrate':>10}"
    ]
    for row in found:
        lines.append(
            f"{row['program']:<24} {row['log'] or '-':<13} {row['cpu_s']:>8.2f} {number(row['mb_per_s'], '.1f'):>8} "
            f"{number(row['requests_per_s'], ',.0f'):>11} {row['peak_rss_mb']:>8.0f} "
            f"{number(row['times_hitrate'], '.2f'):>10}"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--peer-requests", type=int, default=2_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=Path(platformdirs.user_cache_dir("hitrate-benchmarks")))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hitrate-explain-") as folder:
        found, reason = rows(arguments, Path(folder))
    load = os.getloadavg()
    version = ".".join(map(str, sys.version_info[:3]))
    if arguments.json:
        document = {"python": version, "repeat": arguments.repeat, "rows": found, "peer_left_out": reason}
        print(json.dumps(document, indent=2))
    else:
        print(table(found))
        print(f"Python {version}, median of {arguments.repeat}, load average {load[0]:.1f} on {os.cpu_count()} cores")
        if reason:
            print(reason)
    missed = missed_bars(found)
    for text in missed:
        print(f"bar missed: {text}", file=sys.stderr)
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
