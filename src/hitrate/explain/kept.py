"""What two prompts have in common wherever it stands: what a change in front of it costs, and how near they are."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hitrate.core.prompt import CanonicalPrompt, Segment
from hitrate.explain.diff.lists import name_of
from hitrate.explain.diff.texts import common_prefix, common_suffix

_MOSTLY = 0.5
"""Of the longer of two texts, that both have to have at their ends for one to be the other with a change inside."""

_LEAST = 64
"""Code points of ends that are worth counting: an id or a short word has the same ones by chance."""

_JSON = ("tools", "schema")

_Text = tuple[str, str]
"""Kind and text of a segment."""


def kept_behind(before: CanonicalPrompt, now: CanonicalPrompt) -> int:
    """Code points behind the front both share that stand in both, in whatever order: whole segments, and the ends of
    others that are the same but for a change inside. In the segment where they part, nothing is counted.

    Segments are finer than the parts of a sketch: the text of a tool's result is the same when its id is not.
    """
    pairs = enumerate(zip(before.segments, now.segments, strict=False))
    front = next(
        (place for place, (one, other) in pairs if one.text != other.text or one.kind != other.kind),
        len(before.segments),
    )
    was, is_now = _texts(before.segments[front:]), _texts(now.segments[front:])
    parting = was[:1] != is_now[:1]
    same, was, is_now = _without_same_places(was, is_now)
    return same + _in_both(was, is_now, parting)


def share_in_common(before: CanonicalPrompt, now: CanonicalPrompt) -> float:
    """Of the shorter prompt's code points, those that stand in both."""
    was, is_now = _texts(before.segments), _texts(now.segments)
    shorter = min(sum(len(text) for _, text in side) for side in (was, is_now))
    return _in_both(was, is_now) / shorter if shorter else 0.0


def tools_in_common(before: CanonicalPrompt, now: CanonicalPrompt) -> float:
    """Of the tools of the prompt that has more, those that both have by name; 0 where one has none."""
    was, is_now = (Counter(map(_tool_name, prompt.segments)) for prompt in (before, now))
    del was[""], is_now[""]
    return (was & is_now).total() / max(was.total(), is_now.total(), 1)


def _without_same_places(was: list[_Text], now: list[_Text]) -> tuple[int, list[_Text], list[_Text]]:
    """Both but for the texts that have the same place in both, and the code points of these. All of them where one of
    these stands elsewhere, too: which of them are the same then, and which are left, is told by their order."""
    same: list[_Text] = []
    left_was: list[_Text] = []
    left_now: list[_Text] = []
    for one, other in zip(was, now, strict=False):
        if one == other:
            same.append(one)
        else:
            left_was.append(one)
            left_now.append(other)
    both = min(len(was), len(now))
    left_was += was[both:]
    left_now += now[both:]
    if not set(same).isdisjoint((*left_was, *left_now)):
        return 0, was, now
    return sum(len(text) for _, text in same), left_was, left_now


def _tool_name(segment: Segment) -> str:
    if segment.kind != "tools":
        return ""
    try:
        return name_of(json.loads(segment.text))
    except (ValueError, RecursionError):
        return ""


def _texts(segments: Iterable[Segment]) -> list[_Text]:
    """Tools and schemas with their members in one order, since that alone may have changed."""
    return [(one.kind, _sorted(one.text) if one.kind in _JSON else one.text) for one in segments]


def _sorted(text: str) -> str:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def _in_both(was: Sequence[_Text], now: Sequence[_Text], parting: bool = False) -> int:
    """`parting` says that the first of both are where the prompts part."""
    both: dict[_Text, int] = {} if set(was).isdisjoint(now) else Counter(was) & Counter(now)
    whole = sum(len(text) * count for (_, text), count in both.items())
    left_was, left_now = _left_over(was, both), _left_over(now, both)
    ends = 0
    for kind, texts in left_was.items():
        for one, other in zip(texts, left_now.get(kind, ()), strict=False):
            if not (parting and one is was[0][1] and other is now[0][1]):
                ends += _same_ends(one, other)
    return whole + ends


def _left_over(texts: Iterable[_Text], both: Mapping[_Text, int]) -> dict[str, list[str]]:
    """By kind, the texts of prose that are not among those in both, each as often as said."""
    taken = dict(both)
    left: dict[str, list[str]] = defaultdict(list)
    for one in texts:
        if (count := taken.get(one, 0)) > 0:
            taken[one] = count - 1
        elif one[0] not in _JSON:  # these look alike by their punctuation
            left[one[0]].append(one[1])
    return left


def _same_ends(one: str, other: str) -> int:
    front = common_prefix(one, other)
    same = front + common_suffix(one, other, front)
    return same if same >= max(_LEAST, _MOSTLY * max(len(one), len(other))) else 0
