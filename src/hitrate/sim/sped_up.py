"""A trace whose requests come so many times as fast: the same prompts under another load."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from math import isnan

from hitrate.core.records import Records
from hitrate.core.trace import Chunk, Trace
from hitrate.errors import UsageError


class SpedUp:
    """`rate` 2 is twice the load in half the time. Lifetimes of caches stay what they are."""

    def __init__(self, trace: Trace, rate: float) -> None:
        self.facts = trace.facts
        self._trace = trace
        self._rate = rate

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self._trace.chunks():
            if any(map(isnan, chunk.at_s)):
                raise UsageError("--rate needs the time of every request, which this trace does not have")
            yield chunk._replace(at_s=array("d", (at_s / self._rate for at_s in chunk.at_s)))

    def records(self) -> Records:
        return self._trace.records()
