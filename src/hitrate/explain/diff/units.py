"""A request as it is compared: tools, schemas, system blocks and messages, each as pieces of text with their places.

The pieces are the segments of the canonical prompt. On the chat wire the ids of tool calls come in addition: some
templates print them, others do not, and agents that invent new ones for every request do it on all wires.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, Literal

from hitrate.core import spans
from hitrate.core.prompt import CanonicalPrompt, Segment
from hitrate.core.spans import Node

Group = Literal["tools", "schema", "system", "messages"]

GROUPS: tuple[Group, ...] = ("tools", "schema", "system", "messages")
"""In the order they are rendered."""

MARKERS = frozenset({"cache_control", "prompt_cache_breakpoint", "cachePoint"})
"""Members of a tool or a content block that are cache markers; deeper down these names are the user's own."""

ID_MEMBERS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "toolUseId"})

_SYSTEM_MEMBERS = frozenset({"system", "instructions", "systemInstruction", "system_instruction"})

_RAW_PROMPTS = frozenset({"prompt", "prompt_token_ids"})

_TEXT_MEMBERS = frozenset({"content", "output"})
"""Members whose string means the same as a list with one text block."""

_NULL_CHARACTERS = 4
"""A content of null counts as the word that a template without a check prints for it."""

Path = tuple[str | int, ...]


class Piece:
    """A string of prompt text, or a JSON value that is rendered whole.

    `path` is its place inside the unit, alike for shapes that are rendered alike: a string has the place of the text
    in the first block, and blocks without text are not counted.
    """

    __slots__ = ("characters", "kind", "path", "pointer", "text")

    def __init__(self, kind: str, text: str, pointer: str, characters: int, path: Path = ()) -> None:
        self.kind = kind
        self.text = text
        self.pointer = pointer
        self.characters = characters
        self.path = path

    @property
    def is_id(self) -> bool:
        return self.pointer.rpartition("/")[2] in ID_MEMBERS


