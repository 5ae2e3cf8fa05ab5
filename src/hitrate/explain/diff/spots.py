"""The place where two units part, and what stands there on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Literal

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hitrate.core.spans import compact, escape_pointer
from hitrate.explain.diff.texts import common_prefix
from hitrate.explain.diff.units import Path, Piece, Request, Unit, is_type, leaf_characters

Form = Literal["string", "value", "ids", "members", "element", "type", "role", "group"]


class Spot(Struct, frozen=True, kw_only=True, gc=False):
    """Where two prompts part.

    - string: two strings differ at `offset`
    - value: two values that are not both strings, or not both objects, or not both lists
    - ids: two lists of token ids differ at number `offset`
    - members: two objects have other members, or the same in another order: `names` are the first two that differ
    - element: a list has an element more on one side, the other side is UNSET
    - type: two content blocks or items of other types, which are `names`
    - role: the same text under another role
    - group: tools, schema or system prompt are there on one side only
    """

    form: Form
    pointer: str
    was: Any = UNSET
    now: Any = UNSET
    offset: int | None = None
    names: tuple[str, str] = ("", "")
    characters: int = 0
    """Code points of prompt text of the unit in front of the spot, without `offset`."""
    kind: str = ""
    is_id: bool = False
    lists: tuple[list[Any], list[Any]] | None = None
    """The outermost lists around the spot that hold the same elements in another order, or some more on one side."""
    list_pointer: str = ""
    """Of these lists."""


class _Pair(Struct, frozen=True, gc=False):
    """Two units of one group, with the number of rendered pieces they share at the start."""

    was: Unit
    now: Unit
    before: Request
    after: Request
    index: int


def find_spot(was: Unit, now: Unit, before: Request, after: Request) -> Spot | None:
    """Where two units of one group part; None when they are rendered alike after all."""
    was.place_pieces()
    now.place_pieces()
    index = common_prefix(was.signature, now.signature)
    pair = _Pair(was, now, before, after, index)
    one = was.rendered[index] if index < len(was.rendered) else None
    other = now.rendered[index] if index < len(now.rendered) else None
    if one is None and other is None:
        return _roles(pair, None)
    if one is None or other is None or one.path != other.path:
        # A content of null or "" is nothing to the engine, but it is what stands there.
        following = _following(was, index), _following(now, index)
        if None not in following and not _both_empty(*following):  # type: ignore[arg-type]
            one, other = following
    if one is None or other is None:
        return _end(pair, one, other)
    if one.path == other.path:
        return _same_place(pair, one, other)
    return _other_places(pair, one, other)


def _following(unit: Unit, index: int) -> Piece | None:
    """The piece behind the first `index` rendered ones, with or without text."""
    start = unit.pieces.index(unit.rendered[index - 1]) + 1 if index else 0
    return unit.pieces[start] if start < len(unit.pieces) else None


def _both_empty(one: Piece, other: Piece) -> bool:
    return not one.text and not other.text and one.path == other.path


def _same_place(pair: _Pair, one: Piece, other: Piece) -> Spot | None:
    if one.text == other.text:
        return _roles(pair, other) if one.kind != other.kind else None
    old_place, place = one.pointer, other.pointer
    old, new = pair.before.value(old_place), pair.after.value(place)
    if _alike(old, new):  # what differs is said beside it, as the detail of an image
        old_place, place = old_place.rpartition("/")[0], place.rpartition("/")[0]
        old, new = pair.before.value(old_place), pair.after.value(place)
    front = pair.now.characters_before(other)
    if _are_ids(old) and _are_ids(new):
        return _ids(old, new, place)
    old, new = ("" if value is None else value for value in (old, new))
    of_tools = pair.now.group == "tools"
    spot = first_difference(old, new, place, skip_types=of_tools or pair.now.group == "schema", is_tool=of_tools)
    if spot is None:
        return None
    kind = other.kind if other.text else one.kind
    return replace(spot, characters=front + spot.characters, kind=kind, is_id=other.is_id)


def _roles(pair: _Pair, piece: Piece | None) -> Spot | None:
    pointer = f"{pair.now.pointer}/role"
    old, new = pair.before.value(f"{pair.was.pointer}/role"), pair.after.value(pointer)
    if old == new:
        return None
    old, new = (role if isinstance(role, str) else "" for role in (old, new))
    front = 0 if piece is None else pair.now.characters_before(piece)
    offset = common_prefix(old, new)
    return Spot(form="role", pointer=pointer, was=old, now=new, offset=offset, characters=front, kind=pair.now.kind)


def _other_places(pair: _Pair, one: Piece, other: Piece) -> Spot:
    """The pieces that differ stand at different places: in other members, or in blocks of other types."""
    depth = common_prefix(one.path, other.path)
    numbers = _number(one.path, depth), _number(other.path, depth)
    if numbers[0] is not None and numbers[1] is not None:
        # One block ended, the other goes on with a further member.
        longer = numbers[0] < numbers[1]
        return _members(pair, one if longer else None, None if longer else other, depth + 1, other)
    pointer = _around(pair.now, other, depth)
    old, new = pair.before.value(_around(pair.was, one, depth)), pair.after.value(pointer)
    types = (_type(old, one.path, depth), _type(new, other.path, depth))
    typed = isinstance(old, dict) and isinstance(new, dict) and ("type" in old or "type" in new)
    in_list = depth > 0 and _number(other.path, depth - 1) is not None
    opens = not pair.index or common_prefix(pair.now.rendered[pair.index - 1].path, other.path) < depth
    whole = depth in (len(one.path), len(other.path))
    if types[0] != types[1] and (typed or whole or (in_list and opens)):
        front = pair.now.characters_before(other)
        return Spot(form="type", pointer=pointer, was=old, now=new, names=types, characters=front, kind=other.kind)
    return _members(pair, one, other, depth, other)


def _end(pair: _Pair, one: Piece | None, other: Piece | None) -> Spot:
    """One unit has no further piece."""
    unit, request, piece = (pair.was, pair.before, one) if one is not None else (pair.now, pair.after, other)
    assert piece is not None
    depth = common_prefix(unit.rendered[pair.index - 1].path if pair.index else (), piece.path)
    if _number(piece.path, depth) is None:
        return _members(pair, one, other, depth, other)
    pointer = _around(unit, piece, depth + 1)
    found = request.value(pointer)
    return Spot(
        form="element",
        pointer=pointer,
        was=UNSET if one is None else found,
        now=UNSET if other is None else found,
        characters=pair.now.characters_before(other),
        kind=piece.kind,
    )


def _members(pair: _Pair, one: Piece | None, other: Piece | None, depth: int, behind: Piece | None) -> Spot:
    """The objects `depth` steps down part in the members that hold the pieces; None for a side without one.

    `behind` is the first piece of the later unit that is not shared.
    """
    unit, piece = (pair.now, other) if other is not None else (pair.was, one)
    assert piece is not None
    pointer = _around(unit, piece, depth)
    return Spot(
        form="members",
        pointer=pointer,
        was=pair.before.value(pointer),
        now=pair.after.value(pointer),
        names=(_name(one, depth), _name(other, depth)),
        characters=pair.now.characters_before(behind),
        kind=piece.kind,
    )


def first_difference(
    was: Any, now: Any, pointer: str, skip_types: bool = False, *, is_tool: bool = False
) -> Spot | None:
    """Where two decoded JSON values part, members compared in the order they came; None when they are alike.

    `is_tool`: values of another type at the top are other things, not one thing with another value.
    """
    characters = 0
    around: tuple[tuple[list[Any], list[Any]], str] | None = None
    while True:
        if isinstance(was, str) and isinstance(now, str):
            form: Form = "string"
            offset: int | None = common_prefix(was, now)
            if was == now:
                return None
            break
        if isinstance(was, dict) and isinstance(now, dict):
            if is_tool and was.get("type") != now.get("type"):
                names = (str(was.get("type", "")), str(now.get("type", "")))
                return Spot(form="type", pointer=pointer, was=was, now=now, names=names)
            pairs: Sequence[tuple[Any, Any]] = list(zip_longest(was, now))
        elif isinstance(was, list) and isinstance(now, list):
            if around is None and _rearranged(was, now):
                around = (was, now), pointer
            pairs = [
                (index if index < len(was) else None, index if index < len(now) else None)
                for index in range(max(len(was), len(now)))
            ]
        else:
            form, offset = "value", None
            if type(was) is type(now) and was == now:
                return None
            break
        is_tool = False
        for old, new in pairs:
            if old != new:
                spot = _missing(was, now, old, new, pointer, characters)
                return spot if around is None else replace(spot, lists=around[0], list_pointer=around[1])
            if not _alike(was[old], now[new]):
                break
            if not (skip_types and is_type(str(old), was[old])):
                characters += leaf_characters(was[old], skip_types)
        else:
            return None
        was, now = was[old], now[new]
        pointer = f"{pointer}/{escape_pointer(str(old))}"
    spot = Spot(form=form, pointer=pointer, was=was, now=now, offset=offset, characters=characters)
    return spot if around is None else replace(spot, lists=around[0], list_pointer=around[1])


def _missing(was: Any, now: Any, old: Any, new: Any, pointer: str, characters: int) -> Spot:
    """Objects whose members part here, or lists of which one ends here."""
    if isinstance(was, dict):
        names = ("" if old is None else old, "" if new is None else new)
        return Spot(form="members", pointer=pointer, was=was, now=now, names=names, characters=characters)
    return Spot(
        form="element",
        pointer=f"{pointer}/{new if old is None else old}",
        was=UNSET if old is None else was[old],
        now=UNSET if new is None else now[new],
        characters=characters,
    )


def _rearranged(was: list[Any], now: list[Any]) -> bool:
    """Whether one list holds all elements of the other."""
    old, new = sorted(map(compact, was)), sorted(map(compact, now))
    fewer, more = (old, iter(new)) if len(old) <= len(new) else (new, iter(old))
    return all(one in more for one in fewer)  # `in` runs the iterator on: both are sorted


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(one) is int for one in value)


def _ids(was: list[int], now: list[int], pointer: str) -> Spot:
    position = common_prefix(was, now)
    return Spot(
        form="ids",
        pointer=f"{pointer}/{position}",
        was=was,
        now=now,
        offset=position,
        characters=sum(len(str(one)) for one in now[:position]),
        kind="user",
    )


def _around(unit: Unit, piece: Piece, depth: int) -> str:
    """The pointer of what stands around a piece, `depth` steps down from its unit."""
    tokens = piece.pointer[len(unit.pointer) + 1 :].split("/") if len(piece.pointer) > len(unit.pointer) else []
    return "/".join([unit.pointer, *tokens[:depth]])


def _name(piece: Piece | None, depth: int) -> str:
    return str(piece.path[depth]) if piece is not None and depth < len(piece.path) else ""


def _number(path: Path, depth: int) -> int | None:
    """The position in a list that a path goes through."""
    step = path[depth] if depth < len(path) else None
    return step if isinstance(step, int) else None


def _type(value: Any, path: Path, depth: int) -> str:
    """The type of a block or item: as it says itself, else the member that tells it apart."""
    named = value.get("type") if isinstance(value, dict) else None
    return named if isinstance(named, str) else str(path[depth]) if depth < len(path) else ""


def _alike(was: Any, now: Any) -> bool:
    """Whether two decoded values print the same JSON: members in one order, 1 apart from 1.0 and true."""
    return was == now if isinstance(was, str) and isinstance(now, str) else compact(was) == compact(now)
