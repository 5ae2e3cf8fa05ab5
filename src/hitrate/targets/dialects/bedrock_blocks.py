"""Puts one content block of a ConverseStream together, so that it can be sent back as the server would have sent it."""

from __future__ import annotations

import json
from typing import Any

from hitrate.targets.dialects.openai_deltas import join_surrogates
from hitrate.targets.dialects.wire_json import compact_text, object_of, objects_of, text_of


class BlockBuilder:
    """Opened with a whole block, or with what `contentBlockStart` gives of one; then `add` for each delta."""

    def __init__(self, opening: dict[str, Any]) -> None:
        self._opening = opening
        self._text: list[str] = []
        self._thought: list[str] = []
        self._signature: list[str] = []
        self._input: list[str] = []
        self._citations: list[dict[str, Any]] = []
        self._redacted: str | None = None

    @property
    def visible(self) -> bool:
        return bool(self._text)

    def add(self, delta: dict[str, Any]) -> bool:
        """Whether the delta brought generated tokens: text, reasoning or a piece of a tool's input."""
        reasoning = object_of(delta.get("reasoningContent"))
        self._signature.append(text_of(reasoning.get("signature")))
        self._redacted = text_of(reasoning.get("redactedContent")) or self._redacted
        self._citations.extend([delta["citation"]] if isinstance(delta.get("citation"), dict) else ())
        pieces = (
            (self._text, text_of(delta.get("text"))),
            (self._thought, text_of(reasoning.get("text"))),
            (self._input, text_of(object_of(delta.get("toolUse")).get("input"))),
        )
        for known, piece in pieces:
            if piece:
                known.append(piece)
        return any(piece for _, piece in pieces)

    def block(self) -> dict[str, Any]:
        """The block, {} when nothing of it came."""
        if isinstance(self._opening.get("toolUse"), dict) or self._input:
            use = dict(object_of(self._opening.get("toolUse")))
            use["input"] = _parsed("".join(self._input), use.get("input"))
            return {**self._opening, "toolUse": use}
        if self._redacted is not None:
            return {"reasoningContent": {"redactedContent": self._redacted}}
        if self._thought or any(self._signature):
            thought = {"text": _joined(self._thought)}
            signature = "".join(self._signature)
            return {"reasoningContent": {"reasoningText": thought | ({"signature": signature} if signature else {})}}
        if self._citations:
            return {"citationsContent": {"content": [{"text": _joined(self._text)}], "citations": self._citations}}
        return {"text": _joined(self._text)} if self._text else self._opening

    def text(self) -> str:
        block = self.block()
        cited = objects_of(object_of(block.get("citationsContent")).get("content"))
        return text_of(block.get("text")) + "".join(text_of(part.get("text")) for part in cited)

    def reasoning(self) -> str:
        thought = object_of(object_of(self.block().get("reasoningContent")).get("reasoningText"))
        return text_of(thought.get("text"))

    def arguments(self) -> str:
        """A tool's input as JSON text, also where it was cut off."""
        return "".join(self._input) or compact_text(object_of(self._opening.get("toolUse")).get("input", {}))


def _joined(pieces: list[str]) -> str:
    return join_surrogates("".join(pieces))


def _parsed(text: str, otherwise: Any) -> Any:
    """The value of a whole JSON text; what stood there before, or {}, for none or for one that was cut off."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {} if otherwise is None else otherwise
