"""`hitrate watch`: the live page of a recording, without the proxy that made it."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

import click

from hitrate.cli.log_options import price_options

if TYPE_CHECKING:
    from hitrate.core.money import Price
    from hitrate.logs.store import Store


@click.command()
@click.argument("run", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=8095, show_default=True, help="0: a free one.")
@click.option("--open", "open_browser", is_flag=True, help="Open it in the browser.")
@price_options
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON when ready.")
def watch(
    run: str | None,
    port: int,
    open_browser: bool,
    price: Price | None,
    model: str | None,
    provider: str | None,
    prices_from: str | None,
    as_json: bool,
) -> None:
    """Show a stored run as the live page: sessions, hit rate, each break with its cause and price.

    RUN is the id of a run or its beginning; left out, the newest recording. One that still goes on is followed.
    """
    from hitrate.cli.log_options import price_book
    from hitrate.cli.stored import open_store
    from hitrate.serve.listening import listen
    from hitrate.watch.app import make_app
    from hitrate.watch.listener import LazyServer
    from hitrate.watch.paths import BASE_PATH
    from hitrate.watch.recorded import feed_of_run

    book = price_book(price, model, provider, prices_from)
    with open_store() as store:
        feed = feed_of_run(store, run or newest_recording(store), book.quote)
        listening = listen("127.0.0.1", port)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}{BASE_PATH}/"
        server = LazyServer(listening, lambda: make_app(feed))
        try:
            if as_json:
                ready = {"schema_version": 1, "url": address, "run": feed.recording, "pid": os.getpid()}
                click.echo(json.dumps(ready))
            else:
                click.echo(f"watching run {feed.recording}: {address}  Ctrl-C ends it.", err=True)
            if open_browser:
                click.launch(address)
            with contextlib.suppress(KeyboardInterrupt):
                server.wait()
        finally:
            server.close()
            feed.close()


def newest_recording(store: Store) -> str:
    """UsageError where nothing was ever recorded."""
    from hitrate.errors import UsageError
    from hitrate.logs.store import RECORDING

    found = next((one.id for one in store.runs(limit=1000) if one.kind == RECORDING), None)
    if found is None:
        raise UsageError(f"nothing is recorded in {store.path}: start hitrate proxy, or name a run of hitrate runs")
    return found
