"""Options of the commands that read a log, and the price book they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.options import all_of

if TYPE_CHECKING:
    from hitrate.core.money import Price
    from hitrate.targets.prices import PriceBook


def _price(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Price | None:
    return None if value is None else given_price(value)


def given_price(value: str) -> Price:
    """IN,CACHED,OUT[,WRITE[,WRITE1H]] in US dollars per million tokens. click.BadParameter for anything else."""
    from hitrate.core.money import Price

    found = amounts(value)
    if not 3 <= len(found) <= 5:
        raise click.BadParameter(
            f"expected IN,CACHED,OUT[,WRITE[,WRITE1H]] in USD per million tokens, like 3,0.3,15,3.75,6; got {value!r}"
        )
    return Price(
        input_usd_per_mtok=found[0],
        cached_usd_per_mtok=found[1],
        output_usd_per_mtok=found[2],
        written_usd_per_mtok=found[3] if len(found) > 3 else None,
        written_1h_usd_per_mtok=found[4] if len(found) > 4 else None,
        source="command line",
    )


def amounts(value: str) -> list[float]:
    """Numbers with commas between; none for anything else."""
    try:
        found = [float(part) for part in value.split(",")]
    except ValueError:
        return []
    return found if all(0 <= amount < float("inf") for amount in found) else []


price_options = all_of(
    click.option(
        "--price",
        callback=_price,
        metavar="IN,CACHED,OUT[,WRITE[,WRITE1H]]",
        help="US dollars per million tokens, before any list.",
    ),
    click.option("--model", help="Model id to look the price up by, instead of the log's."),
    click.option("--provider", metavar="TARGET", help="Who served the calls, where the log does not say."),
    click.option("--prices-from", metavar="TARGET", help="Ask this target for its prices (GET /v1/models)."),
)

log_options = all_of(
    click.option("--format", "log_format", metavar="NAME", help="Format of the log; left out, told by how it starts."),
    price_options,
)


def price_book(price: Price | None, model: str | None, provider: str | None, prices_from: str | None) -> PriceBook:
    """From the options of that name. TargetError where `prices_from` shows no list."""
    import datetime

    from hitrate.targets.prices import PriceBook, read_user_prices

    return PriceBook(
        now=datetime.datetime.now(datetime.UTC),
        given=price,
        user=read_user_prices(),
        listed=_listed(prices_from) if prices_from else None,
        model=model,
        provider=provider or prices_from,
    )


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
