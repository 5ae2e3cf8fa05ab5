"""What of a prompt could have been served: tokens that earlier calls had, in front of a change and behind it."""

from __future__ import annotations

from typing import NamedTuple

from hitrate.explain.diff import Comparison
from hitrate.explain.evidence import Divergence, Seen

SERVED_PAST = 0.5
"""A change in front of text of which more than this share was served is no change of the prompt: the engine does not
render what differs (an id, say)."""

ESTIMATE_SLACK = 0.1
"""Tokens of a part of a prompt are worked out from its share of the characters, which is right to about this much."""

ODD_TOKENS = 16
"""Tokens that a template or a vendor adds or leaves out around what was sent."""

ODD_CHARACTERS = 4 * ODD_TOKENS
"""Text behind a change on top of another conversation that is not worth a word."""

NEAR_SHARE = 0.6
"""Of the shorter one, that two conversations' first prompts have in common around what differs on top, for one of them
to be the other with something else there."""


class Account(NamedTuple):
    """What of a call's prompt could have been served: the numbers its labels come from."""

    reusable_tokens: int
    """By the text, from the earlier call that agrees longest."""
    kept_tokens: int = 0
    """Sent before, behind a break."""

    def lost(self, seen: Seen) -> int | None:
        """None where cached tokens are not reported."""
        if seen.usage.cached_tokens is None or seen.usage.accounting_fault:
            return None
        return max(0, self.reusable_tokens + self.kept_tokens - seen.usage.cached_tokens)

    def served_past(self, seen: Seen) -> bool:
        """Whether the engine served so much of what stands behind a change that the change is none of the prompt."""
        cached = seen.usage.cached_tokens
        past = max(ODD_TOKENS, SERVED_PAST * self.kept_tokens)
        return cached is not None and cached > self.reusable_tokens * (1 + ESTIMATE_SLACK) + past


def tokens_of(earlier: Seen | None, seen: Seen, characters: int = 0, *, share: float | None = None) -> int:
    """Tokens of the first `characters` of a prompt: by the count of the earlier prompt that has them, else its own.

    Equal to that count where the earlier prompt stands in this one as a whole. `share` is of the text of the prompt
    whose count it is, instead of characters.
    """
    for one in (earlier, seen):
        if one is not None and one.usage.prompt_tokens is not None and one.characters:
            of_text = characters / one.characters if share is None else share
            tokens = round(one.usage.prompt_tokens * min(1.0, of_text))
            return min(tokens, seen.usage.prompt_tokens or tokens)
    return 0


def is_near(comparison: Comparison, divergence: Divergence) -> bool:
    """Whether the first prompts of two conversations are one text with something else inside its front."""
    if divergence.kind not in ("tools", "schema", "system"):
        return False
    shorter = min(comparison.before_characters, comparison.now_characters)
    return divergence.cacheable_chars + divergence.same_end >= NEAR_SHARE * shorter
