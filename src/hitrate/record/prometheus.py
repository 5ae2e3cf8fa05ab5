"""`/metrics`: what was recorded, as Prometheus text (https://prometheus.io/docs/instrumenting/exposition_formats/).

Counted from the calls as they are taken in, without explaining them. Sums and no ratios, so that they add up over time
and over recorders: the hit rate is `hitrate_tokens_total{kind="cached"}` over `hitrate_reporting_prompt_tokens_total`,
the prompt tokens of the calls that report.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from msgspec import Struct

from hitrate.core.model import Call
from hitrate.record.warmth import is_warm

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

TTFT_BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

MOST_SERIES = 200
"""Pairs of target and model that are counted apart; further models are counted as `OTHER`."""

OTHER = "other"

_KINDS = ("prompt", "cached", "written", "output")
_OUTCOMES = ("answered", "refused", "failed")
_CACHES = ("cold", "warm", "unknown")


class Gauges(Struct, frozen=True, kw_only=True):
    """What only the recorder knows; what it does not know is left out of the text."""

    not_recorded: int | None = None
    """Exchanges that were carried and could not be kept."""
    journal_bytes: int | None = None
    """Waiting to be taken in."""


class _Series:
    """Of one target and model."""

    __slots__ = ("not_reporting", "outcomes", "reporting_prompt", "tokens", "ttft_counts", "ttft_sums")

    def __init__(self) -> None:
        self.outcomes = dict.fromkeys(_OUTCOMES, 0)
        self.tokens = dict.fromkeys(_KINDS, 0)
        self.reporting_prompt = self.not_reporting = 0
        self.ttft_counts = {cache: [0] * (len(TTFT_BUCKETS_S) + 1) for cache in _CACHES}
        self.ttft_sums = dict.fromkeys(_CACHES, 0.0)


class Counters:
    """`add` may be called from one thread and `text` from another."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, str], _Series] = {}

    def add(self, call: Call) -> None:
        series = self._of(call.target, call.model or "")
        status = call.status or 0
        series.outcomes["refused" if status >= 400 else "failed" if call.error is not None else "answered"] += 1
        usage = call.usage
        if not usage.accounting_fault:
            series.tokens["prompt"] += usage.prompt_tokens or 0
            series.tokens["written"] += usage.written_tokens or 0
            series.tokens["output"] += usage.output_tokens or 0
            if usage.prompt_tokens is not None and usage.cached_tokens is not None:
                series.tokens["cached"] += usage.cached_tokens
                series.reporting_prompt += usage.prompt_tokens
        series.not_reporting += usage.hit_rate is None
        if call.timing is not None and call.timing.ttft_s is not None:
            warm = is_warm(usage)
            cache = "unknown" if warm is None else "warm" if warm else "cold"
            series.ttft_counts[cache][bisect_left(TTFT_BUCKETS_S, call.timing.ttft_s)] += 1
            series.ttft_sums[cache] += call.timing.ttft_s

    def text(self, gauges: Gauges | None = None) -> str:
        return "\n".join(self._lines(gauges or Gauges())) + "\n"

    def _of(self, target: str, model: str) -> _Series:
        found = self._series.get((target, model))
        if found is None and len(self._series) >= MOST_SERIES:
            target, model = OTHER, OTHER
            found = self._series.get((target, model))
        if found is None:
            found = self._series[target, model] = _Series()
        return found

    def _lines(self, gauges: Gauges) -> Iterator[str]:
        listed = [(_labels(target=target, model=model), one) for (target, model), one in list(self._series.items())]
        yield from _head("hitrate_requests_total", "counter", "Calls recorded, by how they ended.")
        for labels, one in listed:
            for outcome, count in one.outcomes.items():
                yield f'hitrate_requests_total{{{labels},outcome="{outcome}"}} {count}'
        yield from _head("hitrate_tokens_total", "counter", "Tokens as reported; cached and written are of the prompt.")
        for labels, one in listed:
            for kind, count in one.tokens.items():
                yield f'hitrate_tokens_total{{{labels},kind="{kind}"}} {count}'
        for name, help_text, attribute in (
            ("reporting_prompt_tokens", "Prompt tokens of the calls that report cached tokens.", "reporting_prompt"),
            ("requests_not_reporting", "Calls that report no cached tokens.", "not_reporting"),
        ):
            yield from _head(f"hitrate_{name}_total", "counter", help_text)
            for labels, one in listed:
                yield f"hitrate_{name}_total{{{labels}}} {getattr(one, attribute)}"
        yield from _head(
            "hitrate_ttft_seconds", "histogram", "Request written to first token; warm: half of it or more was cached."
        )
        for labels, one in listed:
            for cache in _CACHES:
                yield from _histogram(f'{labels},cache="{cache}"', one.ttft_counts[cache], one.ttft_sums[cache])
        if gauges.not_recorded is not None:
            yield from _head(
                "hitrate_exchanges_not_recorded_total", "counter", "Exchanges carried that could not be kept."
            )
            yield f"hitrate_exchanges_not_recorded_total {gauges.not_recorded}"
        if gauges.journal_bytes is not None:
            yield from _head("hitrate_journal_bytes", "gauge", "Bytes of exchanges that wait to be taken in.")
            yield f"hitrate_journal_bytes {gauges.journal_bytes}"


def _head(name: str, kind: str, help_text: str) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"


def _histogram(labels: str, counts: list[int], total: float) -> Iterator[str]:
    up_to = list(accumulate(counts))
    if not up_to[-1]:
        return
    for bound, count in zip((*(f"{one:g}" for one in TTFT_BUCKETS_S), "+Inf"), up_to, strict=True):
        yield f'hitrate_ttft_seconds_bucket{{{labels},le="{bound}"}} {count}'
    yield f"hitrate_ttft_seconds_sum{{{labels}}} {total:.6f}"
    yield f"hitrate_ttft_seconds_count{{{labels}}} {up_to[-1]}"


def _labels(**values: str) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items())


def _escaped(value: str) -> str:
    """Names come from others: a lone surrogate, which UTF-8 cannot hold, becomes a question mark."""
    value = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return value.encode("utf-8", "replace").decode()
