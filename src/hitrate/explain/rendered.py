"""What two prompts have in common, of those in messages and of those that were rendered before they were sent.

A rendered prompt is one text, whose turns do not stand apart as in JSON. So what two of them share behind
a change is looked for in the text itself.
"""

from __future__ import annotations

from hitrate.core.prompt import CanonicalPrompt
from hitrate.explain import kept
from hitrate.explain.diff import Parting
from hitrate.explain.diff.texts import common_prefix, common_suffix
from hitrate.explain.evidence import Divergence

_RUN = 32
"""Code points that are looked for in the other text; shorter runs are there by chance."""

_STEP = 16

_MOST_PROBES = 256
"""Places that are looked at in a text without anything in common."""

_BLOCK = 4096


def kept_behind(before: CanonicalPrompt, now: CanonicalPrompt) -> int:
    """Code points behind the front both share that stand in both; of messages as `kept.kept_behind` has it."""
    if not (_is_rendered(before) and _is_rendered(now)):
        return kept.kept_behind(before, now)
    was, is_now = ("".join(one.text for one in prompt.segments if one.kind != "image") for prompt in (before, now))
    return kept_runs(was, is_now, common_prefix(was, is_now))


def kept_runs(was: str, now: str, start: int) -> int:
    """Code points of `now` behind `start`, in runs of `_RUN` at least, that `was` has behind `start` in any order."""
    step = max(_STEP, (len(now) - start) // _MOST_PROBES)
    kept, end, place, following = 0, start, start, start
    while place + _RUN <= len(now):
        probe = now[place : place + _RUN]
        found = was.find(probe, following)
        found = was.find(probe, start) if found < 0 else found
        if found < 0:
            place += step
            continue
        back = common_suffix(was[max(start, found - (place - end)) : found], now[end:place])
        ahead = _common_from(was, found, now, place)
        kept += back + ahead
        end = place = place + ahead
        following = found + ahead
    return kept


def behind(divergence: Divergence | Parting, kept_characters: int) -> int:
    """Code points behind a change that both prompts have: what `kept_behind` counts, and the end of the changed text,
    which is among them in a rendered prompt."""
    if lies_in_rendered(divergence.pointer):
        return max(kept_characters, divergence.same_end)
    return kept_characters + divergence.same_end


def _is_rendered(prompt: CanonicalPrompt) -> bool:
    return bool(prompt.segments) and lies_in_rendered(prompt.segments[0].pointer)


def lies_in_rendered(pointer: str) -> bool:
    """Whether a place is in a prompt that was rendered before it was sent."""
    return pointer.startswith("/prompt")


def _common_from(was: str, found: int, now: str, place: int) -> int:
    """How many code points agree from these two places on."""
    ahead = 0
    while True:
        one, other = was[found + ahead : found + ahead + _BLOCK], now[place + ahead : place + ahead + _BLOCK]
        if one != other or not one:
            return ahead + common_prefix(one, other)
        ahead += len(one)
