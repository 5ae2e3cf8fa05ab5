"""Read the usage of replies that have the members of an earlier one, without looking for counts in every spelling.

Where all members of a usage are counts, it depends on their names alone which of them make up a figure, and
`Usage.sources` of the earlier reply says which: that is the plan. The exceptions are counts that contradict each other
and reasoning tokens, for which readers compare figures: such a reply has to be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hitrate.core.model import Usage
from hitrate.core.recent import Recent
from hitrate.targets.dialects.counts import MOST_TOKENS

_PLANS = 256

_HOLDERS = frozenset({"usage", "usageMetadata", "x_groq", "timings", "perf_metrics"})
"""Members of a reply that hold counts."""

_LOOKED_AT = frozenset(
    {
        "choices",
        "content",
        "output",
        "candidates",
        "steps",
        "events",
        "error",
        "object",
        "type",
        "tokens_evaluated",
        "tokens_predicted",
    }
)
"""Other members that have a say in what a reply is."""


class Shape(NamedTuple):
    """All that the way a reply is read depends on, and the counts in it, in order, which it does not depend on."""

    key: tuple[Any, ...]
    counts: list[int]


class _Plan(NamedTuple):
    wire: str
    figures: tuple[tuple[str, tuple[int, ...]], ...]
    """Names of the fields of `Usage`, each with the places of the counts that it is the sum of."""
    cached_source: str
    sources: dict[str, str]


class UsagePlans:
    """`shape` of a reply, `read` by it, and `learn` from what had to be read in the usual way."""

    def __init__(self) -> None:
        self._plans: Recent[tuple[Any, ...], _Plan] = Recent(_PLANS)

    def shape(self, response: Mapping[str, Any], named: str | None) -> Shape | None:
        """None where the way the reply is read depends on more than the names of its members."""
        if not _LOOKED_AT.isdisjoint(response):
            return None
        key: list[Any] = [named]
        counts: list[int] = []
        for name, value in response.items():
            if name in _HOLDERS:
                key.append(name)
                if not _add_shape(value, key, counts):
                    return None
        return Shape(tuple(key), counts)

    def read(self, shape: Shape) -> tuple[str, Usage] | None:
        """The wire and the usage of a reply; None where no plan is known, or its figures have to be compared."""
        plan = self._plans.get(shape.key)
        if plan is None:
            return None
        counts = shape.counts
        figures = {
            figure: counts[places[0]] if len(places) == 1 else sum([counts[place] for place in places])
            for figure, places in plan.figures
        }
        usage = Usage(**figures, cached_source=plan.cached_source, sources=plan.sources)
        return (plan.wire, usage) if _is_plain(usage) else None

    def learn(self, shape: Shape, response: Mapping[str, Any], wire: str, usage: Usage) -> None:
        if not _is_plain(usage):
            return
        holders = {name: value for name, value in response.items() if name in _HOLDERS}
        places = {path: place for place, path in enumerate(_count_paths(holders, ""))}
        if len(places) < len(shape.counts):  # names with dots in them, which look like a path
            return
        figures = tuple(
            (figure, tuple(places[path] for path in source.split(" + "))) for figure, source in usage.sources.items()
        )
        self._plans.put(shape.key, _Plan(wire, figures, usage.cached_source, usage.sources))


def _add_shape(value: Any, key: list[Any], counts: list[int]) -> bool:
    """Whether all that is in an object is a count, null, or a text that is none and stands for itself."""
    if type(value) is not dict:
        return False
    key.append(len(value))
    for name, member in value.items():
        key.append(name)
        if type(member) is int:
            if not 0 <= member <= MOST_TOKENS:
                return False
            counts.append(member)
        elif member is None or (type(member) is str and not member.isdigit()):
            key.append((member,))
        elif not _add_shape(member, key, counts):
            return False
    return True


def _count_paths(value: Mapping[str, Any], above: str) -> Iterator[str]:
    """Of the counts in `Shape.counts`, as in `Usage.sources`."""
    for name, member in value.items():
        if type(member) is int:
            yield above + name
        elif type(member) is dict:
            yield from _count_paths(member, f"{above}{name}.")


def _is_plain(usage: Usage) -> bool:
    return not usage.reasoning_tokens and (usage.cached_tokens or 0) <= (usage.prompt_tokens or 0)
