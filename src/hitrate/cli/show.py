"""`hitrate show`: one stored run, in any format."""

from __future__ import annotations

import click

from hitrate.cli.options import output_options


@click.command()
@click.argument("run")
@output_options
def show(run: str, output: str | None, html_file: str | None) -> None:
    """Show a stored run again. The beginning of its id is enough."""
    from hitrate.cli.showing import check_writable
    from hitrate.cli.showing import show as write
    from hitrate.logs.store import Store

    check_writable(html_file)
    with Store.open() as store:
        write(store.result(store.find(run)), output, html_file)
