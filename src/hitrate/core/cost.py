"""The bill of many calls: with caching, without it, per model, and at which prices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from msgspec import Struct

from hitrate.core.model import Call, Usage
from hitrate.core.money import Bill, LargePrompt, Price, Unpriced, bill, break_even_calls
from hitrate.core.records import Records
from hitrate.core.results import SCHEMA_VERSION


class Quote(Struct, frozen=True, kw_only=True):
    """The price found for a call. `tier` is the service tier it was billed at, None for the standard one."""

    price: Price
    provider: str | None = None
    tier: str | None = None
    note: str | None = None
    """What was assumed to find it, say the time of the call."""


def logged_usd(call: Call) -> float | None:
    """What the log itself says a call cost: pi's and OpenRouter's `usage.cost`, or a gateway's."""
    cost = (call.raw_usage or {}).get("cost")
    amount = cost.get("total") if isinstance(cost, dict) else cost
    known = isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount < float("inf")
    return amount if known else None


class PriceUsed(Struct, frozen=True, kw_only=True):
    """One price and the calls billed at it. Fields are as in `core.money.Price`."""

    model: str | None
    provider: str | None
    tier: str | None
    calls: int
    input_usd_per_mtok: float | None
    cached_usd_per_mtok: float | None
    written_usd_per_mtok: float | None
    written_1h_usd_per_mtok: float | None
    output_usd_per_mtok: float | None
    above: tuple[LargePrompt, ...]
    derived: tuple[str, ...]
    source: str
    since: str | None
    note: str | None


class BreakEven(Struct, frozen=True, kw_only=True):
    """From which call with the same prefix on a write has paid for itself; None: never.

    `lifetime` is "usual" (the vendor's default) or "1h". `write_x` and `read_x` are in multiples of the input price.
    """

    model: str | None
    lifetime: str
    write_x: float
    read_x: float
    calls: int | None


class Sums(Struct, frozen=True, kw_only=True):
    """Tokens are summed over the calls that report them, None if none does; money over the calls that have a price.

    `cached_tokens` and `hit_rate` are over the calls that report both prompt and cached tokens; `prompt_tokens` counts
    the others too. `usd_saved` is net of write premiums.
    """

    calls: int
    prompt_tokens: int | None
    cached_tokens: int | None
    written_tokens: int | None
    output_tokens: int | None
    hit_rate: float | None
    usd: float | None
    usd_without_caching: float | None
    usd_saved: float | None
    write_premium_usd: float | None
    unpriced_calls: int
    not_reported: int
    """Calls whose cached tokens are not reported: billed as if nothing came from cache, so at most that much."""
    without_output: int
    """Calls whose output tokens are not reported: their output is not in the bill."""


class ModelCost(Sums, frozen=True, kw_only=True):
    model: str | None
    provider: str | None


class UnpricedCalls(Struct, frozen=True, kw_only=True):
    model: str | None
    reason: str
    calls: int


class CostReport(Struct, frozen=True, kw_only=True):
    """What `hitrate cost` found. The figures from `calls` to `unpriced_calls` are those of `Sums`, over all calls."""

    schema_version: int = SCHEMA_VERSION
    kind: str = "cost"
    log: str
    format: str
    calls: int
    prompt_tokens: int | None
    cached_tokens: int | None
    written_tokens: int | None
    output_tokens: int | None
    hit_rate: float | None
    usd: float | None
    usd_without_caching: float | None
    usd_saved: float | None
    write_premium_usd: float | None
    storage_usd: float | None = None
    """Holding cache objects, as told by the user; not part of `usd`."""
    usd_logged: float | None = None
    """What the log itself says the calls cost, over those where it says so."""
    unpriced_calls: int
    not_reported: int
    without_output: int
    prices: tuple[PriceUsed, ...] = ()
    break_even: tuple[BreakEven, ...] = ()
    models: tuple[ModelCost, ...] = ()
    unpriced: tuple[UnpricedCalls, ...] = ()
    records: Records
    warnings: tuple[str, ...] = ()


