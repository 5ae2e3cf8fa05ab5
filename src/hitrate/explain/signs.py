"""What causes beside the text ask of a call: was it served, how long was it idle, does something else explain it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.evidence import Evidence, Facts, Mark, Relation, Seen
from hitrate.explain.reachable import longest_found, shared_characters
from hitrate.explain.turns.states import HEAD_SHARE

SAME_CONVERSATION = frozenset({"append", "repeat", "rewind", "branch"})
"""Relations in which the earlier prompt's state is the call's own."""

WHOLE_TEXT = SAME_CONVERSATION | {"opening"}
"""Relations in which no text that both prompts share was changed."""

_UNKNOWN_STEP_TOKENS = 256
"""Where no rule is known: the coarsest step that a vendor was seen to credit in (Moonshot)."""

_MARKED_SLACK_TOKENS = 16
"""Entries at markers are read whole or not at all; what is added around them is a template's few tokens."""

_EXACT_SLACK_TOKENS = 64
"""The end of a prompt that the next one's template renders otherwise: an opened answer, an opened thought."""

USUAL_LIFETIME_S = 300.0
"""Where no lifetime is published, an entry that idled longer may be gone: "5 to 10 minutes of inactivity"
(https://platform.openai.com/docs/guides/prompt-caching)."""

_LIFETIME = lazy_pattern(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)?\s*", re.IGNORECASE)
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0}


def noise_tokens(evidence: Evidence) -> int:
    """Tokens that may be missing of a hit: rounding to steps, the template's tail, the error of an estimate."""
    return noise_of(evidence.facts, evidence.pair.relation, evidence.reusable_tokens or 0)