class Unit:
    """One tool, schema, system block or message. `kind` is that of its first segment."""

    def __init__(self, group: Group, kind: str, pointer: str, pieces: list[Piece]) -> None:
        self.group = group
        self.kind = kind
        self.pointer = pointer
        self.pieces = pieces

    @cached_property
    def rendered(self) -> list[Piece]:
        return [piece for piece in self.pieces if piece.text]

    @cached_property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Equal for units that are rendered alike."""
        return tuple((piece.kind, piece.text) for piece in self.rendered) or ((self.kind, ""),)

    @cached_property
    def characters(self) -> int:
        return sum(piece.characters for piece in self.pieces)

    @property
    def is_raw_prompt(self) -> bool:
        return self.pointer[1:] in _RAW_PROMPTS

    def characters_before(self, piece: Piece | None) -> int:
        """Code points in front of a piece of this unit; all of them for None."""
        if piece is None:
            return self.characters
        return sum(one.characters for one in self.pieces[: self.pieces.index(piece)])


class Request:
    """A body with its canonical prompt, cut into units."""

    def __init__(self, prompt: CanonicalPrompt, body: bytes) -> None:
        self.root = spans.parse(spans.decode_text(body))
        self.units = self._units(prompt.segments)

    @cached_property
    def characters(self) -> int:
        return sum(unit.characters for unit in self.units)

    def of_group(self, group: Group) -> list[Unit]:
        return [unit for unit in self.units if unit.group == group]

    def node(self, pointer: str) -> Node | None:
        """The value a pointer names, None when there is none."""
        node: Node | None = self.root
        for token in pointer.split("/")[1:]:
            if node is None:
                return None
            if isinstance(node.value, list):
                node = node.items()[int(token)] if token.isdecimal() and int(token) < len(node.value) else None
            else:
                node = node.get(token.replace("~1", "/").replace("~0", "~"))
        return node

    def value(self, pointer: str) -> Any:
        """The decoded value a pointer names, None when there is none; markers of a tool or block left out."""
        node = self.node(pointer)
        value = None if node is None else node.value
        if isinstance(value, dict) and not MARKERS.isdisjoint(value):
            return {name: member for name, member in value.items() if name not in MARKERS}
        return value

    def _units(self, segments: tuple[Segment, ...]) -> list[Unit]:
        collected: list[tuple[Group, str, list[Segment]]] = []
        for segment in segments:
            group, pointer = self._home(segment)
            if collected and collected[-1][1] == pointer and group == collected[-1][0]:
                collected[-1][2].append(segment)
            else:
                collected.append((group, pointer, [segment]))
        return [self._unit(*one) for one in collected]

    def _home(self, segment: Segment) -> tuple[Group, str]:
        """The group and the unit that a segment belongs to."""
        if segment.kind in ("tools", "schema"):
            return segment.kind, segment.pointer  # type: ignore[return-value]
        tokens = segment.pointer.split("/", 3)
        top = tokens[1] if len(tokens) > 1 else ""
        group: Group = "system" if top in _SYSTEM_MEMBERS else "messages"
        if top in _RAW_PROMPTS or len(tokens) < 3 or not tokens[2].isdecimal():
            return group, f"/{top}"
        return group, f"/{top}/{tokens[2]}"

    def _unit(self, group: Group, pointer: str, segments: list[Segment]) -> Unit:
        pieces = [
            Piece(segment.kind, segment.text, segment.pointer, self._characters(segment, group))
            for segment in segments
            if segment.text or self.root.text[segment.start] != "{"  # an object without text is no place for one
        ]
        if pointer.startswith("/messages/"):
            pieces = self._with_call_ids(pointer, segments[0].kind, pieces)
        _place(pointer, pieces)
        return Unit(group, segments[0].kind, pointer, pieces)

    def _characters(self, segment: Segment, group: Group) -> int:
        """Code points of prompt text: of a value all strings and numbers in it; an image has none."""
        opening = self.root.text[segment.start : segment.start + 1]
        if segment.kind == "image" or not segment.text:
            return 0
        if opening == '"':
            hashed = segment.text.startswith("sha256:") and len(segment.text) == 71
            return segment.end - segment.start - 2 if hashed else len(segment.text)
        if segment.pointer.split("/")[1] in _RAW_PROMPTS and opening != "{":
            return len(segment.text) - segment.text.count(" ")
        try:
            return leaf_characters(json.loads(segment.text), group in ("tools", "schema"))
        except (ValueError, RecursionError):  # the hash of a long value, or one without a bottom
            return segment.end - segment.start

    def _with_call_ids(self, pointer: str, kind: str, pieces: list[Piece]) -> list[Piece]:
        """The pieces of a chat message with its call ids, and with a content of null, at their places."""
        message = self.node(pointer)
        members = {} if message is None else message.members()
        known = {piece.pointer for piece in pieces}
        added: list[tuple[str, Piece]] = []
        answered = members.get("tool_call_id")
        if answered is not None and isinstance(answered.value, str) and answered.pointer not in known:
            added.append((f"{pointer}/content", Piece(kind, answered.value, answered.pointer, len(answered.value))))
        calls = members["tool_calls"].items() if "tool_calls" in members else []
        for call in calls:
            name = call.get("id")
            if name is not None and isinstance(name.value, str) and name.pointer not in known:
                added.append((f"{call.pointer}/", Piece(kind, name.value, name.pointer, len(name.value))))
        content = members.get("content")
        if content is not None and content.value is None:
            added.insert(0, (f"{pointer}/tool_calls", Piece(kind, "", content.pointer, _NULL_CHARACTERS)))
        for before, piece in added:
            pieces.insert(_position(pieces, before), piece)
        return pieces


def leaf_characters(value: Any, without_types: bool) -> int:
    """Code points of all strings, numbers and words in a JSON value, names of members not counted.

    `without_types` leaves out what a schema says of types: it is the same in every tool.
    """
    characters = 0
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack += [member for name, member in one.items() if not (without_types and is_type(name, member))]
        elif isinstance(one, list):
            stack += one
        else:
            characters += len(one) if isinstance(one, str) else len(spans.compact(one))
    return characters


def is_type(name: str, value: Any) -> bool:
    return name == "type" and isinstance(value, str)


def _position(pieces: list[Piece], pointer: str) -> int:
    """Where a piece belongs that stands in front of those at or below a pointer."""
    return next((index for index, piece in enumerate(pieces) if piece.pointer.startswith(pointer)), len(pieces))


def _place(unit: str, pieces: list[Piece]) -> None:
    """Give every piece its path."""
    seen: dict[Path, dict[str, int]] = {}
    for piece in pieces:
        path: Path = ()
        rest = piece.pointer[len(unit) + 1 :]
        for token in rest.split("/") if rest else ():
            if token.isdecimal():
                ordinals = seen.setdefault(path, {})
                number = ordinals.setdefault(token, len(ordinals)) if piece.text else ordinals.get(token, len(ordinals))
                path = (*path, number)
            else:
                path = (*path, token)
        if path and path[-1] in _TEXT_MEMBERS:
            path = (*path, 0, "text")
        elif not path and unit.count("/") == 1:
            path = ("content", 0, "text") if unit == "/input" else ("text",)
        piece.path = path
