"""Prompts to token ids."""

from __future__ import annotations

import functools

from hitrate.errors import UsageError
from hitrate.tokens.cached import CachedTokenizer
from hitrate.tokens.interface import Tokenizer
from hitrate.tokens.o200k import O200k

_TOKENIZERS = {"o200k": O200k}
TOLD_BY_ENGINE = ("llamacpp", "vllm")
"""Modules beside this one that ask a running engine for its own tokens."""


@functools.cache
def tokenizer(name: str) -> Tokenizer:
    """The tokenizer of that name, the same object each time. UsageError with the known names when there is none."""
    try:
        return CachedTokenizer(_TOKENIZERS[name]())
    except KeyError:
        raise UsageError(f"no tokenizer called {name!r}; known: {', '.join(_TOKENIZERS)}") from None
