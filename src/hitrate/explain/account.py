"""What of a prompt could have been served: tokens that earlier calls had, in front of a change and behind it."""

from __future__ import annotations

from typing import NamedTuple

from hitrate.explain.evidence import Facts, Pair, Seen
from hitrate.explain.signs import noise_of, served_nothing

SERVED_PAST = 0.5
"""A change in front of text of which more than this share was served is no change of the prompt: the engine does not
render what differs (an id, say)."""

ESTIMATE_SLACK = 0.1
"""Tokens of a part of a prompt are worked out from its share of the characters, which is right to about this much."""

ODD_TOKENS = 16
"""Tokens that a template or a vendor adds or leaves out around what was sent."""

WHOLE = frozenset({"append", "repeat"})
"""Relations of a prompt that has all of the earlier one in front."""


class Account(NamedTuple):
    """What of a call's prompt could have been served: the numbers its labels come from."""

    reusable_tokens: int
    """By the text, from the earlier call that agrees longest."""
    kept_tokens: int = 0
    """Sent before, behind a break."""

    def lost(self, seen: Seen) -> int | None:
        """None where cached tokens are not reported."""
        usage = seen.usage
        if usage.cached_tokens is None or usage.accounting_fault:
            return None
        return max(0, self.reusable_tokens + self.kept_tokens - usage.cached_tokens)

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


def is_suspect(seen: Seen, pair: Pair, before: Seen | None, account: Account, facts: Facts) -> bool:
    """Whether a call may have lost something: cheap, and rather too often yes than no. The causes look closer."""
    if not seen.answered:
        return bool(seen.marks)
    if seen.usage.prompt_tokens == 0:  # what was not counted, of a prompt that has text
        return False
    if seen.usage.cached_tokens is None and facts.omits_zero:
        return True
    if facts.most_marks is not None and len(seen.marks) > facts.most_marks:
        return True
    if before is None:
        return False
    lost = account.lost(seen)
    if lost is None:
        return before.key != seen.key or before.others != seen.others or facts.requires_marks
    if lost > ODD_TOKENS and not _is_rounding(seen, pair, lost, account, facts):
        return True
    return facts.requires_marks and (not seen.marks or seen.marks[-1].characters < before.characters)


def _is_rounding(seen: Seen, pair: Pair, lost: int, account: Account, facts: Facts) -> bool:
    """Whether a call was served all whole steps of what it could be, by far the most usual call; or, of a part of a
    prompt, all that is certain: what is missing is no more than noise, which no cause takes for a loss."""
    if not seen.usage.cached_tokens or seen.marks:
        return False
    if pair.relation in WHOLE:
        return lost < facts.granularity
    if facts.requires_marks or served_nothing(seen):
        return False
    return lost <= noise_of(facts, pair.relation, account.reusable_tokens)
