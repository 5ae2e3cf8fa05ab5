"""What a tokenizer has to provide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Tokenizer(Protocol):
    @property
    def name(self) -> str:
        """As presets spell it, e.g. "o200k"."""
        ...

    @property
    def exact(self) -> bool:
        """Whether these are a real vocabulary's tokens, not a stand-in for one that is not at hand."""
        ...

    def encode(self, text: str) -> Sequence[int]:
        """Token ids of `text`, special tokens in it taken as ordinary text. The result must not be changed.

        Any string is accepted, lone surrogates included.
        """
        ...
