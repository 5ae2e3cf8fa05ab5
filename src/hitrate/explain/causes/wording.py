"""How causes speak of a change: where it lies, and its two sides with everything visible."""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.explain.causes.spot import Spot
from hitrate.explain.evidence import Divergence, Evidence
from hitrate.explain.visible import visible

_PLACES = {
    "tools": "the tool definitions",
    "schema": "the response schema",
    "system": "the system prompt",
    "user": "an earlier user message",
    "assistant": "an earlier assistant message",
    "tool": "an earlier tool result",
    "image": "an earlier message",
}


def quoted(text: str, most: int = 60, *, forms: bool = False) -> str:
    """`text` in quotes, cut, with everything that cannot be seen as an escape."""
    shown = visible(text[:most], forms=forms, at_end=len(text) <= most)
    return f'"{shown}…"' if len(text) > most else f'"{shown}"'


def place(divergence: Divergence) -> str:
    """ "the system prompt (/messages/0/content, character 31)"."""
    where = divergence.pointer or "the whole body"
    named = "the rendered prompt" if divergence.pointer.startswith("/prompt") else ""
    if divergence.offset is not None:
        where += f", character {divergence.offset:,}"
    return f"{named or _PLACES.get(divergence.kind, 'the prompt')} ({where})"


def both_sides(spot: Spot) -> str:
    """The differing values, or, where they are longer than a line, how each side begins: `"a" became "b"`."""
    was, now = spot.lines
    start = max(0, len(spot.lead) - 24)
    if was == now:  # what differs begins with the end of the line
        was, now, start = spot.was, spot.now, 0
    elif not spot.lead:  # whole lines that only one side has
        if was and f"\n{was}" in spot.now:
            was = ""
        elif now and f"\n{now}" in spot.was:
            now = ""
    sides = [quoted(side[start:]) if side[start:] else "nothing" for side in (was, now)]
    return f"{sides[0]} became {sides[1]}"


def what_changed(divergence: Divergence, spot: Spot | None) -> str:
    """Both sides of a text that became another, else the change in words."""
    plain = divergence.change in ("text", "replaced", "shortened", "suffix added", "suffix removed")
    return both_sides(spot) if spot is not None and plain else change_in_words(divergence)


def change_in_words(divergence: Divergence) -> str:
    """The change as the comparison put it, else its two sides."""
    if divergence.words:
        return divergence.words.rstrip(".")
    return f"{quoted(divergence.was)} became {quoted(divergence.now)}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """ "a, b and 4 more"."""
    shown = [quoted(name)[1:-1] for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")


def repeats(evidence: Evidence) -> int:
    """How many breaks at the same place this conversation had before."""
    here = evidence.divergence
    return 0 if here is None else sum(past.pointer == here.pointer for past in evidence.lineage)
