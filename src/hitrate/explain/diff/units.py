"""A request as it is compared: tools, schemas, system blocks and messages, each as pieces of text with their places.

The pieces are the segments of the canonical prompt. On the chat wire the ids of tool calls come in addition: some
templates print them, others do not, and agents that invent new ones for every request do it on all wires.
"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import groupby
from typing import Any, Literal

from msgspec import UNSET

from hitrate.core import spans
from hitrate.core.prompt import CanonicalPrompt, Segment

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

_LONGEST_REMEMBERED = 8000
"""Characters of a tool definition whose count is kept, so that what is kept stays within a few megabytes."""

Path = tuple[str | int, ...]

Signature = tuple[tuple[str, str], ...]
"""Kind and text of each rendered piece."""


class Piece:
    """A string of prompt text, or a JSON value that is rendered whole.

    `path` is its place inside the unit, alike for shapes that are rendered alike: a string has the place of the text
    in the first block, and blocks without text are not counted. Units give it to their pieces when it is asked for.
    """

    __slots__ = ("characters", "kind", "path", "pointer", "text")

    def __init__(self, kind: str, text: str, pointer: str, characters: int) -> None:
        self.kind = kind
        self.text = text
        self.pointer = pointer
        self.characters = characters
        self.path: Path = ()

    @property
    def is_id(self) -> bool:
        return self.pointer.rpartition("/")[2] in ID_MEMBERS


class Unit:
    """One tool, schema, system block or message. `kind` is that of its first segment."""

    __slots__ = ("characters", "group", "kind", "pieces", "pointer", "rendered", "signature")

    def __init__(self, group: Group, kind: str, pointer: str, pieces: list[Piece]) -> None:
        self.group = group
        self.kind = kind
        self.pointer = pointer
        self.pieces = pieces
        characters = 0
        rendered: list[Piece] = []
        texts: list[tuple[str, str]] = []
        for piece in pieces:
            characters += piece.characters
            if piece.text:
                rendered.append(piece)
                texts.append((piece.kind, piece.text))
        self.rendered = rendered
        self.characters = characters
        self.signature: Signature = tuple(texts) or ((kind, ""),)
        """Equal for units that are rendered alike."""

    @property
    def is_raw_prompt(self) -> bool:
        return self.pointer[1:] in _RAW_PROMPTS

    def characters_before(self, piece: Piece | None) -> int:
        """Code points in front of a piece of this unit; all of them for None."""
        if piece is None:
            return self.characters
        # Pieces of a rendered prompt have one place; what is in front of the piece there is counted with the place.
        before = self.pieces[: self.pieces.index(piece)]
        return sum(one.characters for one in before if one.pointer != piece.pointer)

    def place_pieces(self) -> None:
        """Give every piece its path."""
        seen: dict[Path, dict[str, int]] = {}
        for piece in self.pieces:
            path: Path = ()
            rest = piece.pointer[len(self.pointer) + 1 :]
            for token in rest.split("/") if rest else ():
                if token.isdecimal():
                    ordinals = seen.setdefault(path, {})
                    following = len(ordinals)
                    path = (*path, ordinals.setdefault(token, following) if piece.text else following)
                else:
                    path = (*path, token)
            if path and path[-1] in _TEXT_MEMBERS:
                path = (*path, 0, "text")
            elif not path and self.pointer.count("/") == 1:
                path = ("content", 0, "text") if self.pointer == "/input" else ("text",)
            piece.path = path


class Request:
    """A body with its canonical prompt, cut into units."""

    def __init__(self, prompt: CanonicalPrompt, body: bytes, value: Any = UNSET) -> None:
        """`value` is the body decoded, where that is at hand. ValueError for a body that is no JSON."""
        self.prompt = prompt
        self.body = body
        self._root = _decoded(body) if value is UNSET else value
        self._places: spans.Node | None = None
        self.units = self._units(prompt.segments)
        self.characters = sum([unit.characters for unit in self.units])

    def of_group(self, group: Group) -> list[Unit]:
        return [unit for unit in self.units if unit.group == group]

    def value(self, pointer: str) -> Any:
        """The decoded value a pointer names, None when there is none; markers of a tool or block left out."""
        try:
            value = spans.resolve(self._root, pointer)
        except (LookupError, ValueError, TypeError):
            return None
        if isinstance(value, dict) and not MARKERS.isdisjoint(value):
            return {name: member for name, member in value.items() if name not in MARKERS}
        return value

    def _units(self, segments: tuple[Segment, ...]) -> list[Unit]:
        units = [self._unit(*home, list(own)) for home, own in groupby(segments, _home)]
        # A message without text has its place in the conversation all the same; an empty system prompt is none.
        return [unit for unit in units if unit.rendered or unit.group == "messages"]

    def _unit(self, group: Group, pointer: str, segments: list[Segment]) -> Unit:
        value = spans.resolve(self._root, pointer)
        within = len(pointer)
        pieces = []
        for segment in segments:
            sent = spans.resolve(value, segment.pointer[within:])  # what the segment was made of
            if segment.text or not isinstance(sent, dict):  # an object without text is no place for one
                characters = self._characters(segment, sent, group)
                pieces.append(Piece(segment.kind, segment.text, segment.pointer, characters))
        kind = segments[0].kind
        if kind in ("assistant", "tool") and pointer.startswith("/messages/"):
            _add_call_ids(pointer, kind, value, pieces)
        return Unit(group, kind, pointer, pieces)

    def _characters(self, segment: Segment, sent: Any, group: Group) -> int:
        """Code points of prompt text: of a value all strings and numbers in it; an image has none."""
        text = segment.text
        if segment.kind == "image" or not text:
            return 0
        if isinstance(sent, str):
            hashed = len(text) == 71 and text.startswith("sha256:")
            return self._length_as_sent(segment.pointer) if hashed else len(text)
        if not isinstance(sent, dict) and segment.pointer.split("/", 2)[1] in _RAW_PROMPTS:
            return len(text) - text.count(" ")
        return _json_characters(text, group in ("tools", "schema"))

    def _length_as_sent(self, pointer: str) -> int:
        """Code points between the quotes of a string, of which the prompt has no more than a hash."""
        if self._places is None:
            self._places = spans.parse(spans.decode_text(self.body))
        node = spans.node_at(self._places, pointer)
        return node.end - node.start - 2


def _home(segment: Segment) -> tuple[Group, str]:
    """The group and the pointer of the unit that a segment belongs to."""
    if segment.kind in ("tools", "schema"):
        return segment.kind, segment.pointer  # type: ignore[return-value]
    return _home_of_text(segment.pointer)


@lru_cache(maxsize=1024)
def _home_of_text(pointer: str) -> tuple[Group, str]:
    tokens = pointer.split("/", 3)
    top = tokens[1] if len(tokens) > 1 else ""
    group: Group = "system" if top in _SYSTEM_MEMBERS else "messages"
    if top in _RAW_PROMPTS or len(tokens) < 3 or not tokens[2].isdecimal():
        return group, f"/{top}"
    return group, f"/{top}/{tokens[2]}"


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(spans.decode_text(body).removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError("JSON nested too deeply to be read") from None


def _add_call_ids(pointer: str, kind: str, message: Any, pieces: list[Piece]) -> None:
    """Put the call ids of a chat message, and a content of null, among its pieces."""
    if not isinstance(message, dict):
        return
    calls = message.get("tool_calls")
    if calls is None and "tool_call_id" not in message and message.get("content", "") is not None:
        return
    named = [(f"{pointer}/tool_call_id", message.get("tool_call_id"), f"{pointer}/content")]
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        place = f"{pointer}/tool_calls/{index}"
        named.append((f"{place}/id", call.get("id") if isinstance(call, dict) else None, f"{place}/"))
    known = {piece.pointer for piece in pieces}
    if "content" in message and message["content"] is None:
        empty = Piece(kind, "", f"{pointer}/content", _NULL_CHARACTERS)
        pieces.insert(_position(pieces, f"{pointer}/tool_calls"), empty)
    for place, name, behind in named:
        if isinstance(name, str) and place not in known:
            pieces.insert(_position(pieces, behind), Piece(kind, name, place, len(name)))


def _position(pieces: list[Piece], pointer: str) -> int:
    """Where a piece belongs that stands in front of those at or below a pointer."""
    return next((index for index, piece in enumerate(pieces) if piece.pointer.startswith(pointer)), len(pieces))


def _json_characters(text: str, without_types: bool) -> int:
    return (_count_again if len(text) < _LONGEST_REMEMBERED else _count)(text, without_types)


def _count(text: str, without_types: bool) -> int:
    try:
        return leaf_characters(json.loads(text), without_types)
    except (ValueError, RecursionError):  # the hash of a long value, or one without a bottom
        return len(text)


_count_again = lru_cache(maxsize=512)(_count)
"""The same tools come with every request of a conversation."""


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
