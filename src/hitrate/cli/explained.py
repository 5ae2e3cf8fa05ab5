"""A log named on the command line, explained: what `explain` and `check` share."""

from __future__ import annotations

from typing import Any

from hitrate.cli.log_options import price_book
from hitrate.cli.reading import no_call_in, open_source
from hitrate.core.findings import ExplainReport
from hitrate.core.model import Call
from hitrate.core.money import Price
from hitrate.explaining import explain_log
from hitrate.report.redact import without_content


def explained(
    log: str,
    log_format: str | None,
    price: Price | None,
    model: str | None,
    provider: str | None,
    prices_from: str | None,
) -> ExplainReport:
    """InputFileError when not one call could be read."""
    book = price_book(price, model, provider, prices_from)
    source = open_source(log, log_format)

    def quote(call: Call) -> Any:
        if source.own_price is not None:
            book.own = source.own_price
        return book.quote(call)

    report = explain_log(source, quote)
    if not report.calls:
        raise no_call_in(source)
    return report if source.content_kept else without_content(report)
