"""Read the usage of replies that have the members of an earlier one, without looking for counts in every spelling.

Where all members of a usage are counts, it depends on their names alone which of them make up a figure, and
`Usage.sources` of the earlier reply says which: that is the plan. The exceptions are counts that contradict each other
and reasoning tokens, for which readers compare figures: such a reply has to be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hitrate.core.model import Usage
from hitrate.core.recent import Recent
from hitrate.targets.dialects.counts import MOST_TOKENS, Path

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


class _Plan(NamedTuple):
    wire: str
    figures: tuple[tuple[str, tuple[Path, ...]], ...]
    """Names of the fields of `Usage`, each with the members of the reply that it is the sum of."""
    cached_source: str
    sources: dict[str, str]


class UsagePlans:
    """`shape` of a reply, `read` by it, and `learn` from what had to be read in the usual way."""

    def __init__(self) -> None:
        self._plans: Recent[tuple[Any, ...], _Plan] = Recent(_PLANS)

    def shape(self, response: Mapping[str, Any], named: str | None) -> tuple[Any, ...] | None:
        """All that the way a reply is read depends on; None where it depends on more than names."""
        if not _LOOKED_AT.isdisjoint(response):
            return None
        found: list[Any] = [named]
        for name, value in response.items():
            if name in _HOLDERS:
                found.append(name)
                if not _add_shape(value, found):
                    return None
        return tuple(found)

    def read(self, shape: tuple[Any, ...], response: Mapping[str, Any]) -> tuple[str, Usage] | None:
        """The wire and the usage of a reply; None where no plan is known, or its figures have to be compared."""
        plan = self._plans.get(shape)
        if plan is None:
            return None
        counts = {figure: sum([_at(response, path) for path in paths]) for figure, paths in plan.figures}
        usage = Usage(**counts, cached_source=plan.cached_source, sources=plan.sources)
        return (plan.wire, usage) if _is_plain(usage) else None

    def learn(self, shape: tuple[Any, ...], wire: str, usage: Usage) -> None:
        if not _is_plain(usage):
            return
        figures = tuple(
            (figure, tuple(tuple(path.split(".")) for path in source.split(" + ")))
            for figure, source in usage.sources.items()
        )
        self._plans.put(shape, _Plan(wire, figures, usage.cached_source, usage.sources))


def _add_shape(value: Any, found: list[Any]) -> bool:
    """Whether all that is in an object is a count, null, or a text that is none and stands for itself."""
    if type(value) is not dict:
        return False
    found.append(len(value))
    for name, member in value.items():
        found.append(name)
        if type(member) is int:
            if not 0 <= member <= MOST_TOKENS:
                return False
        elif member is None or (type(member) is str and not member.isdigit()):
            found.append((member,))
        elif not _add_shape(member, found):
            return False
    return True


def _at(response: Mapping[str, Any], path: Path) -> int:
    value: Any = response
    for name in path:
        value = value[name]
    return value  # type: ignore[no-any-return]


def _is_plain(usage: Usage) -> bool:
    return not usage.reasoning_tokens and (usage.cached_tokens or 0) <= (usage.prompt_tokens or 0)
