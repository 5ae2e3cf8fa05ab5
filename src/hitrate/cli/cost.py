"""`hitrate cost`: what the calls of a log or a run cost, and what they would cost without caching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.log_options import amounts, log_options, price_book
from hitrate.cli.options import output_options

if TYPE_CHECKING:
    from hitrate.cli.reading import StoredRun
    from hitrate.core.cost import CostReport
    from hitrate.core.model import Call
    from hitrate.core.money import Price
    from hitrate.logs.sniff import Log
    from hitrate.targets.prices import PriceBook


def _storage(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """TOKENS,HOURS,USD: the storage of an explicit cache in dollars."""
    from hitrate.core.money import storage_cost

    if value is None:
        return None
    found = amounts(value)
    if len(found) != 3 or found[0] != int(found[0]):
        raise click.BadParameter(f"expected TOKENS,HOURS,USD, like 100000,24,4.50; got {value!r}")
    return storage_cost(int(found[0]), found[1], found[2])


@click.command()
@click.argument("log")
@log_options
@click.option(
    "--storage",
    "storage_usd",
    callback=_storage,
    metavar="TOKENS,HOURS,USD",
    help="An explicit cache held that long, at USD per million tokens and hour.",
)
@output_options
def cost(
    log: str,
    log_format: str | None,
    price: Price | None,
    model: str | None,
    provider: str | None,
    prices_from: str | None,
    storage_usd: float | None,
    output: str | None,
    html_file: str | None,
) -> int:
    """Bill the calls of a log file or a stored run: with caching, without it, and what was saved.

    LOG is a file ("-" for standard input) or the id of a run. Calls whose price is not known are counted, never
    taken for free.
    """
    from hitrate.cli.reading import open_source
    from hitrate.cli.showing import show
    from hitrate.errors import UsageError

    if html_file is not None:
        raise UsageError("a bill has no HTML page: use --json, --csv or --markdown")
    book = price_book(price, model, provider, prices_from)
    report = _bill(open_source(log, log_format), book, storage_usd)
    show(report, output, None)
    return 0


def _bill(source: Log | StoredRun, book: PriceBook, storage_usd: float | None) -> CostReport:
    """InputFileError when not one call could be read."""
    from hitrate.cli.reading import no_call_in
    from hitrate.core.cost import logged_usd, price_calls

    def quote(call: Call) -> Any:
        book.own = source.own_price
        return book.quote(call)

    report = price_calls(
        source,
        quote,
        log=source.path,
        format=source.format,
        records=source.records,
        logged_usd=logged_usd,
        storage_usd=storage_usd,
    )
    if not report.calls:
        raise no_call_in(source)
    return report