def price_calls(
    calls: Iterable[Call],
    quote: Callable[[Call], Quote | Unpriced],
    *,
    log: str,
    format: str,
    records: Callable[[], Records],
    logged_usd: Callable[[Call], float | None] = lambda call: None,
    storage_usd: float | None = None,
) -> CostReport:
    """Bill every call; memory grows with the models and prices met, not with the calls.

    `records` is asked once all calls are read. `logged_usd` is the log's own figure for a call.
    """
    totals = _Totals()
    for call in calls:
        totals.add(call, quote(call), logged_usd(call))
    sums = totals.all.sums()
    return CostReport(
        log=log,
        format=format,
        storage_usd=storage_usd,
        usd_logged=None if totals.logged is None else float(totals.logged),
        prices=totals.prices_used(),
        break_even=tuple(totals.break_even()),
        models=totals.by_model(),
        unpriced=totals.unpriced_calls(),
        records=records(),
        warnings=tuple(totals.warnings(sums)),
        **{name: getattr(sums, name) for name in Sums.__struct_fields__},
    )


class GrowingSums:
    """A `Sums` in the making; what is not reported is in no sum."""

    def __init__(self) -> None:
        self.calls = self.priced = self.not_reported = self.without_output = 0
        self.prompt: int | None = None
        self.cached: int | None = None
        self.written: int | None = None
        self.output: int | None = None
        self.reporting_prompt = 0
        self.bill = Bill()

    def add(self, usage: Usage, billed: Bill | None) -> None:
        """`billed` is None where the call has no known price."""
        self.calls += 1
        if not usage.accounting_fault:
            self.prompt = _plus(self.prompt, usage.prompt_tokens)
            self.written = _plus(self.written, usage.written_tokens)
            self.output = _plus(self.output, usage.output_tokens)
            if usage.prompt_tokens is not None:
                self._count_cached(usage.prompt_tokens, usage.cached_tokens, 1)
        if billed is not None:
            self.priced += 1
            self.bill = self.bill.plus(billed)
            self.without_output += usage.output_tokens is None

    def replace(self, was: Usage, now: Usage) -> None:
        """The cached tokens of a call turned out to be 0 instead of not reported, or the other way round."""
        for usage, sign in ((was, -1), (now, 1)):
            if usage.prompt_tokens is not None and not usage.accounting_fault:
                self._count_cached(usage.prompt_tokens, usage.cached_tokens, sign)

    def _count_cached(self, prompt_tokens: int, cached_tokens: int | None, sign: int) -> None:
        if cached_tokens is None:
            self.not_reported += sign
        else:
            self.reporting_prompt += sign * prompt_tokens
            self.cached = _plus(self.cached, sign * cached_tokens)

    @property
    def hit_rate(self) -> float | None:
        return (self.cached or 0) / self.reporting_prompt if self.reporting_prompt else None

    def sums(self) -> Sums:
        return Sums(**self.figures())

    def figures(self) -> dict[str, Any]:
        def dollars(amount: Decimal) -> float | None:
            return float(amount) if self.priced else None

        return {
            "calls": self.calls,
            "prompt_tokens": self.prompt,
            "cached_tokens": self.cached,
            "written_tokens": self.written,
            "output_tokens": self.output,
            "hit_rate": self.hit_rate,
            "usd": dollars(self.bill.usd),
            "usd_without_caching": dollars(self.bill.without_caching),
            "usd_saved": dollars(self.bill.without_caching - self.bill.usd),
            "write_premium_usd": dollars(self.bill.write_premium),
            "unpriced_calls": self.calls - self.priced,
            "not_reported": self.not_reported,
            "without_output": self.without_output,
        }


def _plus(total: int | None, count: int | None) -> int | None:
    return total if count is None else (total or 0) + count


