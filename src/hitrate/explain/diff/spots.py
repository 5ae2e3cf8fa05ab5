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


class Spot(Struct, frozen=True, kw_only=True):
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
    """The outermost lists around the spot that hold the same elements in another order, or fewer of them."""


def find_spot(was: Unit, now: Unit, before: Request, after: Request) -> Spot | None:
    """Where two units of one group part; None when they are rendered alike after all."""
    index = common_prefix(was.signature, now.signature)
    one = was.rendered[index] if index < len(was.rendered) else None
    other = now.rendered[index] if index < len(now.rendered) else None
    if one is None and other is None:
        return _roles(was, now, before, after)
    if one is None or other is None or one.path != other.path:
        # A content of null or "" is nothing to the engine, but it is what stands there.
        empty_one, empty_other = _following(was, index), _following(now, index)
        if empty_one is not None and empty_other is not None and not _both_empty(empty_one, empty_other):
            one, other = empty_one, empty_other
    if one is None or other is None:
        return _end(was, now, one, other, index, before, after)
    if one.path != other.path:
        return _other_places(was, now, one, other, index, before, after)
    return _same_place(was, now, one, other, before, after)


def _following(unit: Unit, index: int) -> Piece | None:
    """The piece behind the first `index` rendered ones, with or without text."""
    start = unit.pieces.index(unit.rendered[index - 1]) + 1 if index else 0
    return unit.pieces[start] if start < len(unit.pieces) else None


def _both_empty(one: Piece, other: Piece) -> bool:
    return not one.text and not other.text and one.path == other.path


def _same_place(was: Unit, now: Unit, one: Piece, other: Piece, before: Request, after: Request) -> Spot | None:
    if one.text == other.text:
        return _roles(was, now, before, after, other) if one.kind != other.kind else None
    old, new = before.value(one.pointer), after.value(other.pointer)
    if compact(old) == compact(new):  # what differs is said beside it, as the detail of an image
        pointer = other.pointer.rpartition("/")[0]
        old, new = before.value(one.pointer.rpartition("/")[0]), after.value(pointer)
    else:
        pointer = other.pointer
    front = now.characters_before(other)
    if _are_ids(old) and _are_ids(new):
        return _ids(old, new, pointer)
    old, new = ("" if value is None else value for value in (old, new))
    skip_types = now.group in ("tools", "schema")
    spot = first_difference(old, new, pointer, skip_types, is_tool=now.group == "tools")
    if spot is None:
        return None
    kind = now.kind if not other.text else other.kind
    return replace(spot, characters=front + spot.characters, kind=kind, is_id=other.is_id)


def _roles(was: Unit, now: Unit, before: Request, after: Request, piece: Piece | None = None) -> Spot | None:
    old, new = before.value(f"{was.pointer}/role"), after.value(f"{now.pointer}/role")
    if old == new:
        return None
    old, new = (role if isinstance(role, str) else "" for role in (old, new))
    return Spot(
        form="role",
        pointer=f"{now.pointer}/role",
        was=old,
        now=new,
        offset=common_prefix(old, new),
        characters=now.characters_before(piece) if piece is not None else 0,
        kind=now.kind,
    )


def _other_places(was: Unit, now: Unit, one: Piece, other: Piece, index: int, before: Request, after: Request) -> Spot:
    depth = common_prefix(one.path, other.path)
    front = now.characters_before(other)
    names = (_name(one.path, depth), _name(other.path, depth))
    place, old_place = _pointer(now, other, depth), _pointer(was, one, depth)
    if depth < len(one.path) and depth < len(other.path) and isinstance(one.path[depth], int):
        # One block ended, the other goes on with a further member.
        longer_was = one.path[depth] < other.path[depth]  # type: ignore[operator]
        unit, piece = (was, one) if longer_was else (now, other)
        member = _name(piece.path, depth + 1)
        container = _pointer(unit, piece, depth + 1)
        pair = (before.value(container), after.value(container))
        return Spot(
            form="members",
            pointer=container,
            was=pair[0],
            now=pair[1],
            names=(member, "") if longer_was else ("", member),
            characters=front,
            kind=piece.kind,
        )
    old, new = before.value(old_place), after.value(place)
    types = (_type(old, one.path, depth), _type(new, other.path, depth))
    fresh = not index or common_prefix(now.rendered[index - 1].path, other.path) < depth
    typed = isinstance(old, dict) and isinstance(new, dict) and ("type" in old or "type" in new)
    inside = bool(depth) and isinstance(other.path[depth - 1], int)
    if types[0] != types[1] and (typed or (inside and fresh) or not all(names)):
        return Spot(form="type", pointer=place, was=old, now=new, names=types, characters=front, kind=other.kind)
    return Spot(form="members", pointer=place, was=old, now=new, names=names, characters=front, kind=other.kind)


