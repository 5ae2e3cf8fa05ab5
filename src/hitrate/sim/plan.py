"""From rows to a decision: which of them nobody beats, which one to deploy, and what speaks against it.

A row is a cache or a fleet as it was replayed. It costs money where a price is known, else memory; it gains hits, or
times to the first token where there is virtual time. Only rows that every request fits into can be deployed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from hitrate.core.numerals import counted
from hitrate.core.simulation_results import Choice, Goal, Margin, Plan, SimulatedPoint
from hitrate.sim.policies.registry import needs_time

NEAR_BEST = 0.95
"""Of the best hit rate, where more memory is taken to buy little."""

MEMORY = "memory"
"""A plan's cost where no money is known."""

UNEVEN = 1.5
"""Imbalance from which on replicas are said to be used unevenly."""

_COLLAPSED = 0.9
"""Share of all replicas that an imbalance comes to when one of them does nearly everything."""

_REQUESTS_A_REPLICA = 10
SESSIONS_A_REPLICA = 2
"""With fewer of either, how evenly replicas are used says nothing of the policy."""


class Terms(NamedTuple):
    """What rows are weighed by."""

    cost: str
    cost_text: str
    gain: str
    conversations: int | None = None
    """Of the trace, as its prompts tell."""

    def cost_of(self, row: SimulatedPoint) -> float | None:
        return memory(row) if self.cost == MEMORY else getattr(row, self.cost)

    def gain_of(self, row: SimulatedPoint) -> float | None:
        """More is better."""
        found: float | None = getattr(row, self.gain)
        return found if found is None or self.gain == "hit_rate" else -found

    def collapsed(self, row: SimulatedPoint) -> bool:
        """Whether one replica does nearly all that is to be computed, though there is enough for all."""
        return _one_does_all(row) and not self.too_few(row)

    def too_few(self, row: SimulatedPoint) -> bool:
        """Requests or sessions, for any policy that keeps prompts together to use all replicas evenly."""
        known, _ = self.sessions_of(row)
        few = known is not None and known < SESSIONS_A_REPLICA * row.replicas
        return few or row.requests < _REQUESTS_A_REPLICA * row.replicas

    def sessions_of(self, row: SimulatedPoint) -> tuple[int | None, str]:
        """How many there are, and what they are called."""
        if row.by_session is not None:
            return row.by_session.sessions, "session"
        return self.conversations, "conversation"


def _one_does_all(row: SimulatedPoint) -> bool:
    return row.replicas > 1 and row.imbalance is not None and row.imbalance >= _COLLAPSED * row.replicas


def memory(row: SimulatedPoint) -> float | None:
    """Of all replicas: GiB where a model was named, else tokens; None for caches without a limit."""
    one = row.capacity_tokens if row.capacity_gib is None else row.capacity_gib
    return None if one is None else row.replicas * one


def make_plan(
    rows: Sequence[SimulatedPoint], plannable: Sequence[int], goal: Goal | None, conversations: int | None = None
) -> Plan | None:
    """`plannable` are the places of rows that an engine can be made to be, all counted by one definition.
    `conversations` are those of the trace, for rows that know of no sessions.

    None where fewer than one of them has a known cost and gain.
    """
    terms = _terms([rows[place] for place in plannable], goal)._replace(conversations=conversations)
    known = [
        place
        for place in plannable
        if terms.cost_of(rows[place]) is not None
        and terms.gain_of(rows[place]) is not None
        and not rows[place].never_fit
    ]
    if not known:
        return None
    front = _front(rows, known, terms)
    groups = [known] if goal is not None else _by_replicas(rows, known)
    choices = [made for group in groups if (made := _choice(rows, group, terms, goal)) is not None]
    return Plan(
        cost=terms.cost,
        cost_text=terms.cost_text,
        gain=terms.gain,
        rule=_rule(terms, goal, [rows[group[0]] for group in groups]),
        goal=goal,
        front=tuple(front),
        choices=tuple(choices),
        nearest=None if choices or goal is None else _nearest(rows, known, terms, goal),
        warnings=tuple(_warnings(rows, plannable, [choice.row for choice in choices], goal, terms)),
    )


def _terms(rows: Sequence[SimulatedPoint], goal: Goal | None) -> Terms:
    def known(name: str) -> bool:
        return bool(rows) and all(getattr(row, name) is not None for row in rows)

    gain = "hit_rate" if goal is None else ttft_member(goal)
    if goal is None and known("ttft_p99_s"):
        gain = "ttft_p99_s"
    if known("provisioned_usd"):
        return Terms("provisioned_usd", "dollars for the GPUs", gain)
    if known("hosted_usd"):
        return Terms("hosted_usd", "the vendor's bill in dollars", gain)
    if all(row.capacity_tokens is None for row in rows):
        return Terms("replicas", "replicas", gain)
    unit = "GiB" if any(row.capacity_gib is not None for row in rows) else "tokens"
    return Terms(MEMORY, f"KV memory of all replicas in {unit}", gain)


