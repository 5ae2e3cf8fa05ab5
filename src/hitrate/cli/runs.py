"""`hitrate runs`: what is in the store."""

from __future__ import annotations

import click

from hitrate.cli.options import output_options


@click.command()
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most this many.")
@click.option("--delete", metavar="RUN", help="Delete one run instead of listing.")
@output_options
def runs(limit: int, delete: str | None, output: str | None, html_file: str | None) -> None:
    """List stored runs, newest first. HITRATE_STORE names another store."""
    from hitrate.cli.showing import show
    from hitrate.cli.stored import open_store
    from hitrate.logs.store import RunList

    with open_store() as store:
        if delete is not None:
            run_id = store.find(delete)
            store.delete(run_id)
            click.echo(f"deleted {run_id}", err=True)
            return
        show(RunList(store=str(store.path), runs=tuple(store.runs(limit))), output, html_file)
