"""The keeper's process with the live page: `python -m hitrate.watch STORE RUN`, as `python -m hitrate.record` else.

The line of JSON that says it is ready has the port of the page, too: `{"run": RUN, "pid": ..., "port": ...}`.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Sequence

from hitrate.errors import HitrateError
from hitrate.logs.store import Store
from hitrate.record.__main__ import export_of, parser, stay_in_the_background, tell_ready
from hitrate.record.keeper import Keeper
from hitrate.record.keeping import Limits, Wakes, keep
from hitrate.record.places import journal_folder
from hitrate.record.prometheus import Counters
from hitrate.record.saying import say
from hitrate.record.told_store import ToldStore
from hitrate.watch.listener import LazyServer


def main(arguments: Sequence[str]) -> int:
    asked = parser().parse_args(arguments)
    stay_in_the_background()
    try:
        with ToldStore.open(asked.store) as store, contextlib.ExitStack() as page:
            assert isinstance(store, ToldStore)
            counters = Counters()
            store.listeners = (counters.add, *export_of(asked, page))
            keeper = Keeper(journal_folder(store.path, asked.run), store, asked.run, say)
            port = _open_page(store, asked.run, counters, page)
            tell_ready(asked.run, port)
            limits = Limits(max_age_s=asked.max_age_s, max_bytes=asked.max_bytes)
            keep(keeper, store, Wakes(sys.stdin.fileno()), limits=limits, say=say)
    except HitrateError as error:
        say(error.message, "error")
        return error.exit_code
    return 0


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
