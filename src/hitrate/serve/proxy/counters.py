"""What the proxy has done since it started: numbers, nothing else."""

from __future__ import annotations

import msgspec
from msgspec import Struct

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


class Counters(Struct):
    """One a proxy, changed in place."""

    requests: int = 0
    """Passed on to an upstream."""
    refused: int = 0
    """Answered here: no token, no upstream, not HTTP."""
    upstream_errors: int = 0
    """Unreachable, no answer, a cut answer."""
    aborts: int = 0
    """The client went away first."""
    resent: int = 0
    """Sent a second time because a kept connection turned out to be closed."""
    connections_opened: int = 0
    """To upstreams."""
    bytes_from_clients: int = 0
    bytes_to_clients: int = 0
    recorded: int = 0
    not_recorded: dict[str, int] = {}
    """By reason."""

    def skip(self, reason: str) -> None:
        self.not_recorded[reason] = self.not_recorded.get(reason, 0) + 1

    def as_metrics(self, in_flight: int) -> bytes:
        """Prometheus text (https://prometheus.io/docs/instrumenting/exposition_formats/)."""
        lines = ["# TYPE hitrate_proxy_in_flight gauge", f"hitrate_proxy_in_flight {in_flight}"]
        for name, value in msgspec.structs.asdict(self).items():
            metric = f"hitrate_proxy_{name}_total"
            lines.append(f"# TYPE {metric} counter")
            if isinstance(value, dict):
                lines += [f'{metric}{{reason="{reason}"}} {count}' for reason, count in value.items()]
            else:
                lines.append(f"{metric} {value}")
        return "\n".join([*lines, ""]).encode()
