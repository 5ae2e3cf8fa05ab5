"""Compare hitrate's client with an aiohttp and an httpx loop against the same reference server, in the same run.

    python benchmarks/client/run.py [--json] [--check] [--clients hitrate,aiohttp] [--streams 1,64] [--seconds 3]

`--check` ends with 1 if hitrate misses its bars, which leave slack for a shared two-core machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLIENTS = ("hitrate", "hitrate-stdlib-loop", "aiohttp", "httpx")
BAR_STREAMS = 64
BARS = {"error_p50_ms": 0.5, "error_p99_ms": 5.0, "requests_per_s": 5000.0, "peak_rss_mb": 60.0}


@contextmanager
def reference_server(*options: str) -> Iterator[str]:
    """The base URL of a server in its own process."""
    command = [sys.executable, str(HERE / "server.py"), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.stdin.close()
            process.wait(timeout=10)


def measure(name: str, paced_url: str, instant_url: str, arguments: argparse.Namespace) -> dict:
    """One client in its own process; the paced cells come in the order of their streams."""
    command = [sys.executable, str(HERE / "worker.py"), name.removesuffix("-stdlib-loop"), paced_url, instant_url]
    command += ["--streams", arguments.streams, "--seconds", str(arguments.seconds)]
    command += ["--stdlib-loop"] if name.endswith("-stdlib-loop") else []
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = [json.loads(line) for line in output.splitlines()]
    return {
        "client": name,
        "paced": [line for line in lines if line["mode"] == "paced"],
        "instant": next(line for line in lines if line["mode"] == "instant"),
        "process": next(line for line in lines if line["mode"] == "process"),
    }


def table(results: list[dict]) -> str:
    lines = [
        f"{'client':<20} {'streams':>7} {'requests':>8} {'error p50 ms':>12} {'p99 ms':>9} {'requests/s':>10} "
        f"{'CPU ms/request':>14}"
    ]
    for result in results:
        for one in (*result["paced"], result["instant"]):
            errors = f"{one['error_p50_ms']:>12.2f} {one['error_p99_ms']:>9.2f}"
            if one["mode"] == "instant":
                errors = f"{'no spacing':>12} {'':>9}"
            lines.append(
                f"{result['client']:<20} {one['streams']:>7} {one['requests']:>8} {errors} "
                f"{one['requests_per_s']:>10.0f} {one['cpu_ms_per_request']:>14.3f}"
            )
        process = result["process"]
        lines.append(f"{'':<20} peak memory {process['peak_rss_mb']:.1f} MB, CPU {process['cpu_s']:.1f} s")
    return "\n".join(lines)


def missed_bars(result: dict) -> list[str]:
    at_bar = next((one for one in result["paced"] if one["streams"] == BAR_STREAMS), {})
    seen = {
        "error_p50_ms": at_bar.get("error_p50_ms"),
        "error_p99_ms": at_bar.get("error_p99_ms"),
        "requests_per_s": result["instant"]["requests_per_s"],
        "peak_rss_mb": result["process"]["peak_rss_mb"],
    }
    return [
        f"{name} is {value:.2f}, the bar is {BARS[name]:g}"
        for name, value in seen.items()
        if value is not None and (value < BARS[name] if name == "requests_per_s" else value > BARS[name])
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", default=",".join(CLIENTS), help="any of %(default)s")
    parser.add_argument("--streams", default="1,16,64,256")
    parser.add_argument("--seconds", type=float, default=3.0, help="per cell")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()

    results = []
    # The stdlib loop writes inside `write`, right after the stamp; uvloop writes later, but answers faster.
    with reference_server() as paced_url, reference_server("--uvloop") as instant_url:
        for name in arguments.clients.split(","):
            print(f"measuring {name}", file=sys.stderr)
            results.append(measure(name, paced_url, instant_url, arguments))
    load = os.getloadavg()[0]
    print(json.dumps({"load_average": load, "results": results}) if arguments.json else table(results))
    print(f"load average over the last minute: {load:.1f} on {os.cpu_count()} cores", file=sys.stderr)
    missed = [text for result in results if result["client"] == "hitrate" for text in missed_bars(result)]
    for text in missed:
        print(f"bar missed: {text}", file=sys.stderr)
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
