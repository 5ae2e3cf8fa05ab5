"""The calls of a log without their content: of each what bills and times need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from msgspec.structs import replace

from hitrate.core.business_case import Spent
from hitrate.core.cost import CostReport, Quote, logged_usd, price_calls
from hitrate.core.model import Call
from hitrate.core.money import Unpriced, bill
from hitrate.explaining import Source


class LogSource(Source, Protocol):
    content_kept: bool


class Kept(NamedTuple):
    """A call without its content, its price, and what the log says it cost."""

    call: Call
    quote: Quote | Unpriced
    logged_usd: float | None


class CallsRead:
    """The source, as what reads it goes over it: keeps of every call what costs and times need."""

    def __init__(self, source: LogSource, quote: Callable[[Call], Any]) -> None:
        self.source = source
        self.calls: list[Kept] = []
        self.body_bytes = 0
        self._quote = quote

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def __iter__(self) -> Iterator[Call]:
        for call in self.source:
            self.body_bytes += len(call.body)
            bare = replace(call, body=b"", headers={}, response_headers={}, reply=None, raw_usage=None, diagnosis=None)
            self.calls.append(Kept(bare, self._quote(call), logged_usd(call)))
            yield call


def cost_of(read: CallsRead, log: str) -> CostReport:
    quotes = iter([kept.quote for kept in read.calls])
    logged = iter([kept.logged_usd for kept in read.calls])
    return price_calls(
        (kept.call for kept in read.calls),
        lambda _: next(quotes),
        log=log,
        format=read.source.format,
        records=read.source.records,
        logged_usd=lambda _: next(logged),
    )


def measured(cost: CostReport, calls: list[Kept]) -> Spent:
    return Spent(
        calls=cost.calls,
        prompt_tokens=cost.prompt_tokens,
        cached_tokens=cost.cached_tokens,
        hit_rate=cost.hit_rate,
        usd=cost.usd,
        output_usd=None if cost.usd is None else sum(_output_usd(kept) for kept in calls),
        usd_without_caching=cost.usd_without_caching,
        usd_saved=cost.usd_saved,
    )


def _output_usd(kept: Kept) -> float:
    """What the output of a call is in its bill; 0 where it has none."""
    if isinstance(kept.quote, Unpriced):
        return 0.0
    whole = bill(kept.call.usage, kept.quote.price)
    prompt = bill(replace(kept.call.usage, output_tokens=0), kept.quote.price)
    if isinstance(whole, Unpriced) or isinstance(prompt, Unpriced):
        return 0.0
    return float(whole.usd - prompt.usd)
