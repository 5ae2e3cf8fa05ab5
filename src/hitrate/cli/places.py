"""Where the blocks of a request end and which of them are marked: what some cache rules need beside the tokens.

The practice server reads requests in the same way, so that a prediction and what it serves cannot disagree on places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hitrate.caches.rules import RuleSet
from hitrate.core.model import Call
from hitrate.serve.practice.breakpoints import cache_keywords
from hitrate.serve.practice.caches import lifetimes
from hitrate.serve.practice.options import PracticeOptions
from hitrate.serve.practice.wire import Refused
from hitrate.serve.practice.wires import make_wire
from hitrate.targets.dialects.interface import Dialect

PlacesOf = Callable[[Call, Sequence[int]], Mapping[str, Any]]
"""Keywords of the cache model's `begin`, from a call and the token positions where its prompt's segments end."""


def can_place(rule: RuleSet) -> bool:
    """Whether requests tell all that the rule needs. Named objects hold tokens that no request shows."""
    return rule.needs_places and rule.model != "objects"


def places_by(rule: RuleSet, dialect: Dialect) -> PlacesOf:
    """Reads places for a rule that `can_place`. A body that the wire does not know has none."""
    wire = make_wire(dialect.name, None)
    seconds = lifetimes(PracticeOptions(rule=rule.name))

    def places(call: Call, ends: Sequence[int]) -> Mapping[str, Any]:
        path, _, query = dialect.request_path(call.model or "unknown", stream=True).partition("?")
        match = re.fullmatch(wire.path, path)
        if match is None:  # a model of an odd name
            return {}
        asked = dict(pair.split("=", 1) for pair in query.split("&") if pair)
        try:
            request = wire.read(call.body, {**asked, **match.groupdict()})
            return cache_keywords(rule.model, request, ends, seconds)
        except Refused:
            return {}

    return places
