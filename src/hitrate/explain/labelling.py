"""The labels of a call's prompt tokens, from what it could have been served and what a loss is blamed on."""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.core.findings import Verdict
from hitrate.core.model import Usage
from hitrate.explain.account import ODD_TOKENS, Account
from hitrate.explain.causes.interface import Cause
from hitrate.explain.evidence import Facts, Relation, Seen
from hitrate.explain.labels import LABEL_OF, Labelled, label_tokens, served_whole
from hitrate.explain.server import own_engine
from hitrate.explain.signs import USUAL_LIFETIME_S, gap_s, noise_of


def labels_of_loss(usage: Usage, account: Account, facts: Facts, cause: Cause) -> tuple[Labelled, ...]:
    """Of a call whose prompt tokens are known and whose loss has this cause."""
    return label_tokens(
        prompt_tokens=usage.prompt_tokens or 0,
        cached_tokens=usage.cached_tokens,
        reusable_tokens=account.reusable_tokens,
        kept_tokens=account.kept_tokens,
        label=LABEL_OF.get(cause.verdict, "routed or evicted"),
        cause=cause.name,
        granularity=facts.granularity,
        minimum_tokens=facts.least_tokens,
    )


def labels_without_cause(
    seen: Seen, relation: Relation, best: Seen | None, account: Account, facts: Facts
) -> Sequence[Labelled]:
    """Of a call whose prompt tokens are known and of which no loss was found; `best` is the earlier call that agrees
    longest with it."""
    prompt, cached, reusable = seen.usage.prompt_tokens or 0, seen.usage.cached_tokens, account.reusable_tokens
    if cached is not None and 0 <= cached <= prompt and reusable <= prompt and reusable - cached < facts.granularity:
        return served_whole(prompt, cached, max(0, reusable - cached))
    return label_tokens(
        prompt_tokens=prompt,
        cached_tokens=cached,
        reusable_tokens=reusable,
        label=LABEL_OF[_what_became_of_it(seen, best, facts)],
        granularity=facts.granularity,
        # Without a cause, what is missing within the noise was not lost.
        rounding_tokens=noise_of(facts, relation, reusable),
        minimum_tokens=facts.least_tokens,
    )


def may_be_usual(before: Seen, facts: Facts) -> bool:
    """Whether counts alone may show that a call lost nothing which has the prompt of the call `before` in front."""
    marked = facts.requires_marks or before.marks or before.stray_marks
    counted = before.usage.prompt_tokens is not None and before.characters > 0
    return counted and before.answered and not marked


def rounded_of_usual(reusable: int | None, usage: Usage, granularity: int) -> int | None:
    """For a call behind one that `may_be_usual` and had so many tokens: the tokens of a step that was not whole, where
    it was served all but these, so that it is certain that nothing was lost. None where that has to be looked at.

    What `is_suspect` and `labels_without_cause` come to, in one.
    """
    prompt, cached = usage.prompt_tokens, usage.cached_tokens
    if not prompt or cached is None or reusable is None or usage.written_tokens or not 0 <= cached <= prompt:
        return None
    missing = (reusable if reusable < prompt else prompt) - cached
    if missing >= granularity or (missing > ODD_TOKENS and not cached):
        return None
    return missing if missing > 0 else 0


def _what_became_of_it(seen: Seen, best: Seen | None, facts: Facts) -> Verdict:
    """Of tokens that were to be had by the text, where no cause was found: they are not lost."""
    if best is not None and best.key != seen.key:
        return "key_change"
    if facts.ttl_s is None and own_engine(facts):
        return "unknown"
    lifetime = USUAL_LIFETIME_S if facts.ttl_s is None else facts.ttl_s
    return "expiry" if (gap_s(best, seen) or 0.0) > lifetime else "unknown"
