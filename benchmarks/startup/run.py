"""What it costs to start hitrate: instructions and CPU time beside `python -c pass` and the imports of other libraries.

    python benchmarks/startup/run.py [--json] [--check] [--repeat 20]

Instructions are counted by `valgrind --tool=callgrind` where it is installed: they hardly depend on what else the
machine does. CPU time is user and system time of the child process, as a median. `--check` ends with 1 if hitrate
misses its bars.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

BASELINE = "python -c pass"
BARS = {"hitrate --version": 4.5, "hitrate --help": 6.0}
"""Times the baseline, in instructions where they can be counted, in CPU time elsewhere."""
IMPORTS = ("click", "typer", "rich.table", "msgspec", "httpx")
_INSTRUCTIONS = re.compile(r"I\s+refs:\s+([\d,]+)")


def programs() -> dict[str, list[str]]:
    """Name → command. The entry point's own script is run by its interpreter, without a shell or a shim between."""
    script = Path(sys.executable).with_name("hitrate")
    if not script.exists():
        sys.exit(f"no {script}: install hitrate into this environment first (pip install -e .)")
    python = [sys.executable]
    return {
        BASELINE: [*python, "-c", "pass"],
        "hitrate --version": [*python, str(script), "--version"],
        "hitrate --help": [*python, str(script), "--help"],
        **{
            f"import {name}": [*python, "-c", f"import {name}"]
            for name in IMPORTS
            if importlib.util.find_spec(name.partition(".")[0]) is not None
        },
    }


def environment() -> dict[str, str]:
    """Without switches that forbid byte code: a start that compiles everything anew measures the compiler."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stderr


def cpu_ms(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def instructions(command: list[str]) -> int | None:
    """Of one run; None without valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    found = _INSTRUCTIONS.search(run([valgrind, "--tool=callgrind", f"--callgrind-out-file={os.devnull}", *command]))
    return int(found[1].replace(",", "")) if found else None


def measured(repeat: int) -> list[dict]:
    commands = programs()
    for command in commands.values():
        run(command)  # writes byte code
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeat):  # in turn, so that a change of load meets all alike
        for name, command in commands.items():
            times[name].append(cpu_ms(command))
    rows: list[dict] = [
        {"program": name, "instructions": instructions(command), "cpu_ms": median(times[name])}
        for name, command in commands.items()
    ]
    for row in rows:
        counted = row["instructions"] is not None and rows[0]["instructions"] is not None
        row["instructions_x"] = row["instructions"] / rows[0]["instructions"] if counted else None
        row["cpu_x"] = row["cpu_ms"] / rows[0]["cpu_ms"] if rows[0]["cpu_ms"] else None
        row["bar_x"] = BARS.get(row["program"])
    return rows


def missed_bars(rows: list[dict]) -> list[str]:
    missed = []
    for row in rows:
        ratio = row["instructions_x"] if row["instructions_x"] is not None else row["cpu_x"]
        if row["bar_x"] is not None and ratio is not None and ratio > row["bar_x"]:
            missed.append(f"{row['program']} is {ratio:.2f} times {BASELINE}, the bar is {row['bar_x']:g}")
    return missed


def table(rows: list[dict]) -> str:
    def number(value: float | None, form: str) -> str:
        return format(value, form) if value is not None else "-"

    lines = [f"{'program':<20} {'instructions M':>14} {'x':>6} {'CPU ms':>8} {'x':>6} {'bar x':>6}"]
    for row in rows:
        millions = None if row["instructions"] is None else row["instructions"] / 1e6
        lines.append(
            f"{row['program']:<20} {number(millions, '.0f'):>14} {number(row['instructions_x'], '.2f'):>6} "
            f"{row['cpu_ms']:>8.1f} {number(row['cpu_x'], '.2f'):>6} {number(row['bar_x'], 'g'):>6}"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--repeat", type=int, default=20)
    arguments = parser.parse_args()
    rows = measured(arguments.repeat)
    version = ".".join(map(str, sys.version_info[:3]))
    if arguments.json:
        print(json.dumps({"python": version, "repeat": arguments.repeat, "rows": rows}, indent=2))
    else:
        print(table(rows))
        load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        print(f"Python {version}, median CPU time of {arguments.repeat}, load average {load}")
    missed = missed_bars(rows)
    for text in missed:
        print(f"missed: {text}", file=sys.stderr)
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
