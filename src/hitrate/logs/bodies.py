"""Cut a request body into pieces that repeat from call to call, so that each message and tool is stored once."""

from __future__ import annotations

import msgspec

SHORTEST_PART = 64
"""Bytes below which a top-level value is not worth a part of its own; elements of arrays always are parts."""


class Piece(msgspec.Struct, frozen=True):
    """`is_part` marks a value to be stored once (a message, a tool, a long string), the rest is what stands between."""

    data: bytes
    is_part: bool


def split_body(body: bytes) -> list[Piece]:
    """Pieces whose bytes, joined, are `body`. One part if it is no JSON object in UTF-8.

    The raw values are found again by searching forward from the one before. A search that met the same bytes earlier,
    inside a key, would cut at an odd place; the pieces still join to the same body.
    """
    values: list[bytes] = []
    try:
        body.decode()
        for value in msgspec.json.decode(body, type=dict[str, msgspec.Raw]).values():
            raw = bytes(value)
            if raw.startswith(b"["):
                values.extend(bytes(element) for element in msgspec.json.decode(raw, type=list[msgspec.Raw]))
            elif len(raw) >= SHORTEST_PART:
                values.append(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [Piece(body, is_part=True)]
    pieces = []
    position = 0
    for raw in values:
        start = body.find(raw, position)
        if start < 0:  # a duplicate key: its last value comes in the place of its first
            continue
        if start > position:
            pieces.append(Piece(body[position:start], is_part=False))
        pieces.append(Piece(raw, is_part=True))
        position = start + len(raw)
    if position < len(body):
        pieces.append(Piece(body[position:], is_part=False))
    return pieces