def noise_of(facts: Facts, relation: Relation, reusable_tokens: int) -> int:
    """The same for a call that relates in this way to one that leaves so many tokens."""
    if facts.requires_marks or facts.exact_at_breakpoints:
        slack = _MARKED_SLACK_TOKENS
    elif facts.granularity > 1:
        slack = max(2 * facts.granularity, _EXACT_SLACK_TOKENS)
    else:
        slack = _EXACT_SLACK_TOKENS if facts.rule is not None else _UNKNOWN_STEP_TOKENS
    if relation not in ("append", "repeat"):  # tokens of a part of a prompt are an estimate
        slack = max(slack, reusable_tokens // 10)
    return slack


def lost(evidence: Evidence) -> int | None:
    """Tokens that were to be had and were not served, where they are more than noise; None otherwise.

    None, too, where the call or the one before it was not answered, where cached tokens are not reported, and where
    the counts contradict each other.
    """
    call, before = evidence.call, evidence.before
    if before is None or not call.answered or not before.answered:
        return None
    if call.usage.cached_tokens is None or call.usage.accounting_fault or evidence.lost_tokens is None:
        return None
    return evidence.lost_tokens if evidence.lost_tokens > noise_tokens(evidence) else None


def text_only_grew(evidence: Evidence) -> bool:
    return evidence.divergence is None and evidence.pair.relation in WHOLE_TEXT


def lost_in_reach(evidence: Evidence) -> int | None:
    """As `lost`, where the text is whole, of what stands in an entry that this call could have found.

    By the text more may be shared: a reply that no marker covers yet is not lost, it was never kept.
    """
    found = lost(evidence)
    if found is None or not text_only_grew(evidence):
        return None
    facts = evidence.facts
    if not (facts.requires_marks or facts.exact_at_breakpoints):
        return found
    missed = tokens_in_reach(evidence) - (evidence.call.usage.cached_tokens or 0)
    return missed if missed > noise_tokens(evidence) else None


def lost_in_conversation(evidence: Evidence) -> int | None:
    """As `lost_in_reach`, where the call goes on with a conversation."""
    return lost_in_reach(evidence) if evidence.pair.relation in SAME_CONVERSATION else None


def tokens_in_reach(evidence: Evidence) -> int:
    """Tokens of the longest entry that earlier calls left inside the shared text and that this call looks at."""
    call, before, facts = evidence.call, evidence.before, evidence.facts
    if before is None or not call.characters:
        return 0
    if call.rebuilt:  # where its markers are is not known: what the earlier call left, if all of that is in front
        return (left_by(before, facts) or 0) if evidence.pair.relation in ("append", "repeat") else 0
    shared = shared_characters(evidence)
    newest = _entries_of(before, facts)[-1:]
    found = _found(call, [entry for entry in newest if entry.characters <= shared], facts)
    if found is not None and (left := left_by(before, facts)) is not None:
        return left
    entries = [entry for one in (*evidence.earlier, before) for entry in _entries_of(one, facts)]
    found = _found(call, [entry for entry in entries if entry.characters <= shared], facts)
    return 0 if found is None else (call.usage.prompt_tokens or 0) * found.characters // call.characters


def _entries_of(call: Seen, facts: Facts) -> tuple[Mark, ...]:
    """Where the entries end that an answered call leaves: at its markers and, by the exact rule, at its own end."""
    if not call.answered:
        return ()
    own_end = (Mark(call.blocks, call.characters),) if facts.exact_at_breakpoints else ()
    return (*call.marks, *own_end)


def _found(call: Seen, entries: Sequence[Mark], facts: Facts) -> Mark | None:
    if facts.exact_at_breakpoints:
        return max(entries, key=lambda entry: entry.characters, default=None)
    return longest_found(call.marks, entries, facts.look_back)


def served_nothing(call: Seen) -> bool:
    """Whether a call reports no more than a template's head from the cache."""
    cached, prompt = call.usage.cached_tokens, call.usage.prompt_tokens
    return cached is not None and cached <= HEAD_SHARE * (prompt or 0)


def left_by(call: Seen, facts: Facts) -> int | None:
    """Tokens that an answered call leaves in the cache, by its own counts: to its last marker, or its whole prompt."""
    if not call.answered:
        return None
    if not (facts.requires_marks or facts.exact_at_breakpoints):
        return call.usage.prompt_tokens
    if call.usage.cached_tokens is None or call.usage.written_tokens is None:
        return None
    return call.usage.cached_tokens + call.usage.written_tokens


def last_touch(evidence: Evidence) -> Seen | None:
    """The conversation's newest answered call before this one: it wrote the prefix, or read and so renewed it."""
    known = [one for one in (*evidence.earlier, evidence.before) if one is not None and one.answered]
    timed = [one for one in known if one.at is not None]
    if timed:
        return max(timed, key=lambda one: (one.at or 0.0, one.index))
    return max(known, key=lambda one: one.index, default=None)


def gap_s(earlier: Seen | None, call: Seen) -> float | None:
    """Seconds from the start of one request to the start of the other; None where a time is not known."""
    if earlier is None or earlier.at is None or call.at is None or call.at < earlier.at:
        return None
    return call.at - earlier.at


def overlap(earlier: Seen, call: Seen) -> bool:
    """Whether a call went out before the earlier one's state could be read."""
    gap = gap_s(earlier, call)
    if gap is None or earlier.at is None or call.at is None:
        return False
    if earlier.ttft_s is not None:
        return gap < earlier.ttft_s
    if earlier.done is not None:
        return call.at < earlier.done
    return gap < 1.0


def others_of_conversation(evidence: Evidence) -> list[Seen]:
    """The answered calls of the conversation that report cached tokens, without the one at hand, in order."""
    found = (*evidence.earlier, *evidence.later)
    return [one for one in found if one.answered and one.usage.cached_tokens is not None]


def steps(evidence: Evidence) -> Iterator[tuple[Seen, Seen]]:
    """Each answered call of the conversation with the one before it, the call at hand among them."""
    calls = [one for one in (*evidence.earlier, evidence.call, *evidence.later) if one.answered]
    yield from pairwise(calls)


def was_hit(before: Seen, call: Seen, facts: Facts) -> bool | None:
    """Whether a call found most of what the one before it left; None where that cannot be said."""
    left = left_by(before, facts)
    cached = call.usage.cached_tokens
    if left is None or cached is None or left < max(facts.least_tokens, 1):
        return None
    return cached >= 0.5 * left


def hits_and_misses(evidence: Evidence) -> tuple[int, int]:
    """Over the steps of the conversation."""
    found = [was_hit(before, call, evidence.facts) for before, call in steps(evidence)]
    return found.count(True), found.count(False)


def was_ever_served(evidence: Evidence) -> bool:
    """Whether any call of the conversation, the one at hand among them, found more than a template's head."""
    return any(not served_nothing(one) for one in (*others_of_conversation(evidence), evidence.call))


def warm_by_time(evidence: Evidence) -> bool:
    """Whether the first token came as from a warm cache though nothing is reported from it."""
    from statistics import median

    call = evidence.call
    cold = [
        one.ttft_s
        for one in evidence.earlier[:1]
        if one.ttft_s and one.answered and 2 * (one.usage.prompt_tokens or 0) >= (call.usage.prompt_tokens or 0)
    ]
    return bool(cold) and call.ttft_s is not None and served_nothing(call) and call.ttft_s <= 0.5 * median(cold)


def lifetime_s(written: str | None) -> float | None:
    """Seconds of a lifetime as it stands in a request: "5m", "1h", "300s", "300"; None for anything else."""
    found = None if written is None else _LIFETIME.fullmatch(written.strip('"'))
    if found is None:
        return None
    unit = (found[2] or "s").lower()
    return float(found[1]) / 1000 if unit == "ms" else float(found[1]) * _SECONDS.get(unit[0], 1.0)


def asked_lifetime_s(written: str | None, facts: Facts) -> float | None:
    """Of an entry whose marker names this lifetime, or none."""
    asked = lifetime_s(written)
    return facts.ttl_s if asked is None else asked


def shown(value: str) -> str:
    """A setting's compact JSON as people read it: a string without its quotes."""
    try:
        decoded = json.loads(value)
    except ValueError:
        return value
    return decoded if isinstance(decoded, str) else value


def duration(seconds: float) -> str:
    """As people say it: "0.04 s", "8 s", "675 s (11 min)", "3 h"."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        minutes = f"{seconds / 60:.0f} min"
        return f"{seconds:.0f} s ({minutes})" if seconds % 60 else minutes
    return f"{seconds / 3600:.3g} h"
