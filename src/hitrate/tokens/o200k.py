"""OpenAI's o200k_base encoding from the vocabulary shipped with hitrate: no download, loaded once, checked."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
from importlib import resources
from typing import TYPE_CHECKING

from hitrate.errors import HitrateError

if TYPE_CHECKING:
    import tiktoken

SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of the unzipped vocabulary, as tiktoken's source states it (tiktoken_ext/openai_public.py)."""

_LONGEST_PIECE = 400_000
"""Characters encoded at once. A run of white space of about a million ends tiktoken's regular expressions in a stack
overflow; longer texts get a token boundary at each multiple, which keeps a text's prefix a prefix of its tokens."""

_FILE = "o200k_base.tiktoken.gz"

# The words that byte pairs are merged within; part of the encoding's definition (tiktoken_ext/openai_public.py).
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _ENDING,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _ENDING,
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


class O200k:
    """Implements `Tokenizer`. The vocabulary is loaded at the first `encode` (some tenths of a second)."""

    name = "o200k"
    exact = True

    def encode(self, text: str) -> list[int]:
        encode = _encoding().encode_ordinary
        if len(text) <= _LONGEST_PIECE:
            return encode(text)
        tokens: list[int] = []
        for start in range(0, len(text), _LONGEST_PIECE):
            tokens += encode(text[start : start + _LONGEST_PIECE])
        return tokens


@functools.cache
def _encoding() -> tiktoken.Encoding:
    import tiktoken

    content = gzip.decompress(resources.files("hitrate.tokens").joinpath("data", _FILE).read_bytes())
    ranks = parse_vocabulary(content)
    # No special tokens: whatever spells one in a prompt is text.
    return tiktoken.Encoding("o200k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})


def parse_vocabulary(content: bytes) -> dict[bytes, int]:
    """Token bytes to rank. HitrateError when the content is not the published vocabulary."""
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        raise HitrateError(
            f"the vocabulary {_FILE} is damaged (sha256 {found[:12]}..., expected {SHA256[:12]}...); reinstall hitrate"
        )
    pairs = (line.split() for line in content.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}
