"""What the counts alone say of a target whose cache rule is not published.

The expectation is then the longest common prefix, which is more than a coarse step, an explicit breakpoint or a system
prompt that alone is cached would serve: falling short of it is no sign of replicas. What only replicas (or a cache that
forgets) explain is a count that falls back within a session, or sessions of which one finds everything and another
does not at the same turn.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from hitrate.core.results import Verdict
from hitrate.explain.turns.history import TEMPLATE_TAIL_TOKENS, Observation
from hitrate.explain.turns.states import HEAD_SHARE

LEAST_OBSERVATIONS = 5
"""Turns with a history to find, below which no number of replicas is given and none is inferred from counts alone."""

_HOW_TO_TELL = "Name the rule with --rule-set, find its step with --pad 512,1024,2048,4096, or use more --turns."


def fixed_or_coarse(
    count: str, later: Sequence[Observation], missed: Sequence[Observation], repeatable: bool | None
) -> Verdict | None:
    """The open verdict where one fixed prefix or whole steps explain every count after the first turns, else None."""
    counts = [one.row.cached_tokens or 0 for one in later]
    in_the_head = any((one.row.cached_tokens or 0) <= HEAD_SHARE * (one.row.prompt_tokens or 0) for one in later)
    if in_the_head or falls_back(later):
        return None
    if _one_prefix(later):
        cause = "fixed prefix"
        many = f"{max(counts):,} tokens" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,} tokens"
        text = (
            f"{count}, but all were served the same {many}: either a fixed prefix alone is cached (the system prompt, "
            "up to an explicit breakpoint), or this cache credits in steps larger than what the turns add."
        )
    elif (step := _whole_steps(counts, missed)) is not None:
        cause = "granularity"
        text = (
            f"{count}, but the counts never fall and are the whole steps of {step:,} tokens that fit the prompt "
            "before: this cache credits coarsely, and what the turns add shows only when a step is full."
        )
    else:
        return None
    text += f" This target publishes no rule that could tell. {_HOW_TO_TELL}"
    return Verdict(healthy=None, routing_is_a_factor=None, cause=cause, text=text, repeatable=repeatable)


def unexplained(
    count: str,
    later: Sequence[Observation],
    telling: Sequence[tuple[Observation, bool]],
    repeatable: bool | None,
) -> Verdict | None:
    """The open verdict where nothing that was seen needs replicas, or too little was seen; else None."""
    signs = falls_back(later) or _sessions_differ(telling)
    if signs and len(telling) >= LEAST_OBSERVATIONS:
        return None
    why = "too few to tell routing from anything else" if signs else "and no session's count ever fell back"
    text = f"{count}: {why}. This target publishes no rule that says what it should serve. {_HOW_TO_TELL}"
    return Verdict(healthy=None, routing_is_a_factor=None, cause="unexplained", text=text, repeatable=repeatable)


def falls_back(later: Sequence[Observation]) -> bool:
    """Whether a turn was served less than the turn before it in its session."""
    return any(
        (one.previous.row.cached_tokens or 0) - (one.row.cached_tokens or 0) > TEMPLATE_TAIL_TOKENS
        for one in later
        if one.previous is not None
    )


def _sessions_differ(telling: Sequence[tuple[Observation, bool]]) -> bool:
    """Whether at one turn of one run some sessions found their whole history and others did not."""
    seen: dict[tuple[str, int], set[bool]] = defaultdict(set)
    for one, hit in telling:
        seen[one.row.run, one.row.turn].add(hit)
    return any(len(found) > 1 for found in seen.values())


def _one_prefix(later: Sequence[Observation]) -> bool:
    """Whether all turns of a run were served the same, up to the few tokens by which runs and templates differ."""
    counts: dict[str, list[int]] = defaultdict(list)
    for one in later:
        counts[one.row.run].append(one.row.cached_tokens or 0)
    return all(max(some) - min(some) <= TEMPLATE_TAIL_TOKENS for some in counts.values())


def _whole_steps(counts: Sequence[int], missed: Sequence[Observation]) -> int | None:
    """The common divisor of the counts, where no turn's prompt before had room for one more of it; else None."""
    step = math.gcd(*counts)
    befores = [(one, one.previous.row.prompt_tokens or 0) for one in missed if one.previous is not None]
    full = all((one.row.cached_tokens or 0) + step > before - TEMPLATE_TAIL_TOKENS for one, before in befores)
    return step if full and step > 1 else None
