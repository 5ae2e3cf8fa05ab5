"""Changing values of a JSON text where they stand, so that everything else stays as it was sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from hitrate.core.spans import Node, compact, decode_text, parse


class Edit(NamedTuple):
    """`text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str


def root_of(body: bytes) -> Node:
    """ValueError for a body that is no JSON."""
    return parse(decode_text(body))


def replaced(node: Node, value: Any) -> Edit:
    return Edit(node.start, node.end, compact(value))


def edited(body: bytes, text: str, edits: Iterable[Edit]) -> bytes:
    """The body with the edits, of which none overlaps another; the same object without any."""
    found = sorted(edits)
    if not found:
        return body
    pieces, position = [], 0
    for edit in found:
        pieces += [text[position : edit.start], edit.new]
        position = edit.end
    return "".join((*pieces, text[position:])).encode("utf-8", "surrogatepass")


def node_at(root: Node, pointer: str) -> Node | None:
    """The value a JSON pointer names; None where there is none."""
    node: Node | None = root
    for token in pointer.split("/")[1:]:
        if node is None:
            return None
        if isinstance(node.value, list):
            items = node.items()
            node = items[int(token)] if token.isdecimal() and int(token) < len(items) else None
        else:
            node = node.get(token.replace("~1", "/").replace("~0", "~"))
    return node


def walked(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed([*one.members().values(), *one.items()]))
