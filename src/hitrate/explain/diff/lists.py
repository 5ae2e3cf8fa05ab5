"""Facts about whole lists: tools that moved, came or went, and messages that slid towards the front."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from hitrate.explain.diff.units import Unit

_LONGEST_SHUFFLE = 16
"""Messages in a row that are looked at as one set in another order, as the results of parallel calls."""


class ToolsChange(Struct, frozen=True):
    """How two lists of tools differ from their first difference on; names are empty where a tool has none."""

    was: tuple[str, ...]
    now: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    moved: tuple[str, ...]
    """Names in the order of `now`, where only the order is another one."""


class Shift(Struct, frozen=True):
    """`dropped` messages of the earlier prompt became `inserted` ones, and the same messages follow."""

    dropped: int
    inserted: int


def tool_name(unit: Unit) -> str:
    """What a tool is called: by its name, else by its type."""
    try:
        return name_of(json.loads(unit.pieces[0].text))
    except (ValueError, RecursionError, IndexError):
        return ""


def name_of(tool: Any) -> str:
    """As `tool_name`, of a decoded tool definition."""
    if not isinstance(tool, dict):
        return ""
    function = tool.get("function")
    for place in (function if isinstance(function, dict) else {}, tool):
        for member in ("name", "type"):
            if isinstance(place.get(member), str) and place[member]:
                return place[member]
    return next(iter(tool), "")


def tools_change(was: Sequence[Unit], now: Sequence[Unit], index: int) -> ToolsChange | None:
    """None where the first tool that differs is the same tool with another definition."""
    old, new = tuple(map(tool_name, was)), tuple(map(tool_name, now))
    if index < len(old) and index < len(new) and old[index] == new[index]:
        return None
    counts = Counter(old), Counter(new)
    added = tuple((counts[1] - counts[0]).elements())
    removed = tuple((counts[0] - counts[1]).elements())
    moved = tuple(name for place, name in enumerate(new) if old[place] != name) if counts[0] == counts[1] else ()
    return ToolsChange(old, new, added, removed, moved)


def shift_of(was: Sequence[Unit], now: Sequence[Unit], index: int) -> Shift | None:
    """The fewest messages that, put in or taken out of the earlier list at `index`, make the rest follow again.

    All the rest of the earlier list has to follow, so that a repeated "Go on." is not taken for a shift.
    """
    old = [unit.signature for unit in was[index:]]
    new = [unit.signature for unit in now[index:]]
    for inserted in range(1, len(new) - len(old) + 1) if old else ():
        if old[0] == new[inserted] and old == new[inserted : inserted + len(old)]:
            return Shift(0, inserted)
    for dropped in range(1, len(old)) if new else ():
        for inserted in (0, 1) if dropped > 1 and len(new) > 1 else (0,):
            same = old[dropped] == new[inserted]
            if same and old[dropped:] == new[inserted : inserted + len(old) - dropped]:
                return Shift(dropped, inserted)
    return None


def shuffled(was: Sequence[Unit], now: Sequence[Unit], index: int) -> int:
    """How many messages from `index` on are the same in another order; 0 when they are not."""
    most = min(_LONGEST_SHUFFLE, len(was) - index, len(now) - index)
    if most < 2 or was[index].signature not in [unit.signature for unit in now[index : index + most]]:
        return 0
    for count in range(2, most + 1):
        old = Counter(unit.signature for unit in was[index : index + count])
        if old == Counter(unit.signature for unit in now[index : index + count]):
            return count
    return 0
