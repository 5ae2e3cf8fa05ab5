"""The numbers behind the plots: what is drawn, before anything is drawn."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from msgspec import Struct

from hitrate.core.results import BenchCall, BenchRow, TestResult, TurnRow


class CallMark(Struct, frozen=True):
    """One call of a bench. `place` is its position on the call axis; interleaved cold calls stand between two."""

    place: float
    ttft_ms: float
    kept: bool | None
    """Whether any of the prompt came from cache; None when that is not reported."""


class CallSeries(Struct, frozen=True, kw_only=True):
    order: str
    shape: str
    calls: int
    marks: tuple[CallMark, ...]
    first_ms: float | None
    rest_p50_ms: float | None


class TurnPoint(Struct, frozen=True):
    """The hit rate of one turn over the sessions that report; `low` and `high` are the extremes among them."""

    turn: int
    rate: float
    low: float
    high: float


class TurnSeries(Struct, frozen=True, kw_only=True):
    """A turn that no session reports has no point."""

    name: str
    sessions: int
    points: tuple[TurnPoint, ...]

    def pieces(self) -> list[tuple[TurnPoint, ...]]:
        """The points cut where a turn is missing, so that no line is drawn across what is not known."""
        cuts = [i for i in range(1, len(self.points)) if self.points[i].turn != self.points[i - 1].turn + 1]
        return [self.points[start:end] for start, end in zip([0, *cuts], [*cuts, len(self.points)], strict=True)]


class TokenBar(Struct, frozen=True):
    turn: int
    prompt_tokens: int
    cached_tokens: int | None
    expected_cached_tokens: int | None


class TokenSeries(Struct, frozen=True, kw_only=True):
    name: str
    bars: tuple[TokenBar, ...]


def ttft_per_call(row: BenchRow) -> CallSeries:
    marks = tuple(
        CallMark(call.call + (0.5 if call.role == "cold" else 0.0), call.ttft_ms, _kept(call))
        for call in row.calls
        if call.ttft_ms is not None
    )
    return CallSeries(
        order=row.order,
        shape=row.shape,
        calls=max((call.call for call in row.calls), default=0),
        marks=marks,
        first_ms=row.first_ms,
        rest_p50_ms=row.rest_p50_ms,
    )


def _kept(call: BenchCall) -> bool | None:
    if call.state in ("hit", "partial"):
        return True
    return None if call.cached_tokens is None else False


def hit_rate_per_turn(result: TestResult) -> list[TurnSeries]:
    """One series for sequential, one for parallel; repeats of a run are taken together."""
    made = []
    for name, rows in _by_run(result.turns).items():
        by_turn: dict[int, list[TurnRow]] = defaultdict(list)
        for row in rows:
            if row.hit_rate is not None:
                by_turn[row.turn].append(row)
        points = []
        for turn, group in sorted(by_turn.items()):
            rates = [row.hit_rate for row in group if row.hit_rate is not None]
            prompt = sum(row.prompt_tokens or 0 for row in group)
            cached = sum(row.cached_tokens or 0 for row in group)
            points.append(TurnPoint(turn, cached / prompt if prompt else median(rates), min(rates), max(rates)))
        if points:
            sessions = len({(row.run, row.session) for row in rows})
            made.append(TurnSeries(name=name, sessions=sessions, points=tuple(points)))
    return made


def tokens_per_turn(result: TestResult) -> TokenSeries | None:
    """The first session of the first run: one conversation as it grew."""
    if not result.turns:
        return None
    first = result.turns[0]
    bars = tuple(
        TokenBar(row.turn, row.prompt_tokens, row.cached_tokens, row.expected_cached_tokens)
        for row in result.turns
        if (row.run, row.session) == (first.run, first.session) and row.prompt_tokens
    )
    return TokenSeries(name=f"{first.run}, session {first.session}", bars=bars) if bars else None


def _by_run(rows: Iterable[TurnRow]) -> dict[str, list[TurnRow]]:
    runs: dict[str, list[TurnRow]] = defaultdict(list)
    for row in rows:
        runs[row.run.partition("#")[0]].append(row)
    return runs


def ticks(highest: float, wanted: int = 4) -> list[float]:
    """Round figures from 0 to at least `highest`, at most `wanted` steps of 1, 2, 2.5 or 5 times a power of ten."""
    if highest <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(highest / wanted))
    step = next(size * power for size in (1, 2, 2.5, 5, 10) if size * power * wanted >= highest)
    return [step * number for number in range(math.ceil(highest / step) + 1)]


def axis_numbers(first: int, last: int, most: int) -> Sequence[int]:
    """About `most` whole numbers of an axis at even distances: every one, every second, or the round ones."""
    step = next(size for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**9) if (last - first) // size < most)
    if step <= 2:
        return range(first, last + 1, step)
    return [first, *(number for number in range(first + step // 2, last + 1) if number % step == 0)]
