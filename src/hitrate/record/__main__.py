"""The keeper's process: `python -m hitrate.record STORE RUN`. Its standard input wakes it, and ends it.

Says it is ready with a line of JSON, `{"run": RUN, "pid": ...}`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence

from hitrate.core.model import Call
from hitrate.errors import HitrateError
from hitrate.record.keeper import Keeper
from hitrate.record.keeping import Limits, Wakes, keep
from hitrate.record.places import journal_folder
from hitrate.record.saying import say
from hitrate.record.told_store import ToldStore


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="python -m hitrate.record", description=__doc__)
    options.add_argument("store")
    options.add_argument("run")
    options.add_argument("--max-age-s", type=float)
    options.add_argument("--max-bytes", type=int)
    options.add_argument("--otlp", metavar="URL")
    options.add_argument("--otlp-content", action="store_true")
    return options


def export_of(asked: argparse.Namespace, closing: contextlib.ExitStack) -> tuple[Callable[[Call], None], ...]:
    """What has to be told of each stored call, for OpenTelemetry; nothing of it is imported unless it is asked for."""
    if asked.otlp is None:
        return ()
    from hitrate.record.otlp import OtlpExport

    export = OtlpExport(asked.otlp, content=asked.otlp_content)
    closing.callback(export.close)
    return (export.add,)


def stay_in_the_background() -> None:
    """Ctrl-C is for the process that this one belongs to, and so are the processors."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(5)


def tell_ready(run: str, port: int | None = None) -> None:
    """To the process that this one belongs to. If that is gone, the end of standard input says so, too."""
    ready = {"run": run, "pid": os.getpid()} | ({} if port is None else {"port": port})
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), json.dumps(ready).encode() + b"\n")


Prepare = Callable[[ToldStore, str, contextlib.ExitStack], int | None]
"""What else the process does with the store and run that it keeps: it may add listeners to the store and say by what to
end. Gives the port of a page, if there is one."""


def no_page(store: ToldStore, run: str, closing: contextlib.ExitStack) -> int | None:
    return None


def main(arguments: Sequence[str], prepare: Prepare = no_page) -> int:
    asked = parser().parse_args(arguments)
    stay_in_the_background()
    try:
        with ToldStore.open(asked.store) as store, contextlib.ExitStack() as closing:
            assert isinstance(store, ToldStore)
            store.listeners = export_of(asked, closing)
            keeper = Keeper(journal_folder(store.path, asked.run), store, asked.run, say)
            tell_ready(asked.run, prepare(store, asked.run, closing))
            limits = Limits(max_age_s=asked.max_age_s, max_bytes=asked.max_bytes)
            keep(keeper, store, Wakes(sys.stdin.fileno()), limits=limits, say=say)
    except HitrateError as error:
        say(error.message, "error")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
