"""A trace replayed: what caches of these sizes and rules serve of it. The one way that commands and tests take.

`wanted` is what was asked for and the points that this makes, `replaying` replays points over a trace, `rows` tells
what came of them. The caches themselves are pure (`hitrate.sim`).
"""

from __future__ import annotations

from hitrate.simulating.simulate import simulate
from hitrate.simulating.wanted import Last, Wanted

__all__ = ["Last", "Wanted", "simulate"]
