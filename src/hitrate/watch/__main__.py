"""The keeper's process with the live page: `python -m hitrate.watch STORE RUN`, as `python -m hitrate.record` else.

The line of JSON that says it is ready has the port of the page, too: `{"run": RUN, "pid": ..., "port": ...}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Sequence

from hitrate.core.model import Call
from hitrate.errors import HitrateError
from hitrate.logs.recordings import JournalPosition
from hitrate.logs.store import Store
from hitrate.record.__main__ import parser, say, stay_in_the_background
from hitrate.record.keeper import Keeper
from hitrate.record.keeping import Limits, Wakes, keep
from hitrate.record.places import journal_folder
from hitrate.record.prometheus import Counters
from hitrate.watch.listener import LazyServer


class _CountedStore(Store):
    """Counts the calls that are put into it, for `/metrics`."""

    counters: Counters

    def add_calls(self, run_id: str, calls: Sequence[Call], journal: JournalPosition | None = None) -> None:
        super().add_calls(run_id, calls, journal)
        for call in calls:
            self.counters.add(call)


def main(arguments: Sequence[str]) -> int:
    asked = parser().parse_args(arguments)
    stay_in_the_background()
    try:
        with _CountedStore.open(asked.store) as store, contextlib.ExitStack() as page:
            assert isinstance(store, _CountedStore)
            store.counters = Counters()
            keeper = Keeper(journal_folder(store.path, asked.run), store, asked.run, say)
            port = _open_page(store, asked.run, page)
            print(json.dumps({"run": asked.run, "pid": os.getpid(), "port": port}), flush=True)
            limits = Limits(max_age_s=asked.max_age_s, max_bytes=asked.max_bytes)
            keep(keeper, store, Wakes(sys.stdin.fileno()), limits=limits, say=say)
    except HitrateError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return error.exit_code
    return 0


def _open_page(store: _CountedStore, run_id: str, page: contextlib.ExitStack) -> int | None:
    """The port; None where none can be had: what is recorded matters more than who looks."""

    def make_app():  # type: ignore[no-untyped-def]
        from hitrate.watch.recorded import app_of_recording

        return app_of_recording(store, run_id, store.counters, page)

    try:
        listening = socket.create_server(("127.0.0.1", 0))
    except OSError as error:
        say(f"there is no live page: {error.strerror or error}")
        return None
    server = LazyServer(listening, make_app)
    page.callback(server.close)
    return int(listening.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
