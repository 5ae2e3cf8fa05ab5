"""`hitrate cost`: what the calls of a log or a run cost, and what they would cost without caching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.options import output_options

if TYPE_CHECKING:
    from hitrate.cli.reading import StoredRun
    from hitrate.core.cost import CostReport
    from hitrate.core.model import Call
    from hitrate.core.money import Price
    from hitrate.logs.sniff import Log
    from hitrate.targets.prices import PriceBook

_SHOWN = 10
"""Damaged records named one by one when none is left to use."""


def _price(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Price | None:
    """IN,CACHED,OUT[,WRITE[,WRITE1H]] in US dollars per million tokens."""
    from hitrate.core.money import Price

    if value is None:
        return None
    amounts = _amounts(value)
    if not 3 <= len(amounts) <= 5:
        raise click.BadParameter(
            f"expected IN,CACHED,OUT[,WRITE[,WRITE1H]] in USD per million tokens, like 3,0.3,15,3.75,6; got {value!r}"
        )
    return Price(
        input_usd_per_mtok=amounts[0],
        cached_usd_per_mtok=amounts[1],
        output_usd_per_mtok=amounts[2],
        written_usd_per_mtok=amounts[3] if len(amounts) > 3 else None,
        written_1h_usd_per_mtok=amounts[4] if len(amounts) > 4 else None,
        source="command line",
    )


def _storage(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """TOKENS,HOURS,USD: the storage of an explicit cache in dollars."""
    from hitrate.core.money import storage_cost

    if value is None:
        return None
    amounts = _amounts(value)
    if len(amounts) != 3 or amounts[0] != int(amounts[0]):
        raise click.BadParameter(f"expected TOKENS,HOURS,USD, like 100000,24,4.50; got {value!r}")
    return storage_cost(int(amounts[0]), amounts[1], amounts[2])


def _amounts(value: str) -> list[float]:
    """Numbers with commas between; none for anything else."""
    try:
        found = [float(part) for part in value.split(",")]
    except ValueError:
        return []
    return found if all(0 <= amount < float("inf") for amount in found) else []


@click.command()
@click.argument("log")
@click.option("--format", "log_format", metavar="NAME", help="Format of the log; left out, told by how it starts.")
@click.option(
    "--price",
    callback=_price,
    metavar="IN,CACHED,OUT[,WRITE[,WRITE1H]]",
    help="US dollars per million tokens, before any list.",
)
@click.option("--model", help="Model id to look the price up by, instead of the log's.")
@click.option("--provider", metavar="TARGET", help="Who served the calls, where the log does not say.")
@click.option("--prices-from", metavar="TARGET", help="Ask this target for its prices (GET /v1/models).")
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
    import datetime

    from hitrate.cli.live_run import show
    from hitrate.cli.reading import open_source
    from hitrate.errors import UsageError
    from hitrate.targets.prices import PriceBook, read_user_prices

    if html_file is not None:
        raise UsageError("a bill has no HTML page: use --json, --csv or --markdown")
    book = PriceBook(
        now=datetime.datetime.now(datetime.UTC),
        given=price,
        user=read_user_prices(),
        listed=_listed(prices_from) if prices_from else None,
        model=model,
        provider=provider or prices_from,
    )
    report = _bill(open_source(log, log_format), book, storage_usd)
    show(report, output, None)
    return 0


def _bill(source: Log | StoredRun, book: PriceBook, storage_usd: float | None) -> CostReport:
    """InputFileError when not one call could be read."""
    from hitrate.core.cost import price_calls
    from hitrate.errors import InputFileError

    def quote(call: Call) -> Any:
        book.own = source.own_price
        return book.quote(call)

    report = price_calls(
        source,
        quote,
        log=source.path,
        format=source.format,
        records=source.records,
        logged_usd=_logged_usd,
        storage_usd=storage_usd,
    )
    if report.calls:
        return report
    for skipped in report.records.skipped[:_SHOWN]:
        click.echo(f"{source.path}{skipped.place}: {skipped.reason}", err=True)
    if report.records.read:
        raise InputFileError(source.path, f"none of its {report.records.read} records can be used")
    raise InputFileError(source.path, f"no call is recorded in it (read as {source.format})")


def _logged_usd(call: Call) -> float | None:
    """What the log itself says a call cost: pi's and OpenRouter's `usage.cost`, or a gateway's."""
    cost = (call.raw_usage or {}).get("cost")
    amount = cost.get("total") if isinstance(cost, dict) else cost
    known = isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount < float("inf")
    return amount if known else None


def _listed(target: str) -> dict[str, Price]:
    """The prices a target lists, by model id. Raises TargetError where it shows no list."""
    import os

    import msgspec

    from hitrate.errors import TargetError
    from hitrate.live import loop
    from hitrate.live.session import connected
    from hitrate.targets.models import parse_models
    from hitrate.targets.presets import key_for, load

    async def ask() -> Any:
        found = load(target)
        async with connected(found, key=key_for(found, os.environ), headers={}, timeout_s=60.0) as client:
            return await client.get_json("/models")

    listed = loop.run(ask())
    try:
        models = parse_models(msgspec.json.encode(listed))
    except ValueError as error:
        raise TargetError(f"{target}: GET /models: {error}") from None
    source = f"{target} /v1/models"
    return {
        entry.id: msgspec.structs.replace(entry.price, source=f"{source}, {entry.price.source}") for entry in models
    }
