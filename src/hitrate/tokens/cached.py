"""Keeps the tokens of texts seen before: agents send the same opening with every call."""

from __future__ import annotations

from array import array
from collections import OrderedDict

from hitrate.tokens.interface import Tokenizer


class CachedTokenizer:
    """Implements `Tokenizer` over another one; the least recently used texts go when `max_characters` are held.

    A text longer than that is encoded anew each time. Not safe for use by several threads at once.
    """

    def __init__(self, tokenizer: Tokenizer, max_characters: int = 8_000_000) -> None:
        self.name = tokenizer.name
        self.exact = tokenizer.exact
        self._tokenizer = tokenizer
        self._max_characters = max_characters
        self._characters = 0
        self._known: OrderedDict[str, array[int]] = OrderedDict()

    def encode(self, text: str) -> array[int]:
        tokens = self._known.get(text)
        if tokens is not None:
            self._known.move_to_end(text)
            return tokens
        tokens = array("I", self._tokenizer.encode(text))
        if len(text) <= self._max_characters:
            self._known[text] = tokens
            self._characters += len(text)
            while self._characters > self._max_characters:
                oldest, _ = self._known.popitem(last=False)
                self._characters -= len(oldest)
        return tokens
