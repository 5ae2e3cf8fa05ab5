"""A spot told as a divergence: what is there on both sides, which kind of change it is, what it concerns."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msgspec import UNSET

from hitrate.core.spans import compact
from hitrate.explain.diff.changes import change_of_ids, change_of_lists, change_of_members, change_of_strings
from hitrate.explain.diff.lists import name_of, shift_of, shuffled, tool_name, tools_change
from hitrate.explain.diff.spots import Spot
from hitrate.explain.diff.texts import common_suffix
from hitrate.explain.diff.units import GROUPS, Request, Unit
from hitrate.explain.diff.words import Found, sentence
from hitrate.explain.evidence import Divergence

_EXCERPT = 48
"""Code points of `was` and `now`."""

_LONGEST_VALUE = 4000
"""Characters of a value that is given whole."""

_MOST_NAMES = 20

_LONGEST_AROUND = 2000
"""Code points in front of a difference and behind it: enough to reach the headings of most sections."""


class Parting:
    """Where two requests part, before it is told in words."""

    def __init__(self, spot: Spot, old: Request, new: Request, index: int, common: int) -> None:
        """`index` is that of the first unit that differs, `common` the code points in the units before it."""
        self.spot = spot
        self.old = old
        self.new = new
        self.index = index
        self.pointer = spot.pointer
        self.kind = spot.kind or new.units[index].kind
        self.offset = None if spot.form == "ids" else spot.offset
        in_string = spot.form == "string" and spot.kind != "image"
        self.cacheable_chars = common + spot.characters + ((spot.offset or 0) if in_string else 0)

    @property
    def cacheable_share(self) -> float:
        """Of the prompt text of the later request."""
        return self.cacheable_chars / self.new.characters if self.new.characters else 0.0

    @property
    def shorter(self) -> int:
        """Code points of the shorter prompt."""
        return min(self.old.characters, self.new.characters)

    @cached_property
    def same_end(self) -> int:
        """Code points behind the change that both strings end with."""
        spot = self.spot
        if spot.form != "string" or not (isinstance(spot.was, str) and isinstance(spot.now, str)):
            return 0
        return common_suffix(spot.was, spot.now, spot.offset or 0)

    @cached_property
    def change_of_strings(self) -> str:
        """Where two strings differ."""
        return change_of_strings(self.spot.was, self.spot.now, self.spot.offset or 0, self.same_end)


def described(parting: Parting) -> Divergence:
    spot = parting.spot
    change, names, found = _change(parting)
    was, now = _sides(spot)
    return Divergence(
        pointer=spot.pointer,
        offset=parting.offset,
        was=was,
        now=now,
        change=change,
        kind=parting.kind,
        cacheable_chars=parting.cacheable_chars,
        cacheable_share=parting.cacheable_share,
        value_was=_whole(spot, spot.was),
        value_now=_whole(spot, spot.now),
        rest_was=_rest(spot, spot.was),
        rest_now=_rest(spot, spot.now),
        same_end=parting.same_end,
        front=_front(spot),
        names=names[:_MOST_NAMES],
        words=sentence(found),
    )


def _change(parting: Parting) -> tuple[str, tuple[str, ...], Found]:
    """The kind of change and the names concerned, looked for from the whole prompt down to the two strings."""
    spot, old, new, index = parting.spot, parting.old, parting.new, parting.index
    group = _group_of(spot, old, new, index)
    was, now = old.of_group(group), new.of_group(group)
    place = index - next((at for at, unit in enumerate(new.units) if unit.group == group), index)
    found = Found(spot=spot, group=group, was=was, now=now, index=place, same_end=parting.same_end)
    change, names = _inner_change(parting)
    if _nothing_in_common(parting):
        change, names = "prefix rebuilt", ()
    elif group == "tools":
        tools = tools_change(was, now, place)
        if tools is not None:
            found.tools = tools
            listed = tools.added or tools.removed
            change, names = ("list members", tools.added + tools.removed) if listed else ("list order", tools.moved)
        elif place < len(now):
            names = (tool_name(now[place]), *names)
    elif group in ("system", "messages") and spot.form not in ("group", "ids"):
        found.shift = shift_of(was, now, place)
        found.shuffled = 0 if found.shift else shuffled(was, now, place)
        if found.shift is not None:
            change, names = _of_shift(found)
        elif found.shuffled:
            change, names = "list order", tuple(unit.pointer for unit in now[place : place + found.shuffled])
        elif _same_pieces(was, now, place):
            change, names = "list order", (now[place].pointer,)
    found.change, found.names = change, names
    if spot.form == "ids":
        found.ids = change_of_ids(spot.was, spot.now, spot.offset or 0)[1:]
    return change, names, found


def _group_of(spot: Spot, old: Request, new: Request, index: int) -> Any:
    if spot.form in ("group", "element"):
        groups = (old.units[index].group, new.units[index].group)
        return min(groups, key=GROUPS.index)
    return new.units[index].group


def _of_shift(found: Found) -> tuple[str, tuple[str, ...]]:
    assert found.shift is not None
    dropped = tuple(unit.pointer for unit in found.was[found.index : found.index + found.shift.dropped])
    inserted = tuple(unit.pointer for unit in found.now[found.index : found.index + found.shift.inserted])
    if found.group == "system":
        return "list members", dropped + inserted
    if not found.shift.dropped:
        return "messages inserted", inserted
    return ("messages condensed" if inserted else "messages dropped"), dropped


def _inner_change(parting: Parting) -> tuple[str, tuple[str, ...]]:
    spot = parting.spot
    lists = change_of_lists(*spot.lists) if spot.lists else None
    if lists is not None:
        return lists
    if spot.form == "string":
        if spot.kind == "image":
            return "image", ()
        if spot.is_id:
            return "id value", ()
        return parting.change_of_strings, ()
    if spot.form == "members":
        return change_of_members(spot.was, spot.now, spot.names)
    if spot.form == "ids":
        return change_of_ids(spot.was, spot.now, spot.offset or 0)[0], ()
    if spot.form == "value" and spot.kind == "image":
        return "image", ()
    return {"value": "value", "type": "block type", "role": "role"}.get(spot.form, "list members"), ()


def _same_pieces(was: list[Unit], now: list[Unit], index: int) -> bool:
    """Whether a message holds the same blocks in another order."""
    return (
        index < min(len(was), len(now))
        and len(was[index].signature) > 1
        and sorted(was[index].signature) == sorted(now[index].signature)
    )


def _nothing_in_common(parting: Parting) -> bool:
    """Whether the prompts part at their very start and no later tool, block or message is in both."""
    spot, old, new = parting.spot, parting.old, parting.new
    if parting.index or len(old.units) < 2 or len(new.units) < 2 or new.units[0].is_raw_prompt:
        return False
    in_tools = old.units[0].group == new.units[0].group == "tools"
    if not in_tools:
        is_other = parting.change_of_strings == "replaced" if spot.form == "string" else spot.form in ("group", "type")
        if not is_other:
            return False
    known = {unit.signature for unit in old.units}
    if any(unit.signature in known for unit in new.units):
        return False
    return not in_tools or set(map(tool_name, old.of_group("tools"))).isdisjoint(map(tool_name, new.of_group("tools")))


def _sides(spot: Spot) -> tuple[str, str]:
    """`was` and `now` of a divergence."""
    if spot.form in ("string", "role"):
        offset = spot.offset or 0
        return spot.was[offset : offset + _EXCERPT], spot.now[offset : offset + _EXCERPT]
    if spot.form == "ids":
        offset = spot.offset or 0
        return "".join(map(str, spot.was[offset : offset + 1])), "".join(map(str, spot.now[offset : offset + 1]))
    if spot.form == "group":
        return spot.names
    if spot.form in ("members", "type"):
        word = "member" if spot.form == "members" else "type"
        return tuple(f"{word} {name}" if name else "" for name in spot.names)  # type: ignore[return-value]
    return _short(spot, spot.was), _short(spot, spot.now)


def _short(spot: Spot, value: Any) -> str:
    if value is UNSET:
        return ""
    if spot.form == "element" and spot.kind == "tools" and name_of(value):
        return f"tool {name_of(value)}"
    return _as_text(value)[:_EXCERPT]


def _front(spot: Spot) -> str:
    if spot.form != "string" or spot.kind == "image" or spot.offset is None:
        return ""
    return spot.was[max(0, spot.offset - _LONGEST_AROUND) : spot.offset]


def _rest(spot: Spot, value: Any) -> str:
    if spot.form != "string" or spot.kind == "image" or spot.offset is None or not isinstance(value, str):
        return ""
    return value[spot.offset : spot.offset + _LONGEST_AROUND]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)


def _whole(spot: Spot, value: Any) -> str | None:
    """A value that is short enough to be given whole; of token ids those around the place."""
    if value is UNSET:
        return None
    if spot.form == "ids":
        start = max(0, (spot.offset or 0) - 4)
        return " ".join(map(str, value[start : start + 16]))
    text = _as_text(value)
    return text if len(text) <= _LONGEST_VALUE else None
