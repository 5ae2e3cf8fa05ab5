"""What `report` found: what the calls of a log cost, what of that was avoidable, and what each fix would save.

Field order is the order in the JSON output. Shares are fractions 0..1, money US dollars, unknown is None. A figure's
struct says how it is known: `Spent` was reported by the engine and priced at list prices, `Estimated` comes from
comparing the prompts as they were sent, `Predicted` from replaying rewritten requests on a cache rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from hitrate.core.cost import BreakEven, PriceUsed, UnpricedCalls
from hitrate.core.findings import Confidence, Finding, RecordSums, Verdict, Voice, Waterfall
from hitrate.core.results import SCHEMA_VERSION, Interval
from hitrate.core.statistics import bootstrap_median_ratio, quantile
from hitrate.core.whatif_results import Gaps, Lifetime

Strength = Literal["fair", "weak", "as given"]

DAY_S = 24 * 3600.0
MONTH_S = 30 * DAY_S

WARM_SHARE, COLD_SHARE = 0.5, 0.1
"""A call is warm when at least half of its prompt came from cache, cold when less than a tenth did."""

MOST_TURN_GROUPS = 40
MOST_RESAMPLED = 300
"""Times to first token of each side that the interval is worked out from, drawn evenly; of more it is too wide."""

LEAST_FOR_INTERVAL = 3


class Spent(Struct, frozen=True, kw_only=True):
    """As the engine reported it, at the prices named; sums and exceptions as in `core.cost.Sums`."""

    basis: Literal["measured"] = "measured"
    calls: int
    prompt_tokens: int | None
    cached_tokens: int | None
    hit_rate: float | None
    usd: float | None
    output_usd: float | None
    """The part of `usd` that output cost, which no cache changes."""
    usd_without_caching: float | None
    usd_saved: float | None
    """What the cache saves already, net of write premiums."""


class Estimated(Struct, frozen=True, kw_only=True):
    """The log without some losses. `lost_tokens` and `saved_usd` add up the findings; hit rate and bill are those
    measured, with the lost tokens served from cache."""

    basis: Literal["estimated"] = "estimated"
    lost_tokens: int | None
    saved_usd: float | None
    hit_rate: float | None
    usd: float | None


class Predicted(Struct, frozen=True, kw_only=True):
    """The requests rewritten and replayed on the cache rule; both sides are of the rule."""

    basis: Literal["predicted"] = "predicted"
    rewrite: str
    """As the option of `whatif` is called; "all" for those of all fixes together."""
    what: str
    changed_calls: int
    hit_rate_as_sent: float | None
    hit_rate: float | None
    usd_as_sent: float | None
    usd: float | None
    saved_usd: float | None
    note: str | None = None


class Prediction(Struct, frozen=True, kw_only=True):
    """How far predictions can be trusted. `error` is the rate predicted for the log as sent less the one measured."""

    rule_set: str | None
    replayed: int
    calls: int
    error: float | None
    together: Predicted | None
    notes: tuple[str, ...] = ()


class Fix(Struct, frozen=True, kw_only=True):
    """All findings of one cause. `confidence` is the weakest among them, `example` the dearest."""

    cause: str
    verdict: Verdict
    voice: Voice
    confidence: Confidence
    findings: int
    conversations: int | None
    """None where the log does not tell conversations apart."""
    calls: int
    pointers: tuple[str, ...]
    """Places in the requests, at most `MOST_POINTERS`."""
    estimated: Estimated
    predicted: Predicted | None
    """None where no rewrite mends this cause, or nothing could be replayed."""
    example: Finding


MOST_POINTERS = 5


class OtherFinding(Struct, frozen=True, kw_only=True):
    """A finding that cost nothing that is known: how figures are read, or what was never sent before."""

    cause: str
    voice: Voice
    summary: str
    advice: str


class VoiceLoss(Struct, frozen=True, kw_only=True):
    """What was lost to the causes of one voice."""

    basis: Literal["estimated"] = "estimated"
    voice: Voice
    causes: int
    lost_tokens: int
    lost_usd: float | None


class PerThousandCalls(Struct, frozen=True, kw_only=True):
    """Means over the calls that have a price: what they cost was measured, what was lost is estimated."""

    priced_calls: int
    usd: float | None
    usd_without_caching: float | None
    lost_usd: float | None
    yours_usd: float | None
    """The part of `lost_usd` whose causes are yours to change."""


class Span(Struct, frozen=True, kw_only=True):
    """First and last call, Unix time."""

    first_at: float
    last_at: float
    calls: int
    """Calls whose time is known."""

    @property
    def seconds(self) -> float:
        return self.last_at - self.first_at


class PerMonth(Struct, frozen=True, kw_only=True):
    """Thirty days at the pace of the log, or the calls a month that the user gave. `strength` is what stands behind
    the pace."""

    basis: Literal["estimated"] = "estimated"
    strength: Strength
    why: str
    calls: int
    """Calls with a price."""
    usd: float | None
    usd_without_caching: float | None
    lost_usd: float | None
    yours_usd: float | None


class TurnRate(Struct, frozen=True, kw_only=True):
    """Hit rates of the calls at these turns of their conversations: the median, and the middle half of them."""

    turn: int
    last_turn: int
    calls: int
    conversations: int
    median: float
    low: float
    high: float


class Spread(Struct, frozen=True, kw_only=True):
    """Times to first token of one kind of calls, and how long their prompts were."""

    calls: int
    p50_ms: float
    p95_ms: float
    prompt_tokens_p50: float | None


class ColdWarm(Struct, frozen=True, kw_only=True):
    """`between` are calls that are neither; `speedup` has a 95 % interval, from `LEAST_FOR_INTERVAL` calls a side."""

    basis: Literal["measured"] = "measured"
    cold: Spread | None
    warm: Spread | None
    between: int
    speedup_p50_x: float | None
    speedup_p95_x: float | None
    speedup: Interval | None


class BusinessCase(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    kind: str = "report"
    title: str | None
    """As given by the user."""
    log: str
    format: str
    calls: int
    sessions: int
    span: Span | None
    now: Spent
    lost: tuple[VoiceLoss, ...]
    yours: Estimated
    """Without the losses that are yours to change."""
    reachable: Estimated
    """Without any loss that was found."""
    per_1000_calls: PerThousandCalls
    per_month: PerMonth | None
    no_month: str | None
    """Why there is no figure for a month."""
    fixes: tuple[Fix, ...]
    """The dearest first."""
    remarks: tuple[OtherFinding, ...]
    prediction: Prediction | None
    no_prediction: str | None
    """Why nothing was replayed."""
    turns: tuple[TurnRate, ...]
    ttft: ColdWarm | None
    """None where the log has no times to first token."""
    waterfall: Waterfall
    gaps: Gaps | None
    lifetimes: tuple[Lifetime, ...]
    break_even: tuple[BreakEven, ...]
    prices: tuple[PriceUsed, ...]
    unpriced: tuple[UnpricedCalls, ...]
    not_reported: int
    without_output: int
    rule_set: str | None
    records: RecordSums
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def without_losses(now: Spent, reporting_tokens: int, lost_tokens: int | None, lost_usd: float | None) -> Estimated:
    """`reporting_tokens` are the prompt tokens of the calls that report cached ones."""
    rate = None
    if lost_tokens is not None and now.cached_tokens is not None and reporting_tokens:
        rate = min(1.0, (now.cached_tokens + lost_tokens) / reporting_tokens)
    usd = None if now.usd is None or lost_usd is None else now.usd - lost_usd
    return Estimated(lost_tokens=lost_tokens, saved_usd=lost_usd, hit_rate=rate, usd=usd)


def strength_of(span_s: float) -> tuple[Strength, str] | None:
    """How much a log of that length says of a month, and why. None below a day: how often such hours come in a month is
    not in it."""
    if span_s < DAY_S:
        return None
    if span_s < 7 * DAY_S:
        return "weak", "the log is less than a week: days of the week and quiet days are not in it"
    return "fair", "a week or more, as if every week were like it"


def grouped_turns(rates: Sequence[tuple[int, int, float]]) -> tuple[TurnRate, ...]:
    """From (conversation, turn, hit rate), a group a turn, or of as many turns each as keep the groups few."""
    if not rates:
        return ()
    last = max(turn for _, turn, _ in rates)
    step = next(size for size in _STEPS if last <= size * MOST_TURN_GROUPS)
    groups: dict[int, list[tuple[int, float]]] = {}
    for conversation, turn, rate in rates:
        groups.setdefault((turn - 1) // step, []).append((conversation, rate))
    made = []
    for number, group in sorted(groups.items()):
        found = [rate for _, rate in group]
        made.append(
            TurnRate(
                turn=number * step + 1,
                last_turn=min(last, (number + 1) * step),
                calls=len(found),
                conversations=len({conversation for conversation, _ in group}),
                median=quantile(found, 0.5),
                low=quantile(found, 0.25),
                high=quantile(found, 0.75),
            )
        )
    return tuple(made)


_STEPS = [digit * 10**power for power in range(12) for digit in (1, 2, 5)]


def cold_and_warm(times: Sequence[tuple[float, float, int | None]], seed: int) -> ColdWarm | None:
    """From (hit rate, TTFT in ms, prompt tokens) of each call that has both; None where none has."""
    if not times:
        return None
    cold = [one for one in times if one[0] < COLD_SHARE]
    warm = [one for one in times if one[0] >= WARM_SHARE]
    first, rest = _spread(cold), _spread(warm)
    return ColdWarm(
        cold=first,
        warm=rest,
        between=len(times) - len(cold) - len(warm),
        speedup_p50_x=None if first is None or rest is None else speedup(first.p50_ms, rest.p50_ms),
        speedup_p95_x=None if first is None or rest is None else speedup(first.p95_ms, rest.p95_ms),
        speedup=_interval([ms for _, ms, _ in cold], [ms for _, ms, _ in warm], seed),
    )


def speedup(cold: float, warm: float) -> float | None:
    """How many times sooner, in the same unit; None where the warm time is not positive."""
    return cold / warm if warm > 0 else None


def _spread(times: Sequence[tuple[float, float, int | None]]) -> Spread | None:
    if not times:
        return None
    found = [ms for _, ms, _ in times]
    prompts = [tokens for _, _, tokens in times if tokens is not None]
    return Spread(
        calls=len(found),
        p50_ms=quantile(found, 0.5),
        p95_ms=quantile(found, 0.95),
        prompt_tokens_p50=quantile(prompts, 0.5) if prompts else None,
    )


def _interval(cold: list[float], warm: list[float], seed: int) -> Interval | None:
    if min(len(cold), len(warm)) < LEAST_FOR_INTERVAL or min(*cold, *warm) <= 0:
        return None
    found = bootstrap_median_ratio(_evenly(cold), _evenly(warm), seed)
    return Interval(found.estimate, found.low, found.high, len(cold) + len(warm))


def _evenly(values: list[float]) -> list[float]:
    """At most `MOST_RESAMPLED` of them, at even distances in their order."""
    if len(values) <= MOST_RESAMPLED:
        return values
    ordered = sorted(values)
    step = (len(ordered) - 1) / (MOST_RESAMPLED - 1)
    return [ordered[round(step * place)] for place in range(MOST_RESAMPLED)]
