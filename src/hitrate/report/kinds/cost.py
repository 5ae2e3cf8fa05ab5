"""`cost`: what a log's calls cost, a row a model, and the prices that were used."""

from __future__ import annotations

from collections.abc import Iterator

from hitrate.core.cost import BreakEven, CostReport
from hitrate.report.columns import (
    CACHED,
    CACHED_PRICE,
    HIT_RATE,
    INPUT_PRICE,
    PROMPT,
    WRITTEN_PRICE,
    Column,
    Sheet,
    amount,
    count,
    dollars,
    percent,
)
from hitrate.report.words import Line, record_lines

TYPE = CostReport

COST = (
    Column(key="model", header="model"),
    Column(key="provider", header="seller", drop_order=4),
    Column(key="calls", header="calls\nn", show=count),
    PROMPT,
    CACHED,
    Column(key="written_tokens", header="written\ntokens", show=count, drop_order=1),
    Column(key="output_tokens", header="output\ntokens", show=count, drop_order=2),
    HIT_RATE,
    Column(key="usd", header="bill\n$", show=amount),
    Column(key="usd_without_caching", header="without\ncaching $", show=amount),
    Column(key="usd_saved", header="saved\n$", show=amount),
    Column(key="write_premium_usd", header="write\npremium $", show=amount, drop_order=3),
    Column(key="unpriced_calls", header="unpriced\ncalls", show=count, drop_order=5),
)

PRICES = (
    Column(key="model", header="model"),
    Column(key="tier", header="tier", get=lambda row: row.tier or "standard", drop_order=4),
    Column(key="calls", header="calls\nn", show=count, drop_order=3),
    INPUT_PRICE,
    CACHED_PRICE,
    WRITTEN_PRICE,
    Column(key="written_1h_usd_per_mtok", header="1 h write\n$/M tokens", show=dollars, drop_order=2),
    Column(key="output_usd_per_mtok", header="output\n$/M tokens", show=dollars),
    Column(key="source", header="prices\nfrom", drop_order=1),
)


def title(report: CostReport) -> str:
    return f"cost · {report.log} · {report.format}"


def sheets(report: CostReport) -> list[Sheet]:
    return [records(report), *_price_sheets(report)]


def records(report: CostReport) -> Sheet:
    return Sheet(columns=COST, rows=report.models)


def _price_sheets(report: CostReport) -> list[Sheet]:
    if not report.prices:
        return []
    notes = []
    for price in report.prices:
        notes += [
            f"{price.model}, prompts above {count(step.above_tokens)} tokens: input {dollars(step.input_usd_per_mtok)}"
            for step in price.above
            if step.input_usd_per_mtok is not None
        ]
        if price.derived:
            notes.append(f"{price.model}: write prices worked out from the input price, as the vendor documents them")
        if price.note:
            notes.append(f"{price.model}: {price.note}")
    return [Sheet(title="prices", columns=PRICES, rows=report.prices, notes=tuple(dict.fromkeys(notes)))]


def lines(report: CostReport) -> list[Line]:
    return list(_lines(report))


def _lines(report: CostReport) -> Iterator[Line]:
    yield Line("aggregate", bill(report))
    if report.hit_rate is not None and report.cached_tokens is not None:
        tokens = f"{count(report.cached_tokens)} prompt tokens from cache"
        if not report.not_reported and report.prompt_tokens is not None:
            tokens = f"{count(report.cached_tokens)} of {count(report.prompt_tokens)} prompt tokens from cache"
        yield Line("aggregate", f"hit rate {percent(report.hit_rate)} %: {tokens}")
    if report.write_premium_usd:
        yield Line("cost", f"writing to the cache cost ${amount(report.write_premium_usd)} more than sending fresh")
    if report.storage_usd is not None:
        yield Line("cost", f"cache storage ${amount(report.storage_usd)}, not part of the bill above")
    yield from (Line("note", break_even(found)) for found in report.break_even)
    for unpriced in report.unpriced:
        name = f" of {unpriced.model}" if unpriced.model else ""
        which = f"{count(unpriced.calls)} of {count(report.calls)} calls{name}"
        yield Line("warning", f"{which} are unpriced and in no amount: {unpriced.reason}")
    yield from (Line("warning", text) for text in report.warnings)
    if sources := dict.fromkeys(price.source for price in report.prices if price.source):
        yield Line("measurement", f"prices from {', '.join(sources)}")
    yield from record_lines(report.log, report.records)


def bill(report: CostReport) -> str:
    """The figure of it all, in one sentence."""
    if report.usd is None or report.usd_without_caching is None or report.usd_saved is None:
        return f"no bill: none of {count(report.calls)} calls has a price"
    text = f"bill ${amount(report.usd)} instead of ${amount(report.usd_without_caching)} without caching"
    if not report.usd_without_caching or not report.usd_saved:
        return text
    share = percent(abs(report.usd_saved) / report.usd_without_caching)
    return f"{text}: ${amount(abs(report.usd_saved))} ({share} %) {'saved' if report.usd_saved > 0 else 'more'}"


def break_even(found: BreakEven) -> str:
    lifetime = "one-hour write" if found.lifetime == "1h" else "write"
    factors = f"a {lifetime} costs {found.write_x:.4g}x the input price, a read {found.read_x:.4g}x"
    pays = "it never pays back" if found.calls is None else f"it pays back from call {found.calls} on"
    return f"{found.model}: {factors}; {pays}" if found.model else f"{factors}; {pays}"
