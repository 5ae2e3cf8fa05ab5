"""Read the usage of replies that have the members of an earlier one, without looking for counts in every spelling.

Where all members of a usage are counts, it depends on their names alone which of them make up a figure, and
`Usage.sources` of the earlier reply says which: that is the plan. The exceptions are counts that contradict each other
and reasoning tokens, for which readers compare figures: such a reply has to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from hitrate.core.model import Usage
from hitrate.core.recent import Recent

MOST_TOKENS = 2**31
"""A count above is none: the longest contexts hold some millions of tokens."""

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


_CACHED_BESIDE_PROMPT = frozenset({"openai-chat", "openai-responses"})
"""Wires on which cached tokens are added to the prompt tokens where they are more than those (xAI), and not else."""


class Shape(NamedTuple):
    """All that the way a reply is read depends on, and the counts in it, in order, which it does not depend on."""

    key: tuple[Any, ...]
    counts: list[int]


class Plan(NamedTuple):
    """How a reply of one shape is read."""

    wire: str
    sums: tuple[tuple[int, ...], ...]
    """Places of counts that are added up, for each figure that is a sum."""
    figures: Callable[[Sequence[int | None]], tuple[int | None, ...]]
    """What takes the `_FIGURES`, in order, out of the counts, the sums and a None behind them."""
    cached_source: str
    sources: dict[str, str]

    def usage(self, counts: Sequence[int]) -> Usage | None:
        """None where the figures have to be compared."""
        known = (*counts, *[sum([counts[place] for place in places]) for places in self.sums]) if self.sums else counts
        prompt, cached, written, written_5m, written_1h, output, reasoning = self.figures((*known, None))
        if reasoning or (cached or 0) > (prompt or 0):
            return None
        return Usage(
            prompt_tokens=prompt,
            cached_tokens=cached,
            written_tokens=written,
            written_5m_tokens=written_5m,
            written_1h_tokens=written_1h,
            output_tokens=output,
            reasoning_tokens=reasoning,
            cached_source=self.cached_source,
            sources=self.sources,
        )


_FIGURES = (
    "prompt_tokens",
    "cached_tokens",
    "written_tokens",
    "written_5m_tokens",
    "written_1h_tokens",
    "output_tokens",
    "reasoning_tokens",
)
"""In the order in which `Plan.usage` unpacks them."""


def shape_of(response: Mapping[str, Any], named: str | None) -> Shape | None:
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
    return Shape(tuple(key), counts) if are_counts(counts) else None


def are_counts(numbers: list[int]) -> bool:
    return not numbers or 0 <= min(numbers) <= max(numbers) <= MOST_TOKENS


def plan_of(shape: Shape, response: Mapping[str, Any], wire: str, usage: Usage) -> Plan | None:
    """How replies of that shape are read, by one that was read as `usage`; None where that does not show it."""
    if not _is_plain(usage) or _was_added_up(usage, wire):
        return None
    holders = {name: value for name, value in response.items() if name in _HOLDERS}
    places = {path: place for place, path in enumerate(_count_paths(holders, ""))}
    if len(places) < len(shape.counts):  # names with dots in them, which look like a path
        return None
    figures = {figure: tuple(places[path] for path in source.split(" + ")) for figure, source in usage.sources.items()}
    sums = tuple(dict.fromkeys(found for found in figures.values() if len(found) > 1))
    order = [*((place,) for place in range(len(shape.counts))), *sums]
    taken = (order.index(figures[name]) if name in figures else len(order) for name in _FIGURES)
    return Plan(wire, sums, itemgetter(*taken), usage.cached_source, usage.sources)


class UsagePlans:
    """`read` a reply of a known shape, and `learn` from what had to be read in the usual way."""

    def __init__(self) -> None:
        self._plans: Recent[tuple[Any, ...], Plan] = Recent(_PLANS)

    def read(self, shape: Shape) -> tuple[str, Usage] | None:
        """The wire and the usage of a reply; None where no plan is known, or its figures have to be compared."""
        plan = self._plans.get(shape.key)
        usage = None if plan is None else plan.usage(shape.counts)
        return None if plan is None or usage is None else (plan.wire, usage)

    def learn(self, shape: Shape, response: Mapping[str, Any], wire: str, usage: Usage) -> None:
        plan = plan_of(shape, response, wire, usage)
        if plan is not None:
            self._plans.put(shape.key, plan)


def _add_shape(value: Any, key: list[Any], counts: list[int]) -> bool:
    """Whether all that is in an object is a count, null, or a text that is none and stands for itself."""
    if type(value) is not dict:
        return False
    key.append(len(value))
    key += value
    for member in value.values():
        if type(member) is int:
            counts.append(member)
            key.append(None)
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


def _was_added_up(usage: Usage, wire: str) -> bool:
    """Whether the figures themselves made the reader add cached tokens to the prompt tokens."""
    source = usage.sources.get("prompt_tokens", "")
    return wire in _CACHED_BESIDE_PROMPT and source.endswith(f" + {usage.cached_source}")


def _is_plain(usage: Usage) -> bool:
    return not usage.reasoning_tokens and (usage.cached_tokens or 0) <= (usage.prompt_tokens or 0)
