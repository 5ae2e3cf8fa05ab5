"""Where each value of a JSON text stands: a walker that knows the code-point span of every value it visits.

`json` throws places away and a scanner in Python is slow. Here the outer levels, where a request has few but large
values, are walked in Python, and every value below is left to the C scanner of `json`, which says where it ends.
Deeper levels are walked when they are asked for.

Read as `json.loads` reads: of duplicate keys the last one counts, `NaN` and `Infinity` are taken, lone surrogates in
escapes stay lone surrogates. Offsets count code points of the text as sent; a byte-order mark is code point 0.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

_LEVELS = 3
"""Containers walked at once: the body, its message list, a message. One C scan a value then covers a whole request."""

_raw_decode = json.JSONDecoder().raw_decode
_skip_white_space = re.compile(r"[ \t\n\r]*").match
_BYTE_ORDER_MARK = "\ufeff"


class Node:
    """One value of a JSON text: `text[start:end]` as sent, `value` decoded, `pointer` its place (RFC 6901)."""

    __slots__ = ("_children", "end", "pointer", "start", "text", "value")

    def __init__(self, text: str, pointer: str, start: int) -> None:
        self.text = text
        self.pointer = pointer
        self.start = start
        self.end = start
        self.value: Any = None
        self._children: dict[str, Node] | list[Node] | None = None

    def members(self) -> dict[str, Node]:
        """The members of an object in the order sent, {} for any other value.

        A duplicate key stands where it came first and holds the last value, as in the decoded object.
        """
        if not isinstance(self.value, dict):
            return {}
        if self._children is None:
            _walk_object(self, 1)
        return self._children  # type: ignore[return-value]

    def items(self) -> list[Node]:
        """The elements of an array, [] for any other value."""
        if not isinstance(self.value, list):
            return []
        if self._children is None:
            _walk_array(self, 1)
        return self._children  # type: ignore[return-value]

    def get(self, key: str) -> Node | None:
        """One member of an object, None when it is not there or the value is no object."""
        return self.members().get(key)


def parse(text: str) -> Node:
    """The root of a JSON text. ValueError with line and column when it is none, or holds more than one value."""
    start = _next_place(text, 1 if text.startswith(_BYTE_ORDER_MARK) else 0)
    root = Node(text, "", start)
    try:
        _walk(root, _LEVELS)
        complete = _next_place(text, root.end) == len(text)
    except (ValueError, IndexError, RecursionError):
        complete = False
    if not complete:
        raise _fault(text)
    return root


def decode_text(body: bytes) -> str:
    """A body's text. ValueError with the place when it is not UTF-8, the only encoding RFC 8259 allows on the wire."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise ValueError(f"not UTF-8 at byte {error.start} (line {line}): {error.reason}") from None


def escape_pointer(key: str) -> str:
    """A key as a reference token of a JSON pointer (RFC 6901 section 3)."""
    if "~" in key or "/" in key:
        return key.replace("~", "~0").replace("/", "~1")
    return key


def resolve(value: Any, pointer: str) -> Any:
    """The value a JSON pointer names in a decoded document. KeyError, IndexError or ValueError when there is none."""
    for key in _keys(pointer):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


@lru_cache(maxsize=1024)
def _keys(pointer: str) -> tuple[str, ...]:
    """The members and elements that a pointer goes through. Requests have the same ones over and over."""
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"a JSON pointer starts with '/': {pointer!r}")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def node_at(root: Node, pointer: str) -> Node:
    """The value a JSON pointer names in a text. KeyError, IndexError or ValueError when there is none."""
    node = root
    for key in _keys(pointer):
        node = node.items()[int(key)] if isinstance(node.value, list) else node.members()[key]
    return node


def compact(value: Any) -> str:
    """A value as JSON without white space, keys in the order they came, non-ASCII text as itself."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _walk(node: Node, levels: int) -> None:
    """Read the value at `node.start`; sets `value` and `end`, and the children of `levels` levels of containers."""
    opening = node.text[node.start]
    if levels and opening == "{":
        _walk_object(node, levels)
    elif levels and opening == "[":
        _walk_array(node, levels)
    else:
        node.value, node.end = _raw_decode(node.text, node.start)


def _walk_object(node: Node, levels: int) -> None:
    text, pointer = node.text, node.pointer
    children: dict[str, Node] = {}
    position = _next_place(text, node.start + 1)
    separator = text[position]
    while separator != "}":
        if text[position] != '"':
            raise ValueError
        key, position = scanstring(text, position + 1)
        position = _next_place(text, position)
        if text[position] != ":":
            raise ValueError
        child = Node(text, f"{pointer}/{escape_pointer(key)}", _next_place(text, position + 1))
        _walk(child, levels - 1)
        children[key] = child
        position = _next_place(text, child.end)
        separator = text[position]
        if separator == ",":
            position = _next_place(text, position + 1)
        elif separator != "}":
            raise ValueError
    node.value = {key: child.value for key, child in children.items()}
    node.end = position + 1
    node._children = children


def _walk_array(node: Node, levels: int) -> None:
    text, pointer = node.text, node.pointer
    children: list[Node] = []
    position = _next_place(text, node.start + 1)
    separator = text[position]
    while separator != "]":
        child = Node(text, f"{pointer}/{len(children)}", position)
        _walk(child, levels - 1)
        children.append(child)
        position = _next_place(text, child.end)
        separator = text[position]
        if separator == ",":
            position = _next_place(text, position + 1)
        elif separator != "]":
            raise ValueError
    node.value = [child.value for child in children]
    node.end = position + 1
    node._children = children


def _next_place(text: str, position: int) -> int:
    """The first place from `position` on that is not white space."""
    if text[position : position + 1] in _WHITE_SPACE:
        return _skip_white_space(text, position).end()  # type: ignore[union-attr]
    return position


_WHITE_SPACE = frozenset(" \t\n\r")


def _fault(text: str) -> ValueError:
    """Why `text` is not one JSON value, in the words and with the line and column of `json`."""
    try:
        json.loads(text.replace(_BYTE_ORDER_MARK, " ", 1) if text.startswith(_BYTE_ORDER_MARK) else text)
    except json.JSONDecodeError as error:
        return error
    except RecursionError:
        return ValueError("JSON nested too deeply to be read")
    except ValueError as error:  # an integer of more digits than Python converts
        return ValueError(f"JSON that cannot be read: {error}")
    raise AssertionError("the walker and json.loads disagree")
