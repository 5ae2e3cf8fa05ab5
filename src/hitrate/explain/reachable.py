"""What explicit cache markers can reach: which entries a request's markers find, and which lie too far back.

A marker finds an entry that ends at its own block or at one of the blocks before it, `look_back` blocks in all
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching). An entry behind every marker is found by none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hitrate.explain.evidence import Evidence, Mark


class Miss(NamedTuple):
    """An entry that no marker finds. `blocks` lie between its end and the next marker's, None if none follows."""

    entry: Mark
    blocks: int | None


def longest_found(marks: Sequence[Mark], entries: Iterable[Mark], look_back: int | None) -> Mark | None:
    """The longest of `entries` that one of `marks` finds; a `look_back` of None has no limit."""
    found = [entry for entry in entries if _distance(marks, entry) is not None and _within(marks, entry, look_back)]
    return max(found, key=lambda entry: entry.characters, default=None)


def out_of_reach(marks: Sequence[Mark], entries: Iterable[Mark], look_back: int | None) -> Miss | None:
    """The longest of `entries`, where it is longer than what `marks` find; else None."""
    entries = list(entries)
    longest = max(entries, key=lambda entry: entry.characters, default=None)
    if longest is None:
        return None
    found = longest_found(marks, entries, look_back)
    if found is not None and found.characters >= longest.characters:
        return None
    return Miss(longest, _distance(marks, longest))


def entries_left(evidence: Evidence) -> list[Mark]:
    """Ends of the entries that answered calls of the conversation left inside the text both prompts share."""
    before = evidence.before
    if before is None:
        return []
    shared = shared_characters(evidence)
    calls = (*evidence.earlier, before)
    return [mark for call in calls if call.answered for mark in call.marks if mark.characters <= shared]


def shared_characters(evidence: Evidence) -> int:
    """Code points in front that the call shares with the one before it: all of an earlier prompt that only grew."""
    if evidence.before is not None and evidence.pair.relation in ("append", "repeat"):
        return evidence.before.characters
    return evidence.pair.shared_characters


def _distance(marks: Sequence[Mark], entry: Mark) -> int | None:
    """Blocks from the entry's end to that of the nearest marker at or behind it."""
    return min((mark.blocks - entry.blocks for mark in marks if mark.blocks >= entry.blocks), default=None)


def _within(marks: Sequence[Mark], entry: Mark, look_back: int | None) -> bool:
    distance = _distance(marks, entry)
    return distance is not None and (look_back is None or distance < look_back)
