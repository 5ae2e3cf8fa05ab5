"""A divergence in one plain sentence. Numbers of tools, messages, blocks and calls count from 1, offsets from 0."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.spans import compact
from hitrate.explain.diff.lists import Shift, ToolsChange, tool_name
from hitrate.explain.diff.spots import Spot
from hitrate.explain.diff.units import Group, Unit
from hitrate.explain.visible import visible

_LONGEST_QUOTE = 60
_MOST_NAMED = 4
_LONGEST_WORD = 20

_ROLES = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool result", "image": "user"}
_LISTS = lazy_pattern(r"/(tool_calls|content|parts|output|summary)/(\d+)")
_NOUNS = {"tool_calls": "tool call", "summary": "summary part"}


class Found(Struct, kw_only=True):
    """A spot with what is known of the lists around it; `index` is that of the unit among those of its group."""

    spot: Spot
    group: Group
    was: list[Unit]
    now: list[Unit]
    index: int
    same_end: int
    """Code points that two strings end with."""
    change: str = ""
    names: tuple[str, ...] = ()
    tools: ToolsChange | None = None
    shift: Shift | None = None
    shuffled: int = 0
    ids: tuple[int, int] = (0, 0)


def sentence(found: Found) -> str:
    """What changed, without a full stop at the end. Invisible characters are shown."""
    spot = found.spot
    if found.change == "prefix rebuilt":
        return "the two prompts have nothing in common: tools, system prompt and messages are other ones"
    if spot.form == "group":
        noun = {"tools": "the tools", "schema": "the response schema", "system": "the system prompt"}[found.group]
        verb = "are" if found.group == "tools" else "is"
        return f"{noun} {verb} gone" if spot.now is UNSET else f"{noun} {verb} new: the earlier request had none"
    if found.tools is not None:
        return _tools(found, found.tools)
    if found.shift is not None:
        return _shift(found, found.shift)
    if found.shuffled:
        return f"{found.shuffled} messages from {_unit(found)} on stand in another order"
    if spot.form == "ids":
        return _ids(found)
    if spot.form == "role":
        return f"{_unit(found)} was sent as {_quote(spot.was)} and is now sent as {_quote(spot.now)}"
    return _inside(found)


def _inside(found: Found) -> str:
    spot = found.spot
    if spot.lists is not None:
        return _list(found, *spot.lists)
    if found.change == "list order":
        return f"{_unit(found)} holds the same blocks in another order"
    place = _place(found, spot.pointer)
    if spot.form == "element":
        gone = spot.now is UNSET
        return f"{place} is {'gone' if gone else 'new'}: {_value(spot.was if gone else spot.now)}"
    if spot.form == "type":
        return f"{place} was of type {_quote(spot.names[0])} and is now of type {_quote(spot.names[1])}"
    if found.change == "json order" and spot.form == "members":
        first, second = map(_quote, spot.names)
        return f"{place} has the same members in another order: {second} stands where {first} stood"
    if found.change == "member replaced":
        return f"{place} has the member {_quote(spot.names[1])} where it had {_quote(spot.names[0])}"
    if found.change in ("member added", "member removed"):
        verb = "gained the" if found.change == "member added" else "lost its"
        return f"{place} {verb} member {_listed(found.names[-1:])}"
    if spot.form == "value":
        return f"{place} was {_value(spot.was)} and is now {_value(spot.now)}"
    return _string(found, place)


def _string(found: Found, place: str) -> str:
    spot = found.spot
    offset = spot.offset or 0
    change = found.change
    was, now = _cores(found, forms=change == "unicode form")
    at = f"at character {offset}"
    if change == "image":
        return f"{place} has other bytes or another address"
    if change == "json order":
        return f"{place} is the same JSON with its members in another order"
    if change == "json text":
        return f"{place} is the same JSON printed in another way, from character {offset} on: {was} became {now}"
    if change == "replaced":
        return f"{place} was replaced: {was} became {now}"
    if change == "shortened":
        return (
            f"{place} was shortened from {len(spot.was):,} to {len(spot.now):,} characters, from character {offset} on"
        )
    if change == "suffix removed":
        return f"{place} lost its end {at}: {_quote(spot.was[offset:])} is gone"
    if change == "suffix added":
        return f"{place} has more text {at}: {_quote(spot.now[offset:])} was added"
    if change == "white space":
        return f"only white space or invisible characters differ in {place}, {at}: {was} became {now}"
    if change == "unicode form":
        return f"only the Unicode form of the same characters differs in {place}, {at}: {was} became {now}"
    if change == "letter case":
        return f"only capital and small letters differ in {place}, {at}: {was} became {now}"
    if change == "line order":
        return f"{place} holds the same lines in another order, {at}: {was} became {now}"
    if change == "id value":
        return f"{place} is another one: {_quote(spot.was)} became {_quote(spot.now)}"
    return f"{place} differs {at}: {was} became {now}"


def _tools(found: Found, tools: ToolsChange) -> str:
    if tools.added or tools.removed:
        parts = [
            f"{'a tool' if len(names) == 1 else f'{len(names)} tools'} {verb}: {_listed(names)}"
            for verb, names in (("added", tools.added), ("removed", tools.removed))
            if names
        ]
        return f"{', '.join(parts)}; the lists differ from tool {found.index + 1} on"
    same = f"the same {len(tools.now)} tools"
    places = [place for place, name in enumerate(tools.now) if tools.was[place] != name]
    if len(places) == 2:
        first, second = (f"tool {place + 1} {_quote(tools.now[place])}" for place in places)
        return f"{first} and {second} changed places ({same})"
    old, new = (_quote(names[found.index]) for names in (tools.was, tools.now))
    return f"{same} stand in another order from tool {found.index + 1} on: {new} stands where {old} stood"


def _shift(found: Found, shift: Shift) -> str:
    noun = "system block" if found.group == "system" else "message"
    at = f"from {_unit(found)} on"
    if not shift.dropped:
        return f"{_counted(shift.inserted, noun)} put in front of the earlier ones, {at}"
    if shift.inserted:
        return f"{shift.dropped} {noun}s became one, {at}; the ones behind follow unchanged"
    return f"{_counted(shift.dropped, noun)} dropped {at}; the ones behind moved to the front"


def _ids(found: Found) -> str:
    spot = found.spot
    position = spot.offset or 0
    old, new = (side[position : position + count] for side, count in zip((spot.was, spot.now), found.ids, strict=True))
    if found.ids == (0, 0):
        return f"the token ids differ from position {position} on"
    end = "the same ids follow, so the text may be the same" if found.change == "ids merged" else "the same ids follow"
    return f"token ids {old} became {new} at position {position}; {end}"


def _place(found: Found, pointer: str) -> str:
    """What a pointer stands for, as a reader would say it."""
    inner = pointer[len(_unit_pointer(found)) :]
    in_messages = found.group not in ("tools", "schema")
    steps = [f"{_NOUNS.get(name, 'block')} {int(number) + 1}" for name, number in _LISTS.findall(inner)]
    around = " in ".join([*(reversed(steps) if in_messages else ()), _unit(found)])
    named = [token for token in inner.split("/") if token and not (token.isdecimal() and not in_messages)]
    if not named or named[-1].isdecimal() or (in_messages and named[-1] in ("content", "text")):
        return around
    return f"{_quote(named[-1].replace('~1', '/').replace('~0', '~'))} of {around}"


def _unit(found: Found) -> str:
    units = found.now if found.index < len(found.now) else found.was
    if found.group == "schema":
        return "the response schema"
    if found.index >= len(units):
        return f"message {found.index + 1}"
    unit = units[found.index]
    if found.group == "tools":
        name = tool_name(unit)
        return f"tool {found.index + 1} {_quote(name)}" if name else f"tool {found.index + 1}"
    if unit.is_raw_prompt:
        return "the prompt"
    alone = sum(one.kind == "system" for one in found.now) < 2 and not found.index
    if unit.kind == "system" and (alone or found.group == "system"):
        return "the system prompt" if alone else f"system block {found.index + 1}"
    if unit.pointer.count("/") == 1:
        return "the input"
    return f"message {found.index + 1} ({_ROLES.get(unit.kind, unit.kind)})"


def _unit_pointer(found: Found) -> str:
    units = found.now if found.index < len(found.now) else found.was
    return units[found.index].pointer if found.index < len(units) else ""


def _cores(found: Found, *, forms: bool) -> tuple[str, str]:
    """The parts of two strings that differ, out to the ends of their words, quoted."""
    was, now, behind = found.spot.was, found.spot.now, found.same_end
    offset = found.spot.offset or 0
    start = offset - _word(was[max(0, offset - _LONGEST_WORD) : offset][::-1])
    quotes = []
    for text in (was, now):
        end = len(text) - behind
        quotes.append(_quote(text[start : end + _word(text[end : end + _LONGEST_WORD])], forms=forms))
    return quotes[0], quotes[1]


def _word(text: str) -> int:
    """Code points of the word that a text begins with; 0 for one that is too long."""
    length = 0 if not text or text[0].isspace() else len(text.split(None, 1)[0])
    return length if length < _LONGEST_WORD else 0


def _quote(text: str, *, forms: bool = False) -> str:
    shown = visible(text[:_LONGEST_QUOTE], forms=forms, at_end=len(text) <= _LONGEST_QUOTE)
    return f'"{shown}…"' if len(text) > _LONGEST_QUOTE else f'"{shown}"'


def _value(value: Any) -> str:
    text = compact(value)
    return visible(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…")


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(_quote(name) for name in names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


def _list(found: Found, was: list[Any], now: list[Any]) -> str:
    place = _place(found, found.spot.list_pointer)
    if found.change == "list order":
        return f"{place} holds the same {len(now)} items in another order"
    names = found.names[1:] if found.group == "tools" else found.names
    return f"{place} has {abs(len(now) - len(was))} {'more' if len(now) > len(was) else 'fewer'}: {_listed(names)}"


def _counted(count: int, noun: str) -> str:
    return f"one {noun} was" if count == 1 else f"{count} {noun}s were"
