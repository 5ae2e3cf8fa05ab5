"""What a probe has to provide. One file a probe beside this one; `registry` lists them."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from hitrate.core.probe_results import Answer
from hitrate.live.probes.lab import Lab


class Most(Struct, frozen=True, kw_only=True):
    """What a probe takes at most: calls, their mean prompt tokens, and seconds in which nothing is sent."""

    calls: int
    tokens_each: int
    waits_s: float = 0.0


class Probe(Protocol):
    """Each module defines its probe as `PROBE`. `run` may read and set `lab.found`; it raises `CannotTell` where there
    is no answer, and lets everything else through."""

    name: str
    question: str

    def most(self, waits_s: float) -> Most:
        """For a run that may wait `waits_s` seconds in all."""
        ...

    async def run(self, lab: Lab) -> list[Answer]: ...