def ttft_member(goal: Goal) -> str:
    return f"ttft_{goal.statistic}_s"


def _front(rows: Sequence[SimulatedPoint], places: Iterable[int], terms: Terms) -> list[int]:
    """By rising cost, and memory where that is the same; of rows that are equal in all the first."""
    found: list[int] = []
    best = -inf
    for place in sorted(places, key=lambda place: (_price_of(rows[place], terms), -_gain(rows[place], terms), place)):
        if (gain := _gain(rows[place], terms)) > best:
            found.append(place)
            best = gain
    return found


def _price_of(row: SimulatedPoint, terms: Terms) -> tuple[float, float]:
    """What is to be paid, and then the memory that it takes. GPUs are paid for by their number: that one fleet ends its
    last request some seconds before another makes it no cheaper."""
    size = memory(row)
    cost = float(row.replicas) if terms.cost == "provisioned_usd" else terms.cost_of(row)
    return inf if cost is None else cost, inf if size is None else size


def _gain(row: SimulatedPoint, terms: Terms) -> float:
    found = terms.gain_of(row)
    return -inf if found is None else found


def _by_replicas(rows: Sequence[SimulatedPoint], places: Iterable[int]) -> list[list[int]]:
    """A store behind the replicas is another kind of fleet: its memory is cheaper, and no part of theirs."""
    groups: dict[tuple[int, str, int], list[int]] = {}
    for place in places:
        row = rows[place]
        groups.setdefault((row.replicas, row.store or "", row.store_blocks or 0), []).append(place)
    return [groups[kind] for kind in sorted(groups)]


def _choice(rows: Sequence[SimulatedPoint], group: Sequence[int], terms: Terms, goal: Goal | None) -> Choice | None:
    """None where a goal is met by none of them."""
    if goal is not None:
        fit = [place for place in group if (getattr(rows[place], ttft_member(goal)) or 0.0) <= goal.seconds]
    elif terms.cost == "hosted_usd":
        fit = list(group)
    else:
        usable = [place for place in group if not terms.collapsed(rows[place])] or group
        best = max(rows[place].hit_rate or 0.0 for place in usable)
        fit = [place for place in usable if (rows[place].hit_rate or 0.0) >= NEAR_BEST * best]
    if not fit:
        return None
    chosen = min(fit, key=lambda place: (_price_of(rows[place], terms), -(rows[place].hit_rate or 0.0), place))
    others = _front(rows, group, terms)
    paid = _price_of(rows[chosen], terms)
    cheaper = [place for place in others if _price_of(rows[place], terms) < paid]
    dearer = [place for place in others if _price_of(rows[place], terms) > paid]

    def beside(place: int | None) -> Margin | None:
        return None if place is None else _margin(rows, chosen, place, terms)

    return Choice(
        row=chosen,
        why=_why(rows, chosen, terms, goal),
        cheaper=beside(cheaper[-1] if cheaper else None),
        dearer=beside(dearer[0] if dearer else None),
        other_policy=beside(_other_policy(rows, group, chosen, terms)),
    )


def _margin(rows: Sequence[SimulatedPoint], chosen: int, other: int, terms: Terms) -> Margin:
    name = terms.gain if terms.gain != "hit_rate" else "ttft_p99_s"
    return Margin(
        row=other,
        hit_rate_more=_difference(rows[other].hit_rate, rows[chosen].hit_rate),
        cost_more=_difference(terms.cost_of(rows[other]), terms.cost_of(rows[chosen])),
        memory_more=_difference(memory(rows[other]), memory(rows[chosen])),
        ttft_more_s=_difference(getattr(rows[other], name), getattr(rows[chosen], name)),
    )


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _other_policy(rows: Sequence[SimulatedPoint], group: Iterable[int], chosen: int, terms: Terms) -> int | None:
    """The best of the same fleet, rule and lifetime that is routed in another way."""

    def alike(row: SimulatedPoint) -> tuple[object, ...]:
        return row.replicas, row.capacity_blocks, row.rule_set, row.ttl_s, row.store, row.store_blocks

    same = [
        place
        for place in group
        if alike(rows[place]) == alike(rows[chosen]) and rows[place].policy != rows[chosen].policy
    ]
    return max(same, key=lambda place: (_gain(rows[place], terms), -place), default=None)


def _nearest(rows: Sequence[SimulatedPoint], known: Sequence[int], terms: Terms, goal: Goal) -> Margin:
    name = ttft_member(goal)
    place = min(known, key=lambda place: (getattr(rows[place], name), _price_of(rows[place], terms), place))
    lacks = getattr(rows[place], name) - goal.seconds
    return Margin(row=place, hit_rate_more=None, cost_more=None, memory_more=None, ttft_more_s=lacks)


