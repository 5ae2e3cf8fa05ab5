"""One label for every prompt token of a call, from numbers alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hitrate.core.findings import LABELS, Verdict

LABEL_OF: dict[Verdict, str] = {
    "prefix_break": "behind a break",
    "key_change": "key changed",
    "breakpoints": "not marked",
    "expiry": "expired",
    "too_short": "below granularity",
    "routing": "routed or evicted",
    "race": "routed or evicted",
    "engine": "routed or evicted",
    "reporting": "not reported",
    "unknown": "routed or evicted",
}
"""Under which label a loss falls whose cause has this verdict. Wrong prices lose no tokens, so they have none."""

_ORDER = {label: place for place, label in enumerate(LABELS)}


class Labelled(NamedTuple):
    """Prompt tokens of one label and, where known, one cause."""

    label: str
    cause: str | None
    tokens: int


def label_tokens(
    *,
    prompt_tokens: int,
    cached_tokens: int | None,
    reusable_tokens: int,
    kept_tokens: int = 0,
    label: str = "routed or evicted",
    cause: str | None = None,
    break_cause: str | None = None,
    granularity: int = 1,
    rounding_tokens: int = 0,
    minimum_tokens: int = 0,
) -> tuple[Labelled, ...]:
    """Every prompt token under one label, in the order of `LABELS`; the tokens add up to `prompt_tokens`.

    `cached_tokens` are the reported ones, None where they are not reported. `reusable_tokens` are those of the prefix
    that the best earlier call leaves by the text, `kept_tokens` those behind the first change that stood in the
    earlier prompt, too. `label` and `cause` say what kept reusable tokens from being served; `break_cause` is the
    cause of the change in front of the kept ones, by default `cause` where `label` is "behind a break". `granularity`
    is the step in which tokens are credited, `minimum_tokens` the shortest prefix that is; up to `rounding_tokens` may
    be missing where the step is not known or the tokens are an estimate.

    Any numbers may come: more cached than prompt tokens, or fewer than none, contradict each other, and then the
    whole prompt is "not reported". A prompt without tokens has no labels.
    """
    if prompt_tokens <= 0:
        return ()
    if cached_tokens is not None and not 0 <= cached_tokens <= prompt_tokens:
        return (Labelled("not reported", None, prompt_tokens),)
    reusable = min(max(reusable_tokens, 0), prompt_tokens)
    kept = min(max(kept_tokens, 0), prompt_tokens - reusable) if kept_tokens else 0
    if break_cause is None and label == "behind a break":
        break_cause = cause

    found: list[tuple[str, str | None, int]]
    if cached_tokens is None:
        most = _most_served(prompt_tokens, reusable, granularity, minimum_tokens)
        found = [("not reported", None, most), ("below granularity", None, reusable - most)]
    else:
        shortfall = reusable - cached_tokens if reusable > cached_tokens else 0
        rounded = shortfall
        # A shortfall of less than a step is a block that was not full, wherever the estimate puts its edge.
        if shortfall >= granularity and shortfall > rounding_tokens:
            most = _most_served(prompt_tokens, reusable, granularity, minimum_tokens)
            rounded = min(shortfall, reusable - most)
        if kept:
            kept = min(kept, prompt_tokens - max(reusable, cached_tokens))
        found = [
            ("served", None, cached_tokens),
            ("new", None, prompt_tokens - cached_tokens - shortfall - kept),
            ("below granularity", None, rounded),
        ]
        if shortfall == rounded and not kept:
            return served_whole(prompt_tokens, cached_tokens, shortfall)
        found.append((label, cause, shortfall - rounded))
    found.append(("behind a break", break_cause, kept))
    if cached_tokens is None:
        found.append(("new", None, prompt_tokens - reusable - kept))
    return _in_order(found)


def served_whole(prompt_tokens: int, cached_tokens: int, rounded: int) -> tuple[Labelled, ...]:
    """The labels of the most usual call by far: it was served all it could be but for `rounded` tokens of a step."""
    new = prompt_tokens - cached_tokens - rounded
    labels = []
    if cached_tokens:
        labels.append(Labelled("served", None, cached_tokens))
    if new:
        labels.append(Labelled("new", None, new))
    if rounded:
        labels.append(Labelled("below granularity", None, rounded))
    return tuple(labels)


def _most_served(prompt_tokens: int, reusable: int, granularity: int, minimum_tokens: int) -> int:
    """What the rule can serve of a reusable prefix: whole steps, and never the prompt's last token, whose state the
    engine needs for the first token of its answer; nothing where that is less than the minimum."""
    step = max(granularity, 1)
    whole_steps = min(reusable, prompt_tokens - 1) // step * step
    return whole_steps if whole_steps >= minimum_tokens else 0


def _in_order(found: Iterable[tuple[str, str | None, int]]) -> tuple[Labelled, ...]:
    """Tokens of the same label and cause together, none of them empty."""
    sums: dict[tuple[str, str | None], int] = {}
    for label, cause, tokens in found:
        if tokens:
            sums[label, cause] = sums.get((label, cause), 0) + tokens
    return tuple([Labelled(label, cause, sums[label, cause]) for label, cause in sorted(sums, key=_place_in_order)])


def _place_in_order(one: tuple[str, str | None]) -> tuple[int, str]:
    return _ORDER[one[0]], one[1] or ""
