"""Puts one content block of a Messages stream together, so that it can be sent back as the server would send it."""

from __future__ import annotations

import json
from typing import Any

from hitrate.targets.dialects.openai_deltas import join_surrogates
from hitrate.targets.dialects.wire_json import compact_text, text_of

_TEXT = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""Kind of delta to the member of delta and block that it adds to."""

_OPENED_BY = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}
"""The block a delta belongs to, for a stream whose opening event was lost."""


class BlockBuilder:
    """Opened with the block as `content_block_start` gives it, then `add` for each delta."""

    def __init__(self, opening: dict[str, Any]) -> None:
        self._block = dict(opening)
        self._texts: dict[str, list[str]] = {}
        self._input: list[str] = []

    @property
    def holds_text(self) -> bool:
        return bool(text_of(self._block.get("text")) or text_of(self._block.get("thinking")))

    @property
    def visible(self) -> bool:
        return self._block.get("type") == "text"

    def add(self, delta: dict[str, Any]) -> bool:
        """Whether the delta brought generated tokens: text, thinking or a piece of a tool's input, not a signature."""
        kind = delta.get("type")
        if kind == "input_json_delta":
            self._block.setdefault("type", "tool_use")
            piece = text_of(delta.get("partial_json"))
            self._input.append(piece)
            return piece != ""
        if kind in _TEXT:
            self._block.setdefault("type", _OPENED_BY[kind])
            name = _TEXT[kind]
            piece = text_of(delta.get(name))
            self._texts.setdefault(name, [text_of(self._block.get(name))]).append(piece)
            return piece != "" and kind != "signature_delta"
        if kind == "citations_delta":
            known = self._block.get("citations")
            self._block["citations"] = [*(known if isinstance(known, list) else ()), delta.get("citation")]
        return False

    def block(self) -> dict[str, Any]:
        block = dict(self._block)
        for name, pieces in self._texts.items():
            block[name] = join_surrogates("".join(pieces))
        if self._input and (value := _parsed("".join(self._input))) is not None:
            block["input"] = value
        return block

    def arguments(self) -> str:
        """A tool's input as JSON text, also where it was cut off."""
        return "".join(self._input) or compact_text(self._block.get("input", {}))


def _parsed(text: str) -> Any:
    """The value of a whole JSON text; None for none or for one that was cut off."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
