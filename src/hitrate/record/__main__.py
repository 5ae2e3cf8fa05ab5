"""The keeper's process: `python -m hitrate.record STORE RUN`. Its standard input wakes it, and ends it.

Says it is ready with a line of JSON, `{"run": RUN, "pid": ...}`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence

from hitrate.errors import HitrateError
from hitrate.logs.store import Store
from hitrate.record.keeper import Keeper
from hitrate.record.keeping import Limits, Wakes, keep
from hitrate.record.places import journal_folder


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="python -m hitrate.record", description=__doc__)
    options.add_argument("store")
    options.add_argument("run")
    options.add_argument("--max-age-s", type=float)
    options.add_argument("--max-bytes", type=int)
    return options


def stay_in_the_background() -> None:
    """Ctrl-C is for the process that this one belongs to, and so are the processors."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(5)


def say(line: str) -> None:
    print(f"note: {line}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    asked = parser().parse_args(arguments)
    stay_in_the_background()
    try:
        with Store.open(asked.store) as store:
            keeper = Keeper(journal_folder(store.path, asked.run), store, asked.run, say)
            print(json.dumps({"run": asked.run, "pid": os.getpid()}), flush=True)
            limits = Limits(max_age_s=asked.max_age_s, max_bytes=asked.max_bytes)
            keep(keeper, store, Wakes(sys.stdin.fileno()), limits=limits, say=say)
    except HitrateError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
