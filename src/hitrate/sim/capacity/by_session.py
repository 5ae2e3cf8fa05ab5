"""How far apart the hit rates of a trace's sessions lie."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from statistics import fmean, quantiles

from hitrate.core.simulation_results import SessionSpread
from hitrate.core.trace import UNKNOWN, Chunk
from hitrate.sim.capacity.definitions import Definition


class SessionTally:
    """As `Tally`, session by session."""

    def __init__(self, definition: Definition, block_tokens: int, first: int = 0) -> None:
        self._definition = definition
        self._block_tokens = block_tokens
        self._skip = first
        self._sums: dict[int, list[float]] = {}
        """Above and below the line."""

    def add(self, chunk: Chunk, served: Iterable[int]) -> None:
        definition, block_tokens = self._definition, self._block_tokens
        for session, hits, tokens, (start, end) in zip(
            chunk.sessions, served, chunk.input_tokens, pairwise(chunk.starts), strict=True
        ):
            if self._skip:
                self._skip -= 1
            elif session != UNKNOWN:
                sums = self._sums.setdefault(session, [0.0, 0.0])
                sums[0] += definition.served(hits, tokens, end - start, block_tokens)
                sums[1] += definition.whole(tokens, end - start, block_tokens)

    def add_hits(self, other: SessionTally) -> None:
        """Of other replicas that served the same requests: what is below the line is there already."""
        for session, (hits, _) in other._sums.items():
            self._sums[session][0] += hits

    def spread(self) -> SessionSpread | None:
        """None where the trace knows of no session with anything to count. Quartiles are interpolated."""
        rates = sorted(hits / whole for hits, whole in self._sums.values() if whole)
        if not rates:
            return None
        low, median, high = quantiles(rates, n=4, method="inclusive") if len(rates) > 1 else rates * 3
        return SessionSpread(
            sessions=len(rates), min=rates[0], p25=low, median=median, p75=high, max=rates[-1], mean=fmean(rates)
        )
