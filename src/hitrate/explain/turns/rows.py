"""Calls and expectations in, rows of a result out."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hitrate.core.model import Call
from hitrate.core.results import Aggregate, BenchCall, BenchRow, PadRow, TurnRow
from hitrate.core.statistics import bootstrap_median_ratio, median, quantile
from hitrate.explain.turns.states import HEAD_SHARE, state_of


class Expected(Struct, frozen=True):
    """What the cache rule predicts for one call, and what it shares with any call sent before it: the most that a cache
    of unlimited size, granularity 1 and no delay could serve."""

    cached_tokens: int | None = None
    shared_tokens: int | None = None


class RuleFacts(Struct, frozen=True, kw_only=True):
    """`granularity` is the unit in which tokens are credited; `slack_tokens` by how much an estimated expectation may
    be off, 0 where it is exact."""

    minimum_tokens: int = 0
    granularity: int = 1
    slack_tokens: int = 0
    published: bool = True
    """False where no rule is known and the expectation is what the best of caches could serve."""


def milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000.0, 3)


def reported_cached(call: Call) -> int | None:
    """The engine's figure, or None where it is missing or more than the prompt (an accounting fault)."""
    return None if call.usage.accounting_fault else call.usage.cached_tokens


def prefill_ms(call: Call) -> float | None:
    """The engine's own prefill time, where its reply carries one."""
    timings = (call.reply.server_timings if call.reply else None) or {}
    value = timings.get("prompt_ms")
    if isinstance(value, (int, float)):
        return round(float(value), 3)
    value = timings.get("prompt_time")
    return round(float(value) * 1000.0, 3) if isinstance(value, (int, float)) else None


def error_with_status(call: Call) -> str:
    """The call's error with the HTTP status that it came with, which servers' own words leave out."""
    said = call.error or ""
    if call.status is None or call.status < 400 or said.startswith(f"HTTP {call.status}"):
        return said
    return f"HTTP {call.status}: {said}" if said else f"HTTP {call.status}"


def _note(call: Call) -> str | None:
    notes = []
    if call.error:
        notes.append(error_with_status(call))
    if call.usage.accounting_fault:
        notes.append(f"accounting fault: {call.usage.cached_tokens} cached of {call.usage.prompt_tokens} prompt tokens")
    if call.waits:
        tries = "try" if len(call.waits) == 1 else "tries"
        notes.append(f"waited {sum(call.waits):.1f} s before {len(call.waits)} more {tries}")
    return "; ".join(notes) or None


def _state(call: Call, expected: Expected, facts: RuleFacts) -> str:
    """A reply that is not whole is a failed call too; the counts that came with it stay in its row."""
    return state_of(
        prompt_tokens=call.usage.prompt_tokens,
        cached_tokens=reported_cached(call),
        expected_cached_tokens=expected.cached_tokens,
        failed=call.reply is None or call.error is not None,
        minimum_tokens=facts.minimum_tokens,
        slack_tokens=facts.slack_tokens,
    )


def _ttft_ms(call: Call) -> float | None:
    return None if call.timing is None else milliseconds(call.timing.ttft_s)


def turn_row(call: Call, expected: Expected, facts: RuleFacts, *, run: str, session: int) -> TurnRow:
    return TurnRow(
        run=run,
        session=session,
        turn=call.turn,
        prompt_tokens=call.usage.prompt_tokens,
        cached_tokens=reported_cached(call),
        expected_cached_tokens=expected.cached_tokens,
        hit_rate=call.usage.hit_rate,
        ttft_ms=_ttft_ms(call),
        state=_state(call, expected, facts),
        output_tokens=call.usage.output_tokens,
        total_ms=None if call.timing is None else milliseconds(call.timing.total_s),
        prefill_ms=prefill_ms(call),
        note=_note(call),
    )


def aggregate(rows: Sequence[TurnRow]) -> Aggregate:
    """Sums over the rows that report; the hit rate is a ratio of sums, not a mean of ratios."""
    counted = [row for row in rows if row.hit_rate is not None]
    prompt = sum(row.prompt_tokens or 0 for row in counted)
    cached = sum(row.cached_tokens or 0 for row in counted)
    failed = sum(row.state == "failed" for row in rows)
    cold = [row.ttft_ms for row in rows if row.state == "cold" and row.ttft_ms is not None]
    warm = [row.ttft_ms for row in rows if row.state == "hit" and row.ttft_ms is not None]
    return Aggregate(
        prompt_tokens=prompt if counted else None,
        cached_tokens=cached if counted else None,
        hit_rate=cached / prompt if prompt else None,
        not_reported=sum(row.hit_rate is None and row.state != "failed" for row in rows),
        calls=len(rows),
        failed=failed,
        ttft_cold_p50_ms=median(cold) if cold else None,
        ttft_warm_p50_ms=median(warm) if warm else None,
    )


def pad_row(pad_tokens: int, second: Call, expected: Expected) -> PadRow:
    return PadRow(
        pad_tokens=pad_tokens,
        prompt_tokens=second.usage.prompt_tokens,
        cached_tokens=reported_cached(second),
        expected_cached_tokens=expected.cached_tokens,
    )