def _rule(terms: Terms, goal: Goal | None, kinds: Sequence[SimulatedPoint]) -> str:
    """`kinds` has a row of each group that something is chosen from."""
    apart = (len({row.replicas for row in kinds}) > 1, len({(row.store, row.store_blocks) for row in kinds}) > 1)
    names = [name for name, several in zip(("number of replicas", "store"), apart, strict=True) if several]
    each = f", for each {' and '.join(names)}" if names else ""
    if goal is not None:
        return f"the cheapest by {terms.cost_text} with a time to first token of at most {goal_text(goal)}"
    if terms.cost == "hosted_usd":
        return f"the lowest bill{each}"
    if terms.cost == "replicas":
        return f"the best hit rate{each}"
    return f"the least KV memory with at least {100 * NEAR_BEST:g} % of the best hit rate{each}"


def goal_text(goal: Goal) -> str:
    return (
        f"{goal.seconds:g} s at the {goal.statistic}" if goal.statistic != "mean" else f"{goal.seconds:g} s on average"
    )


def _why(rows: Sequence[SimulatedPoint], chosen: int, terms: Terms, goal: Goal | None) -> str:
    if goal is not None:
        reached = getattr(rows[chosen], ttft_member(goal))
        return f"the cheapest that meets the goal, with {goal.seconds - reached:.3g} s to spare"
    if terms.cost == "hosted_usd":
        return "the lowest bill"
    if terms.cost == "replicas":
        return "the best hit rate"
    return f"the least memory with {100 * NEAR_BEST:g} % of the best hit rate"


def _unevenness(considered: Sequence[SimulatedPoint], chosen: Iterable[SimulatedPoint], terms: Terms) -> Iterator[str]:
    for policy in dict.fromkeys(row.policy for row in considered if row.policy and terms.collapsed(row)):
        if needs_time(policy) and all(row.ttft_p99_s is None for row in considered):
            yield (
                f"policy {policy} seems to send nearly everything to one replica: it sees no load where requests come "
                "one after another, so replay it with --timing before it is judged"
            )
            continue
        worst = max(row.imbalance or 0.0 for row in considered if row.policy == policy)
        yield (
            f"policy {policy} sends nearly everything to one replica: the busiest computes {worst:.1f} times the mean. "
            "The others stand idle, whatever its hit rate"
        )
    uneven = [row for row in chosen if (row.imbalance or 0.0) >= UNEVEN and not terms.collapsed(row)]
    for row in uneven:
        if not terms.too_few(row):
            yield (
                f"{row.replicas} replicas by {row.policy}: the busiest computes {row.imbalance:.2f} times the mean, so "
                "it is full before the others are"
            )
    if few := [row for row in (*uneven, *filter(_one_does_all, considered)) if terms.too_few(row)]:
        row = max(few, key=lambda row: row.replicas)
        known, kind = terms.sessions_of(row)
        sessions = "" if known is None else f" of {counted(known, kind)}"
        requests = counted(row.requests, "request")
        yield f"too few to tell how evenly a policy uses {row.replicas:,} replicas: {requests}{sessions}"


def _warnings(
    rows: Sequence[SimulatedPoint], plannable: Sequence[int], chosen: Sequence[int], goal: Goal | None, terms: Terms
) -> Iterator[str]:
    considered = [rows[place] for place in plannable]
    yield from _unevenness(considered, [rows[place] for place in chosen], terms)
    if refused := sum(bool(row.never_fit) for row in considered):
        yield (
            f"{refused:,} of {len(considered):,} rows are left out of the plan: some requests are longer than a whole "
            "cache of theirs"
        )
    best = max(considered, key=lambda row: row.hit_rate or 0.0, default=None)
    largest = max((row.capacity_tokens or 0 for row in considered), default=0)
    if goal is None and best is not None and largest and _all_limited(considered) and _at_edge(considered, largest):
        yield "the hit rate still grows at the largest size replayed: larger ones may be worth more yet"
    own = [row for row in considered if row.replicas > 1 or row.provisioned_usd is not None]
    if own and all(row.ttft_p99_s is None for row in own):
        yield (
            "hit rates say what is not computed again, not how much sooner tokens come, nor how many replicas the load "
            "takes: for these name an engine with --timing"
        )


def _all_limited(rows: Iterable[SimulatedPoint]) -> bool:
    return all(row.capacity_tokens is not None for row in rows)


def _at_edge(rows: Sequence[SimulatedPoint], largest: int) -> bool:
    """Whether the largest size is more than a point above the one below it, by the best row of each."""
    by_size: dict[int, float] = {}
    for row in rows:
        size = row.capacity_tokens or 0
        by_size[size] = max(by_size.get(size, 0.0), row.hit_rate or 0.0)
    below = [rate for size, rate in by_size.items() if size < largest]
    return bool(below) and by_size[largest] - max(below) > 0.01
