"""A marker with a longer lifetime behind one with a shorter lifetime."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar

from hitrate.explain.lint.interface import Flaw, Request
from hitrate.explain.signs import lifetime_s


class LifetimesOutOfOrder:
    name: ClassVar[str] = "lifetimes-out-of-order"
    about: ClassVar[str] = "A marker with a longer lifetime stands behind one with a shorter lifetime; that is refused."

    def look(self, request: Request) -> Iterator[Flaw]:
        if not request.facts.requires_marks:
            return
        usual = request.facts.ttl_s or 0.0
        for before, marker in pairwise(request.prompt.markers):
            if (lifetime_s(marker.ttl) or usual) > (lifetime_s(before.ttl) or usual):
                yield Flaw(
                    "error",
                    f"The marker at {marker.pointer} asks for a longer lifetime ({marker.ttl}) than the one in front "
                    f"of it at {before.pointer} ({before.ttl or 'the default'}).",
                    'Put the markers with "ttl": "1h" in front of those with five minutes.',
                    marker.pointer,
                )
                return