def bench_row(
    order: str, shape: str, calls: Sequence[Call], expected: Sequence[Expected], facts: RuleFacts
) -> tuple[BenchRow, list[str]]:
    """One row from the calls of one order and shape, in the order sent, and the warnings it deserves.

    A call labelled ".../cold" is an interleaved cold one. The first whole reply is the cold one, whatever its number,
    and failed calls are in no time. Call 2 is set apart as warm-up when it missed and the calls
    behind it hit: some rules store a shared opening only once they have seen it twice.
    """
    entries = [(call, wish, call.label.endswith("/cold")) for call, wish in zip(calls, expected, strict=True)]
    whole = [call for call, _, cold in entries if not cold and _whole(call)]
    warm_up = _second_is_warm_up(whole)
    made = []
    for call, wish, cold in entries:
        role = "cold" if cold else "first" if whole and call is whole[0] else "warm"
        if warm_up and call is whole[1]:
            role = "warm-up"
        made.append(_bench_call(call, wish, facts, role))
    first = next((call.ttft_ms for call in made if call.role == "first"), None)
    rest = _times(made, "warm")
    cold_ttfts = _times(made, "cold")
    rest_p50 = median(rest) if rest else None
    counted = [c for c in made if c.role == "warm" and c.state != "failed" and c.hit_rate is not None]
    prompt = sum(call.prompt_tokens or 0 for call in counted)
    cached = sum(call.cached_tokens or 0 for call in counted)
    row = BenchRow(
        order=order,
        shape=shape,
        first_ms=first,
        rest_p50_ms=rest_p50,
        rest_p95_ms=quantile(rest, 0.95) if rest else None,
        speedup_x=round(first / rest_p50, 3) if first is not None and rest_p50 else None,
        cold_p50_ms=median(cold_ttfts) if cold_ttfts else None,
        cold_speedup=bootstrap_median_ratio(cold_ttfts, rest, seed=0)
        if len(cold_ttfts) > 1 and len(rest) > 1
        else None,
        prompt_tokens=round(prompt / len(counted)) if counted else None,
        cached_tokens=round(cached / len(counted)) if counted else None,
        hit_rate=cached / prompt if prompt else None,
        calls=tuple(made),
    )
    return row, _bench_warnings(row, warm_up)


def _whole(call: Call) -> bool:
    return call.reply is not None and call.error is None


def _times(calls: Sequence[BenchCall], role: str) -> list[float]:
    return [c.ttft_ms for c in calls if c.role == role and c.state != "failed" and c.ttft_ms is not None]


def _second_is_warm_up(whole: Sequence[Call]) -> bool:
    if len(whole) < 4:
        return False
    second, *later = [call.usage.hit_rate for call in whole[1:]]
    known = [rate for rate in later if rate is not None]
    if second is None or len(known) < 2:
        return False
    return second <= HEAD_SHARE and sum(rate > 0.5 for rate in known) >= 0.8 * len(known)


def _bench_call(call: Call, wish: Expected, facts: RuleFacts, role: str) -> BenchCall:
    return BenchCall(
        call=call.turn,
        role=role,
        ttft_ms=_ttft_ms(call),
        prompt_tokens=call.usage.prompt_tokens,
        cached_tokens=reported_cached(call),
        expected_cached_tokens=wish.cached_tokens,
        state="warm-up" if role == "warm-up" else _state(call, wish, facts),
        hit_rate=call.usage.hit_rate,
        prefill_ms=prefill_ms(call),
        total_ms=None if call.timing is None else milliseconds(call.timing.total_s),
        note=_note(call),
    )


def _bench_warnings(row: BenchRow, warm_up: bool) -> list[str]:
    warnings = []
    name = row.order if row.shape == "opening" else f"{row.order}, {row.shape}"
    first = next((call for call in row.calls if call.role == "first"), None)
    if first is not None and first.call > 1:
        warnings.append(f"{name}: call {first.call} is the first that was answered, so first_ms is its time")
    if first is not None and first.hit_rate is not None and first.hit_rate > 0.2:
        warnings.append(
            f"{name}: the server was already warm, call {first.call} was served {first.cached_tokens:,} of "
            f"{first.prompt_tokens:,} tokens from cache; first_ms is not a cold time. Leave --cold at auto."
        )
    if warm_up:
        warnings.append(
            f"{name}: call 2 was not served from cache but later calls were: this rule stores a shared opening "
            "only once it has been seen twice. Call 2 is not averaged into rest_p50."
        )
    unreported = sum(call.state == "not reported" for call in row.calls)
    if unreported:
        warnings.append(f"{name}: cached tokens not reported on {unreported} of {len(row.calls)} calls")
    failed = sum(call.state == "failed" for call in row.calls)
    if failed:
        warnings.append(f"{name}: {failed} of {len(row.calls)} calls failed and are left out of the times")
    if row.first_ms is not None and row.cold_p50_ms and not 0.67 < row.first_ms / row.cold_p50_ms < 1.5:
        warnings.append(
            f"{name}: the first call took {row.first_ms:,.0f} ms, cold calls during the run {row.cold_p50_ms:,.0f} ms: "
            "the load changed while measuring; trust the interleaved cold calls, or measure on a quieter machine."
        )
    return warnings
