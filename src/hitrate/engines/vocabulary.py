"""The tiny model's vocabulary: 4,096 byte-level BPE tokens, derived from the merges shipped as package data.

Token ids: the 256 bytes, then one token for each merge in training order, then the special tokens.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from dataclasses import dataclass

VOCABULARY_SIZE = 4096

END_OF_TEXT = "<|endoftext|>"
TURN_START = "<|im_start|>"
TURN_END = "<|im_end|>"
SPECIAL_TOKENS = (END_OF_TEXT, TURN_START, TURN_END)


def _byte_characters() -> tuple[str, ...]:
    """Byte -> the printable character that stands for it in byte-level BPE files (the GPT-2 convention).

    Printable Latin-1 bytes stand for themselves; the others, in order, take the code points from 256 on.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return tuple(chr(byte) if byte in printable else chr(256 + others.index(byte)) for byte in range(256))


BYTE_CHARACTERS = _byte_characters()


@dataclass(frozen=True)
class Vocabulary:
    """`tokens` in id order, as byte-level characters; `merges` as "left right", in the order they apply."""

    tokens: tuple[str, ...]
    merges: tuple[str, ...]

    @property
    def word_ids(self) -> tuple[int, ...]:
        """Ids of the tokens that are a blank and, as far as merges tell, a whole word: no longer token begins so."""
        blank = BYTE_CHARACTERS[ord(" ")]
        left_halves = {merge.split(" ")[0] for merge in self.merges}
        return tuple(
            number
            for number, token in enumerate(self.tokens)
            if token[0] == blank and len(token) > 3 and token[1:].isascii() and token[1:].isalpha()
            if token not in left_halves
        )


@functools.cache
def load_vocabulary() -> Vocabulary:
    data = importlib.resources.files("hitrate.engines").joinpath("data/vocabulary.json").read_text(encoding="utf-8")
    merges: list[str] = json.loads(data)["merges"]
    # Two merges may give the same text from different halves; it is one token.
    merged = dict.fromkeys(merge.replace(" ", "") for merge in merges)
    return Vocabulary(tokens=(*BYTE_CHARACTERS, *merged, *SPECIAL_TOKENS), merges=tuple(merges))
