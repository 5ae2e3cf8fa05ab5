"""Two results of the same conversation side by side: where they part, and whether the step of a cache explains it.

A cache that credits in steps (blocks, units) may lose up to one step on every call and still reuse everything it
can. A shortfall below one step of the side that is short is therefore called granularity, anything above it missed
reuse. Targets count tokens differently, so what is compared is the hit rate: a side is short by the tokens that the
other side's hit rate would have given on its own prompt.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from hitrate.core.results import SCHEMA_VERSION, BenchResult, TestResult

REASONS = (
    "equal",
    "granularity",
    "missed reuse",
    "cache rule",
    "too short",
    "already warm",
    "step not known",
    "not reported",
    "failed",
    "only in A",
    "only in B",
)

LEAST_COUNTS_FOR_A_STEP = 5
"""Distinct cached counts needed before their common divisor is taken for the step, since a step taken too large would
excuse missed reuse: multiples of a step, n of them, have a larger divisor in common by chance with a probability of
1 - 1/zeta(n), 17 % for 3 and 3.6 % for 5."""
LEAST_COUNTS_WITH_GAPS = 3
"""Enough where it is also known how much of a shared prefix was not credited: the smallest divisor above the largest
such gap is the smallest step that explains them all."""


class Side(Struct, frozen=True, kw_only=True):
    """One of the two results. `hit_rate` is over the calls that both sides report."""

    target: str
    model: str | None
    run_id: str | None
    rule_set: str | None
    prompt_tokens: int | None
    cached_tokens: int | None
    hit_rate: float | None
    granularity: int | None
    granularity_basis: str | None
    """"run" if the run measured its step, "rule" if the rule that predicts it exactly has it, "counts" if it is the
    common divisor of its cached counts."""


class ComparedCall(Struct, frozen=True, kw_only=True):
    """One call on both sides. Differences are B minus A. `reason` is one of `REASONS`, `text` says it in words."""

    run: str
    session: int
    turn: int
    prompt_tokens_a: int | None
    prompt_tokens_b: int | None
    cached_tokens_a: int | None
    cached_tokens_b: int | None
    hit_rate_a: float | None
    hit_rate_b: float | None
    hit_rate_difference: float | None
    ttft_a_ms: float | None
    ttft_b_ms: float | None
    ttft_difference_ms: float | None
    short_by_tokens: int | None
    """Tokens the side with the lower hit rate would have to have been credited more, in its own count."""
    reason: str
    text: str


class Comparison(Struct, frozen=True, kw_only=True):
    """`of` is the kind of both results. `missed_tokens` is what granularity cannot explain of the shortfall."""

    schema_version: int = SCHEMA_VERSION
    kind: str = "compare"
    of: str
    a: Side
    b: Side
    calls: tuple[ComparedCall, ...]
    hit_rate_difference: float | None
    granularity_tokens: int
    missed_tokens: int
    reason: str
    text: str
    warnings: tuple[str, ...] = ()


class _Seen(Struct, frozen=True):
    """What one side says about one call, whichever kind of result it comes from."""

    prompt_tokens: int | None
    cached_tokens: int | None
    hit_rate: float | None
    ttft_ms: float | None
    state: str
    expected_cached_tokens: int | None = None


def compare(a: TestResult | BenchResult, b: TestResult | BenchResult) -> Comparison:
    """Pair the calls of two results of one kind. Raises ValueError, one line, for results of different kinds."""
    if a.kind != b.kind:
        raise ValueError(f"a {a.kind} run cannot be compared with a {b.kind} run: run the same command on both targets")
    seen_a, seen_b = _seen(a), _seen(b)
    step_a, basis_a = _granularity(a, seen_a.values())
    step_b, basis_b = _granularity(b, seen_b.values())
    keys = [*seen_a, *(key for key in seen_b if key not in seen_a)]
    calls = tuple(
        _compared(key, seen_a.get(key), seen_b.get(key), step_a, step_b, first=key == keys[0]) for key in keys
    )
    both = [call for call in calls if call.hit_rate_a is not None and call.hit_rate_b is not None]
    side_a = _side(a, step_a, basis_a, [(call.prompt_tokens_a, call.cached_tokens_a) for call in both])
    side_b = _side(b, step_b, basis_b, [(call.prompt_tokens_b, call.cached_tokens_b) for call in both])
    granularity_tokens = sum(call.short_by_tokens or 0 for call in calls if call.reason == "granularity")
    missed_tokens = sum(call.short_by_tokens or 0 for call in calls if call.reason == "missed reuse")
    reason, text = _in_sum(side_a, side_b, calls, granularity_tokens, missed_tokens)
    return Comparison(
        of=a.kind,
        a=side_a,
        b=side_b,
        calls=calls,
        hit_rate_difference=_minus(side_b.hit_rate, side_a.hit_rate),
        granularity_tokens=granularity_tokens,
        missed_tokens=missed_tokens,
        reason=reason,
        text=text,
        warnings=_warnings(calls),
    )


def _seen(result: TestResult | BenchResult) -> dict[tuple[str, int, int], _Seen]:
    if isinstance(result, TestResult):
        rows: Iterable[tuple[tuple[str, int, int], Any]] = (
            ((row.run, row.session, row.turn), row) for row in result.turns
        )
    else:
        rows = (
            ((f"{row.order} {row.shape}{' cold' if call.role == 'cold' else ''}", 1, call.call), call)
            for row in result.rows
            for call in row.calls
        )
    return {
        key: _Seen(
            row.prompt_tokens,
            row.cached_tokens,
            _rate(row.prompt_tokens, row.cached_tokens),
            row.ttft_ms,
            row.state,
            row.expected_cached_tokens,
        )
        for key, row in rows
    }


def _granularity(result: TestResult | BenchResult, seen: Iterable[_Seen]) -> tuple[int | None, str | None]:
    if isinstance(result, TestResult) and result.verdict.granularity:
        return result.verdict.granularity, "run"
    if result.expectation.basis == "exact" and result.expectation.granularity:
        return result.expectation.granularity, "rule"
    # A cold call may still report the few tokens of the chat template's head, which are no multiple of the step.
    warm = [row for row in seen if row.state != "cold" and row.cached_tokens is not None and row.cached_tokens > 0]
    counts = {row.cached_tokens or 0 for row in warm}
    if isinstance(result, TestResult):
        counts |= {row.cached_tokens for row in result.pad if row.cached_tokens and row.cached_tokens > 0}
    # Without a rule the expectation is the whole shared prefix, to the token.
    gaps = [
        row.expected_cached_tokens - (row.cached_tokens or 0)
        for row in warm
        if row.expected_cached_tokens is not None and result.expectation.granularity is None
    ]
    if gaps and len(counts) >= LEAST_COUNTS_WITH_GAPS:
        common = math.gcd(*counts)
        step = next((step for step in range(max(1, *gaps, 0) + 1, common + 1) if common % step == 0), None)
        return (step, "counts") if step is not None else (None, None)
    if len(counts) < LEAST_COUNTS_FOR_A_STEP:
        return None, None
    return math.gcd(*counts), "counts"


def _compared(
    key: tuple[str, int, int],
    a: _Seen | None,
    b: _Seen | None,
    step_a: int | None,
    step_b: int | None,
    *,
    first: bool,
) -> ComparedCall:
    run, session, turn = key
    rate_a = a.hit_rate if a else None
    rate_b = b.hit_rate if b else None
    short_by = None
    if a is None or b is None:
        name = "A" if b is None else "B"
        reason, text = f"only in {name}", f"only {name} has this call"
    elif "failed" in (a.state, b.state):
        reason, text = "failed", f"the call failed on {_which(a.state == 'failed', b.state == 'failed')}"
    elif rate_a is None or rate_b is None:
        reason, text = "not reported", f"no cached tokens reported by {_which(rate_a is None, rate_b is None)}"
    elif a.state == b.state == "cold":
        short_by, reason, text = 0, "equal", "both cold"
    elif rate_a <= rate_b:
        short_by = _short_by(a, rate_b)
        reason, text = _why(("A", a, step_a), ("B", b), short_by, first=first)
    else:
        short_by = _short_by(b, rate_a)
        reason, text = _why(("B", b, step_b), ("A", a), short_by, first=first)
    return ComparedCall(
        run=run,
        session=session,
        turn=turn,
        prompt_tokens_a=a.prompt_tokens if a else None,
        prompt_tokens_b=b.prompt_tokens if b else None,
        cached_tokens_a=a.cached_tokens if a else None,
        cached_tokens_b=b.cached_tokens if b else None,
        hit_rate_a=rate_a,
        hit_rate_b=rate_b,
        hit_rate_difference=_minus(rate_b, rate_a),
        ttft_a_ms=a.ttft_ms if a else None,
        ttft_b_ms=b.ttft_ms if b else None,
        ttft_difference_ms=_minus(b.ttft_ms if b else None, a.ttft_ms if a else None),
        short_by_tokens=short_by,
        reason=reason,
        text=text,
    )


def _why(short: tuple[str, _Seen, int | None], full: tuple[str, _Seen], by: int, *, first: bool) -> tuple[str, str]:
    """Why `short` was credited `by` tokens fewer than the hit rate of `full` gives on its prompt."""
    name, seen, step = short
    other, other_seen = full
    if by == 0:
        return "equal", "equal"
    if first and (seen.state == "cold" or not seen.cached_tokens):
        return "already warm", f"{other} was warm before the first call: {other_seen.cached_tokens:,} tokens cached"
    if seen.state == "too short":
        return "too short", f"{name}'s prompt is below the shortest its cache stores"
    if not seen.cached_tokens:
        return "missed reuse", f"{name} reused nothing, {by:,} tokens short"
    if step is not None and by < step:
        return "granularity", f"{name} is {by:,} tokens short, less than its step of {step:,}"
    if seen.state == "hit":
        return "cache rule", f"{name} is {by:,} tokens short, as its cache rule predicts"
    if step is None:
        return "step not known", f"{name} is {by:,} tokens short; its step is not known, `test --pad` finds it"
    return "missed reuse", f"{name} is {by:,} tokens short, {by // step:,} whole steps of {step:,} or more"


def _in_sum(
    a: Side, b: Side, calls: tuple[ComparedCall, ...], granularity_tokens: int, missed_tokens: int
) -> tuple[str, str]:
    if a.hit_rate is None or b.hit_rate is None:
        return "not reported", "no call has cached tokens reported on both sides, so the hit rates cannot be compared"
    gap = f"A {100 * a.hit_rate:.1f} %, B {100 * b.hit_rate:.1f} % of prompt tokens from cache"
    explained = [call for call in calls if call.short_by_tokens]
    if missed_tokens:
        places = [call for call in calls if call.reason == "missed reuse"]
        return "missed reuse", (
            f"{gap}: {missed_tokens:,} tokens are missed reuse ({_places(places)})"
            + (f", {granularity_tokens:,} are granularity" if granularity_tokens else "")
        )
    if not explained:
        return "equal", f"{gap}: no difference"
    reasons = {call.reason for call in explained}
    if reasons == {"granularity"}:
        return "granularity", f"{gap}: every gap is smaller than one step, so this is granularity, not missed reuse"
    if "step not known" in reasons:
        return "step not known", f"{gap}: a step is not known, so granularity and missed reuse cannot be told apart"
    named = ", ".join(sorted(reasons))
    return "cache rule" if "cache rule" in reasons else min(reasons), f"{gap}: no missed reuse ({named})"


def _places(calls: list[ComparedCall]) -> str:
    shown = ", ".join(f"{call.run} session {call.session} turn {call.turn}" for call in calls[:3])
    return shown + (f" and {len(calls) - 3} more" if len(calls) > 3 else "")


def _warnings(calls: tuple[ComparedCall, ...]) -> tuple[str, ...]:
    unpaired = sum(call.reason.startswith("only in") for call in calls)
    if not unpaired:
        return ()
    return (f"{unpaired} of {len(calls)} calls exist on one side only: the runs are not the same conversation",)


def _side(
    result: TestResult | BenchResult,
    step: int | None,
    basis: str | None,
    counted: list[tuple[int | None, int | None]],
) -> Side:
    prompt_tokens = sum(prompt or 0 for prompt, _ in counted) if counted else None
    cached_tokens = sum(cached or 0 for _, cached in counted) if counted else None
    return Side(
        target=result.target,
        model=result.model,
        run_id=result.run_id,
        rule_set=result.expectation.rule_set,
        prompt_tokens=prompt_tokens,
        cached_tokens=cached_tokens,
        hit_rate=_rate(prompt_tokens, cached_tokens),
        granularity=step,
        granularity_basis=basis,
    )


def _short_by(seen: _Seen, rate: float) -> int:
    """Tokens below what `rate` gives on this prompt, rounded so that two tokenisers do not part by a rounding error."""
    return max(0, round(rate * (seen.prompt_tokens or 0)) - (seen.cached_tokens or 0))


def _rate(prompt_tokens: int | None, cached_tokens: int | None) -> float | None:
    if not prompt_tokens or cached_tokens is None or not 0 <= cached_tokens <= prompt_tokens:
        return None
    return cached_tokens / prompt_tokens


def _minus(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left - right


def _which(a: bool, b: bool) -> str:
    return "A and B" if a and b else "A" if a else "B"