def _end(
    was: Unit, now: Unit, one: Piece | None, other: Piece | None, index: int, before: Request, after: Request
) -> Spot:
    """One unit has no further piece."""
    unit, piece = (was, one) if one is not None else (now, other)
    assert piece is not None
    last: Path = unit.rendered[index - 1].path if index else ()
    depth = common_prefix(last, piece.path)
    front = now.characters_before(other)
    if depth < len(piece.path) and isinstance(piece.path[depth], int):
        pointer = _pointer(unit, piece, depth + 1)
        found = UNSET if one is None else before.value(pointer), UNSET if other is None else after.value(pointer)
        return Spot(form="element", pointer=pointer, was=found[0], now=found[1], characters=front, kind=piece.kind)
    pointer = _pointer(unit, piece, depth)
    name = _name(piece.path, depth)
    return Spot(
        form="members",
        pointer=pointer,
        was=before.value(pointer),
        now=after.value(pointer),
        names=("", name) if one is None else (name, ""),
        characters=front,
        kind=piece.kind,
    )


def first_difference(
    was: Any, now: Any, pointer: str, skip_types: bool = False, *, is_tool: bool = False
) -> Spot | None:
    """Where two decoded JSON values part, members compared in the order they came; None when they are alike.

    `is_tool`: values of another type at the top are other things, not one thing with another value.
    """
    characters = 0
    lists: tuple[list[Any], list[Any]] | None = None
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
            if lists is None and _rearranged(was, now):
                lists = (was, now)
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
                return _missing(was, now, old, new, pointer, characters, lists)
            if compact(was[old]) != compact(now[new]):
                break
            if not (skip_types and is_type(str(old), was[old])):
                characters += leaf_characters(was[old], skip_types)
        else:
            return None
        was, now = was[old], now[new]
        pointer = f"{pointer}/{escape_pointer(str(old))}"
    return Spot(form=form, pointer=pointer, was=was, now=now, offset=offset, characters=characters, lists=lists)


def _missing(
    was: Any, now: Any, old: Any, new: Any, pointer: str, characters: int, lists: tuple[list[Any], list[Any]] | None
) -> Spot:
    """Objects whose members part here, or lists of which one ends here."""
    if isinstance(was, dict):
        names = ("" if old is None else old, "" if new is None else new)
        return Spot(form="members", pointer=pointer, was=was, now=now, names=names, characters=characters, lists=lists)
    return Spot(
        form="element",
        pointer=f"{pointer}/{new if old is None else old}",
        was=UNSET if old is None else was[old],
        now=UNSET if new is None else now[new],
        characters=characters,
        lists=lists,
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


def _pointer(unit: Unit, piece: Piece, depth: int) -> str:
    """The pointer of what stands around a piece, `depth` steps down from its unit."""
    tokens = piece.pointer[len(unit.pointer) + 1 :].split("/") if len(piece.pointer) > len(unit.pointer) else []
    return "/".join([unit.pointer, *tokens[:depth]])


def _name(path: Path, depth: int) -> str:
    return str(path[depth]) if depth < len(path) else ""


def _type(value: Any, path: Path, depth: int) -> str:
    """The type of a block or item: as it says itself, else the member that tells it apart."""
    named = value.get("type") if isinstance(value, dict) else None
    return named if isinstance(named, str) else _name(path, depth)