class _Totals:
    def __init__(self) -> None:
        self.all = GrowingSums()
        self.models: dict[tuple[str | None, str | None], GrowingSums] = {}
        self.prices: dict[tuple[str | None, Price, str | None, str | None, str | None], int] = {}
        self.unpriced: dict[tuple[str | None, str], int] = {}
        self.logged: Decimal | None = None
        self.logged_calls = 0

    def add(self, call: Call, quoted: Quote | Unpriced, logged: float | None) -> None:
        billed = quoted if isinstance(quoted, Unpriced) else bill(call.usage, quoted.price)
        provider = None if isinstance(quoted, Unpriced) else quoted.provider
        if logged is not None:
            self.logged = (self.logged or Decimal(0)) + Decimal(str(logged))
            self.logged_calls += 1
        if call.usage.prompt_tokens is None:  # whatever the price, there is nothing to multiply it with
            billed = Unpriced("no token counts")
        if isinstance(billed, Unpriced) or isinstance(quoted, Unpriced):
            reason = billed.reason if isinstance(billed, Unpriced) else ""
            self.unpriced[call.model, reason] = self.unpriced.get((call.model, reason), 0) + 1
            amount = None
        else:
            key = (call.model, quoted.price, quoted.provider, quoted.tier, quoted.note)
            self.prices[key] = self.prices.get(key, 0) + 1
            amount = billed
        self.all.add(call.usage, amount)
        self.models.setdefault((call.model, provider), GrowingSums()).add(call.usage, amount)

    def by_model(self) -> tuple[ModelCost, ...]:
        """The dearest first, those without a price last."""
        found = [
            ModelCost(model=model, provider=provider, **one.figures()) for (model, provider), one in self.models.items()
        ]
        return tuple(sorted(found, key=lambda cost: (cost.usd is None, -(cost.usd or 0))))

    def prices_used(self) -> tuple[PriceUsed, ...]:
        return tuple(
            PriceUsed(
                model=model,
                provider=provider,
                tier=tier,
                calls=calls,
                note="; ".join(part for part in (price.note, note) if part) or None,
                **{
                    name: getattr(price, name)
                    for name in PriceUsed.__struct_fields__
                    if name not in ("model", "provider", "tier", "calls", "note")
                },
            )
            for (model, price, provider, tier, note), calls in self.prices.items()
        )

    def break_even(self) -> Iterator[BreakEven]:
        """For every price with a write price, once a model and pair of factors."""
        seen: set[BreakEven] = set()
        for model, price, *_ in self.prices:
            if not price.input_usd_per_mtok or price.cached_usd_per_mtok is None:
                continue
            for lifetime, write in (("usual", price.written_usd_per_mtok), ("1h", price.written_1h_usd_per_mtok)):
                if write is None:
                    continue
                found = BreakEven(
                    model=model,
                    lifetime=lifetime,
                    write_x=_ratio(write, price.input_usd_per_mtok),
                    read_x=_ratio(price.cached_usd_per_mtok, price.input_usd_per_mtok),
                    calls=break_even_calls(price.input_usd_per_mtok, price.cached_usd_per_mtok, write),
                )
                if found not in seen:
                    seen.add(found)
                    yield found

    def unpriced_calls(self) -> tuple[UnpricedCalls, ...]:
        return tuple(
            UnpricedCalls(model=model, reason=reason, calls=calls) for (model, reason), calls in self.unpriced.items()
        )

    def warnings(self, sums: Sums) -> Iterator[str]:
        if sums.not_reported:
            yield (
                f"{sums.not_reported} of {sums.calls} calls do not report cached tokens: billed as if nothing came "
                "from cache, so that part of the bill is an upper bound"
            )
        if sums.without_output:
            yield f"{sums.without_output} of {sums.calls} calls report no output tokens: no output of theirs is billed"
        if self.logged is not None and sums.usd is not None and self.logged_calls == self.all.priced:
            difference = float(self.logged) - sums.usd
            if abs(difference) > 0.01 * max(sums.usd, float(self.logged)):
                yield f"the log itself says ${float(self.logged):.4f}, which differs by ${difference:+.4f}"


def _ratio(amount: float, input_price: float) -> float:
    return float(Decimal(str(amount)) / Decimal(str(input_price)))
