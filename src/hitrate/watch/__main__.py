"""The keeper's process with the live page: `python -m hitrate.watch STORE RUN`, as `python -m hitrate.record` else.

The line of JSON that says it is ready has the port of the page, too: `{"run": RUN, "pid": ..., "port": ...}`.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Sequence

from hitrate.logs.store import Store
from hitrate.record.__main__ import main as keep_recording
from hitrate.record.prometheus import Counters
from hitrate.record.saying import say
from hitrate.record.told_store import ToldStore
from hitrate.watch.listener import LazyServer


def main(arguments: Sequence[str]) -> int:
    return keep_recording(arguments, _count_and_show)


def _count_and_show(store: ToldStore, run: str, closing: contextlib.ExitStack) -> int | None:
    counters = Counters()
    store.listeners = (counters.add, *store.listeners)
    return _open_page(store, run, counters, closing)


def _open_page(store: Store, run_id: str, counters: Counters, page: contextlib.ExitStack) -> int | None:
    """The port; None where none can be had: what is recorded matters more than who looks."""

    def make_app():  # type: ignore[no-untyped-def]
        from hitrate.watch.recorded import app_of_recording

        return app_of_recording(store, run_id, counters, page)

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
