"""Token counts that a log keeps under names of its own, rather than as a vendor's reply has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hitrate.core.model import Usage

_MOST_TOKENS = 2**31
"""A count above is none: the longest contexts hold some millions of tokens."""

Named = tuple[int, str]
"""A count and the name it stands under."""


def count(value: Any) -> int | None:
    """A token count, also one written as a whole float or as digits; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None


def first_count(counts: Mapping[str, Any], names: Sequence[str]) -> Named | None:
    """The first of these names that has a count."""
    for name in names:
        if (found := count(counts.get(name))) is not None:
            return found, name
    return None


def usage_of(
    *,
    prompt: Named | None = None,
    cached: Named | None = None,
    written: Named | None = None,
    output: Named | None = None,
    reasoning: Named | None = None,
    beside: bool = False,
) -> tuple[Usage, str | None]:
    """Usage of such counts, and what is odd about them.

    `prompt` is the whole prompt; with `beside` what was read from the cache and written to it comes on top. A whole
    that is less than its parts cannot be one, so it is read as if they came on top.
    """
    odd = None
    total = None if prompt is None else prompt[0]
    sources = "" if prompt is None else prompt[1]
    parts = [part for part in (cached, written) if part is not None]
    if total is not None and not beside and sum(tokens for tokens, _ in parts) > total:
        beside = True
        odd = f"{sources} is less than the cached and written tokens together: they are taken to stand beside it"
    if total is not None and beside:
        total += sum(tokens for tokens, _ in parts)
        sources = " + ".join([sources, *(name for _, name in parts)])
    named = {"cached_tokens": cached, "written_tokens": written, "output_tokens": output, "reasoning_tokens": reasoning}
    found = {figure: one for figure, one in named.items() if one is not None}
    return (
        Usage(
            prompt_tokens=total,
            **{figure: tokens for figure, (tokens, _) in found.items()},
            cached_source="absent" if cached is None else cached[1],
            sources={
                **({} if total is None else {"prompt_tokens": sources}),
                **{figure: name for figure, (_, name) in found.items()},
            },
        ),
        odd,
    )
