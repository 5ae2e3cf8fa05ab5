"""`hitrate report`: the business case of a log, for who pays the bill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.log_options import log_options
from hitrate.cli.options import output_options

if TYPE_CHECKING:
    from hitrate.core.model import Call
    from hitrate.core.money import Price
    from hitrate.core.whatif_results import WhatIfReport
    from hitrate.reporting import Mend


@click.command()
@click.argument("log")
@log_options
@click.option("--title", help="Heading of the report, say whose traffic it is.")
@click.option(
    "--calls-per-month",
    type=click.IntRange(min=1),
    metavar="N",
    help="Calls that are made in a month, to work out its bill by; left out, the pace of a log of a day or more.",
)
@click.option(
    "--predict/--no-predict",
    default=None,
    help="Replay the requests as each fix would send them; left out, unless they are very large.",
)
@click.option("--redact", is_flag=True, help="Leave the prompts' text out, for a report to be handed on.")
@output_options
def report(
    log: str,
    log_format: str | None,
    price: Price | None,
    model: str | None,
    provider: str | None,
    prices_from: str | None,
    title: str | None,
    calls_per_month: int | None,
    predict: bool | None,
    redact: bool,
    output: str | None,
    html_file: str | None,
) -> int:
    """Make the business case of a log: what was spent, what of it was avoidable, what to fix first and what it saves.

    LOG is a file ("-" for standard input) or the id of a run. Every figure says whether it was measured, predicted or
    estimated. The page opens offline.
    """
    from hitrate.cli.log_options import price_book
    from hitrate.cli.reading import no_call_in, open_source
    from hitrate.cli.showing import check_writable, show
    from hitrate.logs.opened import STANDARD_INPUT
    from hitrate.reporting import Wanted, business_case

    check_writable(html_file)
    book = price_book(price, model, provider, prices_from)
    source = open_source(log, log_format)

    def quote(call: Call) -> Any:
        book.own = source.own_price
        return book.quote(call)

    def replay(mends: Sequence[Mend]) -> WhatIfReport:
        from hitrate.cli.whatif_run import Asked, Fix, what_if

        asked = Asked(fixes=[Fix(*mend) for mend in mends])
        return what_if(open_source(log, log_format), quote, asked)[0]

    can_replay = predict is not False and log != STANDARD_INPUT
    wanted = Wanted(
        replay if can_replay else None,
        however_large=bool(predict),
        redact=redact,
        title=title,
        calls_per_month=calls_per_month,
    )
    made = business_case(source, quote, wanted)
    if not made.calls:
        raise no_call_in(source)
    show(made, output, html_file)
    return 0
