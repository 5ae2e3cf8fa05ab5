"""What the proxy has done since it started: numbers, nothing else."""

from __future__ import annotations

from msgspec import Struct


class Counters(Struct):
    """One per proxy, changed in place. `as_dict` of it (`msgspec.to_builtins`) is what /metrics is made of."""

    requests: int = 0
    """Passed on or refused here; the proxy's own pages are none."""
    in_flight: int = 0
    refused: int = 0
    """Answered here: no token, no upstream, not HTTP."""
    upstream_errors: int = 0
    """Unreachable, no answer, a cut answer."""
    aborts: int = 0
    """The client went away first."""
    resent: int = 0
    """Sent a second time because a kept connection turned out to be closed."""
    connections_opened: int = 0
    bytes_from_clients: int = 0
    bytes_to_clients: int = 0
    recorded: int = 0
    not_recorded: dict[str, int] = {}
    """By reason."""

    def skip(self, reason: str) -> None:
        self.not_recorded[reason] = self.not_recorded.get(reason, 0) + 1
