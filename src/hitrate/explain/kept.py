"""What two prompts have in common wherever it stands: what a change in front of it costs, and how near they are."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from hitrate.core.prompt import CanonicalPrompt, Segment
from hitrate.explain.diff.lists import name_of
from hitrate.explain.diff.texts import common_prefix, common_suffix

_MOSTLY = 0.5
"""Of the longer of two texts, that both have to have at their ends for one to be the other with a change inside."""

_LEAST = 64
"""Code points of ends that are worth counting: an id or a short word has the same ones by chance."""

_Text = tuple[str, str]
"""Kind and text of a segment."""


def kept_behind(before: CanonicalPrompt, now: CanonicalPrompt) -> int:
    """Code points behind the front both share that stand in both, in whatever order: whole segments, and the ends of
    others that are the same but for a change inside. In the segment where they part, nothing is counted.

    Segments are finer than the parts of a sketch: the text of a tool's result is the same when its id is not.
    """
    was, is_now = _texts(before), _texts(now)
    front = next((place for place, (one, other) in enumerate(zip(was, is_now, strict=False)) if one != other), len(was))
    return _in_both(was[front:], is_now[front:], parting=True)


def share_in_common(before: CanonicalPrompt, now: CanonicalPrompt) -> float:
    """Of the shorter prompt's code points, those that stand in both."""
    was, is_now = _texts(before), _texts(now)
    shorter = min(sum(len(text) for _, text in side) for side in (was, is_now))
    return _in_both(was, is_now) / shorter if shorter else 0.0


def tools_in_common(before: CanonicalPrompt, now: CanonicalPrompt) -> float:
    """Of the tools of the prompt that has more, those that both have by name; 0 where one has none."""
    was, is_now = (Counter(map(_tool_name, prompt.segments)) for prompt in (before, now))
    del was[""], is_now[""]
    return (was & is_now).total() / max(was.total(), is_now.total(), 1)


def _tool_name(segment: Segment) -> str:
    if segment.kind != "tools":
        return ""
    try:
        return name_of(json.loads(segment.text))
    except (ValueError, RecursionError):
        return ""


def _texts(prompt: CanonicalPrompt) -> list[_Text]:
    return [(segment.kind, segment.text) for segment in prompt.segments]


def _in_both(was: Sequence[_Text], now: Sequence[_Text], parting: bool = False) -> int:
    """`parting` says that the first of both are where the prompts part."""
    both = Counter(was) & Counter(now)
    whole = sum(len(text) * count for (_, text), count in both.items())
    left_was, left_now = _left_over(was, both), _left_over(now, both)
    ends = 0
    for kind, texts in left_was.items():
        for one, other in zip(texts, left_now.get(kind, ()), strict=False):
            if not (parting and one is was[0][1] and other is now[0][1]):
                ends += _same_ends(one, other)
    return whole + ends


def _left_over(texts: Iterable[_Text], both: Counter[_Text]) -> dict[str, list[str]]:
    """By kind, the texts of prose that are not among those in both."""
    taken = both.copy()
    left: dict[str, list[str]] = defaultdict(list)
    for one in texts:
        if taken[one] > 0:
            taken[one] -= 1
        elif one[0] not in ("tools", "schema"):  # these look alike by their JSON
            left[one[0]].append(one[1])
    return left


def _same_ends(one: str, other: str) -> int:
    front = common_prefix(one, other)
    same = front + common_suffix(one, other, front)
    return same if same >= max(_LEAST, _MOSTLY * max(len(one), len(other))) else 0
