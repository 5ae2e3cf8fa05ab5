"""`hitrate explain`: which call of a log lost its prefix cache, where, what changed, and at what price."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hitrate.cli.log_options import log_options
from hitrate.cli.options import output_options
from hitrate.collecting import collecting_seldom

if TYPE_CHECKING:
    from hitrate.core.money import Price


@click.command()
@click.argument("log")
@log_options
@click.option("--redact", is_flag=True, help="Leave the prompts' text out, for a report to be posted.")
@output_options
def explain(
    log: str,
    log_format: str | None,
    price: Price | None,
    model: str | None,
    provider: str | None,
    prices_from: str | None,
    redact: bool,
    output: str | None,
    html_file: str | None,
) -> int:
    """Find where the calls of a log lost their prefix cache: what changed, whose doing it was, what it cost.

    LOG is a file ("-" for standard input) or the id of a run.
    """
    with collecting_seldom():
        from hitrate.cli.explained import explained
        from hitrate.cli.showing import check_writable, show
        from hitrate.report.redact import redacted

        check_writable(html_file)
        report = explained(log, log_format, price, model, provider, prices_from)
        show(redacted(report) if redact else report, output, html_file)
    return 0
