"""The engine's counts as Prometheus text (https://prometheus.io/docs/instrumenting/exposition_formats/)."""

from __future__ import annotations

from itertools import accumulate

from hitrate.serve.practice.engine import TTFT_BUCKETS_S, ReplicaCounts

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS = (
    ("requests", "Requests admitted."),
    ("prompt_tokens", "Prompt tokens of admitted requests."),
    ("cached_tokens", "Prompt tokens served from cache."),
    ("output_tokens", "Tokens of replies that were sent whole."),
)
_TTFT = "hitrate_practice_ttft_seconds"


def prometheus_text(replicas: list[ReplicaCounts]) -> str:
    lines = []
    for name, summary in _COUNTERS:
        metric = f"hitrate_practice_{name}_total"
        lines += [f"# HELP {metric} {summary}", f"# TYPE {metric} counter"]
        lines += [f'{metric}{{replica="{index}"}} {getattr(counts, name)}' for index, counts in enumerate(replicas)]
    lines += [
        f"# HELP {_TTFT} From the last byte of the request read to the first token written.",
        f"# TYPE {_TTFT} histogram",
    ]
    bounds = [*(f"{bound:g}" for bound in TTFT_BUCKETS_S), "+Inf"]
    for index, counts in enumerate(replicas):
        replica = f'replica="{index}"'
        up_to = list(accumulate(counts.ttft_counts))
        lines += [f'{_TTFT}_bucket{{{replica},le="{bound}"}} {seen}' for bound, seen in zip(bounds, up_to, strict=True)]
        lines += [f"{_TTFT}_sum{{{replica}}} {counts.ttft_sum_s:.6f}", f"{_TTFT}_count{{{replica}}} {up_to[-1]}"]
    return "\n".join(lines) + "\n"
