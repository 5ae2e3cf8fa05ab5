"""How many tokens two prompts share when no tokenizer is known: characters, scaled by what the engine counted."""

from __future__ import annotations

from msgspec import Struct

from hitrate.core.prompt import CanonicalPrompt


class TokenEstimate(Struct, frozen=True):
    """An estimate, never to be shown as a count. `characters` of `of_characters` are shared."""

    tokens: int
    characters: int
    of_characters: int


def shared_tokens(earlier: CanonicalPrompt, later: CanonicalPrompt, prompt_tokens: int | None) -> TokenEstimate | None:
    """Tokens of `later` that stand in its common prefix with `earlier`, when `later` has `prompt_tokens` in all.

    Rounded down. None when the total is not known or `later` holds no text. Prompts of different namespaces share none.
    """
    of_characters = sum(len(segment.text) for segment in later.segments)
    if prompt_tokens is None or of_characters == 0:
        return None
    characters = 0 if earlier.namespace != later.namespace else shared_characters(earlier, later)
    return TokenEstimate(prompt_tokens * characters // of_characters, characters, of_characters)


def shared_characters(earlier: CanonicalPrompt, later: CanonicalPrompt) -> int:
    """Characters of prompt text in the common prefix; it ends where kind or text of two segments part."""
    total = 0
    for one, other in zip(earlier.segments, later.segments, strict=False):
        if one.kind != other.kind:
            break
        if one.text != other.text:
            total += common_prefix(one.text, other.text)
            break
        total += len(one.text)
    return total


def common_prefix(one: str, other: str) -> int:
    """The number of leading characters that agree, found by halving: whole slices are compared at C speed."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
