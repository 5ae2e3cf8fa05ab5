"""What became of a request on its way through a router: what was dropped, added, renamed, reordered or rewritten.

Compared as JSON, member by member, because routers that read a request write it anew; then every byte differs and most
of it means the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hitrate.core.spans import escape_pointer


class Passage(NamedTuple):
    """JSON pointers into the body as sent; of `added` into the body as it arrived. All empty for the same bytes."""

    same_bytes: bool
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """Members of one object that went and came with an equal value."""
    changed: tuple[str, ...] = ()
    reordered: tuple[str, ...] = ()
    """Objects whose members came in another order; those that went or came apart."""

    def touches(self, start: str) -> bool:
        """Whether anything at or below a pointer was dropped, added, changed or reordered."""
        pointers = (*self.dropped, *self.added, *self.changed, *self.reordered, *(old for old, _ in self.renamed))
        return any(pointer == start or pointer.startswith(start + "/") for pointer in pointers)


def passage(sent: Any, arrived: Any, *, same_bytes: bool = False) -> Passage:
    """Of two decoded JSON values, objects with their members in order."""
    if same_bytes:
        return Passage(True)
    found: dict[str, list[Any]] = {"dropped": [], "added": [], "renamed": [], "changed": [], "reordered": []}
    _compare(sent, arrived, "", found)
    return Passage(False, **{name: tuple(pointers) for name, pointers in found.items()})


def _compare(sent: Any, arrived: Any, pointer: str, found: dict[str, list[Any]]) -> None:
    if isinstance(sent, dict) and isinstance(arrived, dict):
        _compare_members(sent, arrived, pointer, found)
    elif isinstance(sent, list) and isinstance(arrived, list):
        for index, value in enumerate(sent):
            if index < len(arrived):
                _compare(value, arrived[index], f"{pointer}/{index}", found)
            else:
                found["dropped"].append(f"{pointer}/{index}")
        found["added"].extend(f"{pointer}/{index}" for index in range(len(sent), len(arrived)))
    elif isinstance(sent, bool) is not isinstance(arrived, bool) or sent != arrived:
        found["changed"].append(pointer)


def _compare_members(
    sent: Mapping[str, Any], arrived: Mapping[str, Any], pointer: str, found: dict[str, list[Any]]
) -> None:
    gone = [name for name in sent if name not in arrived]
    new = [name for name in arrived if name not in sent]
    for old, name in list(_renamed(sent, arrived, gone, new)):
        found["renamed"].append((_below(pointer, old), _below(pointer, name)))
        gone.remove(old)
        new.remove(name)
    found["dropped"].extend(_below(pointer, name) for name in gone)
    found["added"].extend(_below(pointer, name) for name in new)
    if [name for name in sent if name in arrived] != [name for name in arrived if name in sent]:
        found["reordered"].append(pointer)
    for name, value in sent.items():
        if name in arrived:
            _compare(value, arrived[name], _below(pointer, name), found)


def _renamed(
    sent: Mapping[str, Any], arrived: Mapping[str, Any], gone: list[str], new: list[str]
) -> Iterator[tuple[str, str]]:
    """Only for values that cannot be equal by chance: true, null, 0 and empty ones tell nothing."""
    taken: set[str] = set()
    for old in gone:
        value = sent[old]
        if isinstance(value, bool) or not value:
            continue
        name = next((name for name in new if name not in taken and arrived[name] == value), None)
        if name is not None:
            taken.add(name)
            yield old, name


def _below(pointer: str, name: str) -> str:
    return f"{pointer}/{escape_pointer(name)}"
