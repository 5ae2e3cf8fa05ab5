"""An engine's costs from what it was measured to take: those with which the simulation of the same requests comes near.

Fitted are the times to first token and from there to the end of the first requests, as ratios of predicted and
measured. All requests arrive, but no time that was measured of the others is looked at: these say how good it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum, inf, isnan, log
from typing import NamedTuple

from msgspec.structs import replace

from hitrate.core.calibration_results import FittedCost, PredictionError
from hitrate.core.measured import MeasuredRequest
from hitrate.core.statistics import median, quantile
from hitrate.errors import UsageError
from hitrate.sim.timing.engine import Engine
from hitrate.sim.timing.engine_timing import COSTS, EngineTiming
from hitrate.sim.timing.least_squares import loss, nonnegative, standard_errors, weights
from hitrate.sim.timing.moments import Moments
from hitrate.sim.timing.work import CountingEngine, Work

FEWEST = 20
"""Requests with a known time to first token that a fit needs."""
MOST_FITTED = 1000
"""So that a fit takes seconds."""
_LOOSEST = 0.4
"""Relative standard error from which a cost counts as not determined: its interval nearly reaches 0."""
_ROUNDS = 12
_SHARES = (1.0, 0.5, 0.25, 0.1)
"""Of the way to the next costs."""
_GAIN = 1e-3
"""Less than this share of the loss is no progress."""
_FINEST = 0.01
_DROPPED = ("prefill_context_s", "prefill_step_s", "sequence_s", "context_token_s")
"""The first of those that are not determined is left out."""
_QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))


class Calibration(NamedTuple):
    timing: EngineTiming
    costs: tuple[FittedCost, ...]
    errors: tuple[PredictionError, ...]
    fitted: int
    """Requests; the others are held out."""
    queued: int
    """Of the fitted ones, those that had to wait for others, as predicted."""
    simulations: int


def calibrate(requests: Sequence[MeasuredRequest], limits: EngineTiming, share: float = 0.5) -> Calibration:
    """`requests` in order of arrival, of which the first `share` is fitted (0 < share <= 1), and of these at most
    `MOST_FITTED`. Of `limits` the costs are not looked at. UsageError for too few requests, and for one that was served
    although the limits say that it cannot be."""
    for request in requests:
        if not limits.fits(request.prompt_tokens, max(1, request.output_tokens)):
            raise UsageError(
                f"a request of {request.prompt_tokens:,} and {request.output_tokens:,} tokens was served, which an "
                "engine with these settings refuses; give the settings it ran with"
            )
    count = min(round(len(requests) * share), MOST_FITTED)
    fitted = _Fitted(requests[:count], requests, limits)
    best, spreads = _fit(fitted)
    timing = replace(limits, **dict.fromkeys(COSTS, 0.0) | best.costs)
    engine = CountingEngine(timing)
    predicted = run(requests, engine)
    return Calibration(
        timing,
        tuple(_costs(best.costs, spreads)),
        tuple(_errors(requests, predicted, count)),
        count,
        _queued(predicted, count, engine.longest_step_s),
        fitted.simulations + 1,
    )


def run(requests: Sequence[MeasuredRequest], engine: Engine) -> Moments:
    """All of them at one engine, to their ends. Where it is not known what was cached, nothing was."""
    moments = Moments()
    columns = {"scheduled": moments.scheduled, "first token": moments.first_token, "end": moments.end}
    for number, request in enumerate(requests):
        for moment, kind, of in engine.until(request.arrived_s):
            columns[kind][of] = moment
        moments.add(request.arrived_s, request.arrived_s)
        new_tokens = request.prompt_tokens - (request.cached_tokens or 0)
        engine.arrive(number, request.arrived_s, request.prompt_tokens, new_tokens, request.output_tokens)
    for moment, kind, of in engine.until(inf):
        columns[kind][of] = moment
    return moments


class _Tried(NamedTuple):
    """Costs, and how far the times they lead to are from those that were measured."""

    loss: float
    costs: dict[str, float]
    residuals: list[float]
    """Logarithms of predicted by measured, for each time."""
    rows: list[Work]
    """What the engine computed in each time, by that time."""


class _Fitted:
    """Requests to be fitted, among those that have an influence on them."""

    def __init__(
        self, fitted: Sequence[MeasuredRequest], requests: Sequence[MeasuredRequest], limits: EngineTiming
    ) -> None:
        known = sum(_positive(request.ttft_s) for request in fitted)
        if known < FEWEST:
            raise UsageError(
                f"{known} of the {len(fitted):,} requests to be fitted have a known time to first token; a fit needs "
                f"{FEWEST}"
            )
        last = max(request.arrived_s + (request.total_s or request.ttft_s or 0.0) for request in fitted)
        self._requests = fitted
        self._arriving = [request for request in requests if request.arrived_s <= last]
        self._limits = limits
        self.simulations = 0

    def fit(self, names: Sequence[str], start: dict[str, float]) -> _Tried:
        """The schedule that some costs lead to says what was computed in each of the measured times, and that is linear
        in the costs: these lead to the next schedule, as long as it gets better."""
        best = self._try(start)
        for _ in range(_ROUNDS):
            places = [place for place, name in enumerate(COSTS) if name in names]
            rows = [[row[place] for place in places] for row in best.rows]
            found = nonnegative(rows, [1.0] * len(rows), weights(best.residuals))
            aim = dict(zip((list(COSTS)[place] for place in places), found, strict=True))
            aim["step_s"] = max(aim["step_s"], start["step_s"] / 100)
            tried = min((self._try(_between(best.costs, aim, share)) for share in _SHARES), key=lambda one: one.loss)
            if tried.loss >= best.loss * (1 - _GAIN):
                break
            best = tried
        return self._along_each(best)

    def _along_each(self, best: _Tried) -> _Tried:
        reach = 0.1
        while reach > _FINEST:
            before = best
            for name in best.costs:
                for factor in (1 + reach, 1 / (1 + reach)):
                    tried = self._try(best.costs | {name: best.costs[name] * factor})
                    if tried.loss < best.loss:
                        best = tried
                        break
            if best is before:
                reach /= 2
        return best

    def _try(self, costs: dict[str, float]) -> _Tried:
        self.simulations += 1
        engine = CountingEngine(replace(self._limits, **dict.fromkeys(COSTS, 0.0) | costs))
        moments = run(self._arriving, engine)
        residuals, rows = [], []
        for request, first, end in zip(self._requests, moments.first_token, moments.end, strict=False):
            for start, stop, measured in (
                (request.arrived_s, first, request.ttft_s or 0.0),
                (first, end, _decoding(request)),
            ):
                if measured > 0:
                    residuals.append(log((stop - start) / measured))
                    rows.append(tuple(one / measured for one in engine.work(start, stop)))
        return _Tried(loss(residuals), costs, residuals, rows)

    def start(self) -> dict[str, float]:
        """Of about the right size, from the quickest requests."""
        requests = [request for request in self._requests if _positive(request.ttft_s)]
        new = [max(1, request.prompt_tokens - (request.cached_tokens or 0)) for request in requests]
        token = quantile([(one.ttft_s or 0.0) / count for one, count in zip(requests, new, strict=True)], 0.1)
        gaps = [_decoding(one) / (one.output_tokens - 1) for one in requests if _decoding(one) > 0]
        return {"step_s": quantile(gaps, 0.1) if gaps else token * median(new) / 2, "prefill_token_s": token / 2}


def _between(one: dict[str, float], other: dict[str, float], share: float) -> dict[str, float]:
    return {name: (1 - share) * one.get(name, 0.0) + share * value for name, value in other.items()}


def _fit(fitted: _Fitted) -> tuple[_Tried, dict[str, float]]:
    """With the relative standard error of each cost. The least certain one is left out, and again."""
    names, start = list(COSTS), fitted.start()
    while True:
        best = fitted.fit(names, start)
        names = list(best.costs)
        places = [list(COSTS).index(name) for name in names]
        errors = standard_errors([[row[place] for place in places] for row in best.rows], best.residuals)
        found = zip(names, errors, best.costs.values(), strict=True)
        spreads = {name: error / cost if cost else inf for name, error, cost in found}
        loose = [name for name in _DROPPED if spreads.get(name, 0.0) >= _LOOSEST]
        if not loose:
            return best, spreads
        names.remove(loose[0])
        start = {name: cost for name, cost in best.costs.items() if name in names}


def _costs(costs: dict[str, float], spreads: dict[str, float]) -> Iterator[FittedCost]:
    for name, text in COSTS.items():
        value, spread = costs.get(name, 0.0), spreads.get(name, inf)
        known = spread < inf
        yield FittedCost(
            name=name,
            text=text,
            seconds=value,
            low=max(0.0, value * (1 - 1.96 * spread)) if known else None,
            high=value * (1 + 1.96 * spread) if known else None,
            determined=spread < _LOOSEST,
        )


def _errors(requests: Sequence[MeasuredRequest], predicted: Moments, fitted: int) -> Iterator[PredictionError]:
    for part, numbers in (("fitted", range(fitted)), ("held out", range(fitted, len(requests)))):
        ttfts = [(requests[n].ttft_s, predicted.first_token[n] - requests[n].arrived_s) for n in numbers]
        totals = [(requests[n].total_s, predicted.end[n] - requests[n].arrived_s) for n in numbers]
        for figure, pairs in (("ttft", ttfts), ("end to end", totals)):
            known = [(seen, told) for seen, told in pairs if seen is not None and _positive(seen) and not isnan(told)]
            if known:
                yield from _compared(part, figure, [seen for seen, _ in known], [told for _, told in known])


def _compared(part: str, figure: str, seen: Sequence[float], told: Sequence[float]) -> Iterator[PredictionError]:
    def error(statistic: str, measured: float | None, predicted: float | None, off: float) -> PredictionError:
        return PredictionError(
            part=part,
            figure=figure,
            statistic=statistic,
            n=len(seen),
            measured_s=measured,
            predicted_s=predicted,
            error=off,
        )

    pairs = [("mean", fsum(seen) / len(seen), fsum(told) / len(told))]
    pairs += [(name, quantile(seen, share), quantile(told, share)) for name, share in _QUANTILES]
    for name, measured, predicted in pairs:
        yield error(name, measured, predicted, predicted / measured - 1)
    yield error("one request", None, None, median([abs(b / a - 1) for a, b in zip(seen, told, strict=True)]))


def _queued(predicted: Moments, fitted: int, longest_step_s: float) -> int:
    """Who waits for more than the rest of a step and a further one waits for others."""
    waits = zip(predicted.arrived[:fitted], predicted.scheduled[:fitted], strict=True)
    return sum(scheduled - arrived > 2 * longest_step_s for arrived, scheduled in waits)


def _decoding(request: MeasuredRequest) -> float:
    """Seconds from the first token to the last, 0 where not known."""
    if request.ttft_s is None or request.total_s is None or request.output_tokens < 2:
        return 0.0
    return request.total_s - request.ttft_s


def _positive(seconds: float | None) -> bool:
    return seconds is not None and seconds > 0
