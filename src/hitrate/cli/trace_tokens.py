"""The tokens of prompts, for a trace: token ids as they were sent, else those of a known vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hitrate.core.model import Call
from hitrate.core.wires import RENDERED, wire_named
from hitrate.explaining import canonical_of
from hitrate.targets.dialects.prompt_parts import segments_of_parts
from hitrate.targets.dialects.rendered_parts import rendered_pieces
from hitrate.targets.dialects.wire_json import parse_object
from hitrate.tokens import tokenizer

if TYPE_CHECKING:
    from hitrate.cli.reading import StoredRun
    from hitrate.logs.sniff import Log

_VOCABULARY = "o200k"
_CHARACTERS = 4
"""Of a token, where the text is not at hand: about what English has in the vocabularies of today."""

_OF_KIND = {"tools": 1, "schema": 2, "system": 3, "user": 4, "assistant": 5, "tool": 6, "image": 7}


class PromptTokens:
    """Tokens of the calls of one log, and in the end what they are.

    Each part of a prompt has one token more than its text, which says of which kind the part is, as a template does.
    """

    def __init__(self, source: Log | StoredRun) -> None:
        self._source = source
        self._tokenizer = tokenizer(_VOCABULARY)
        self._estimated = self._exact = 0

    def __call__(self, call: Call) -> Sequence[int]:
        """ValueError for a body that the wire format cannot read."""
        rendered = wire_named(call.dialect) == RENDERED
        if rendered and (ids := _ids(call.body)):
            self._exact += 1
            return ids
        prompt = canonical_of(call.body, call.dialect)
        parts: Iterable[tuple[str, str]]
        if rendered:
            parts = rendered_pieces(prompt)
        else:
            parts = ((one[0].kind, "".join(segment.text for segment in one)) for one in segments_of_parts(prompt))
        self._estimated += 1
        tokens: list[int] = []
        for kind, text in parts:
            tokens.append(-_OF_KIND.get(kind, 8))
            tokens += self._of(text)
        return tokens

    def basis(self) -> str:
        """Where lengths come from, in words."""
        if not self._estimated:
            return "lengths are exact: token ids as they were sent"
        some = f"; of {self._exact:,} calls exact, by the token ids that were sent" if self._exact else ""
        if not self._source.content_kept:
            return f"lengths are estimates: {_CHARACTERS} characters a token, since content was not kept{some}"
        return f"lengths are estimates by the vocabulary {_VOCABULARY} and a token for each message{some}"

    def _of(self, text: str) -> Sequence[int]:
        if self._source.content_kept:
            return self._tokenizer.encode(text)
        pieces = (text[start : start + _CHARACTERS] for start in range(0, len(text), _CHARACTERS))
        return [int.from_bytes(piece.encode("utf-32-le", "surrogatepass")[:7]) for piece in pieces]


def _ids(body: bytes) -> list[int]:
    """The token ids of a rendered prompt; none where it is text."""
    value = parse_object(body)[0] or {}
    for name in ("prompt_token_ids", "prompt"):
        found = value.get(name)
        if isinstance(found, list) and found and all(type(one) is int for one in found):
            return found
    return []
