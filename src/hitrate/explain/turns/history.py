"""Whether a turn found its session's own history, as far as its counts can tell.

A replica that never saw the session still serves what all sessions share, the opening. So a turn tells something only
where its history, as the cache credits it, is longer than that; and where the expectation is an estimate, the prompt
tokens that the engine reported for the turn before are the firmer measure: this turn's prompt starts with that one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from hitrate.core.results import TurnRow
from hitrate.explain.turns.rows import RuleFacts
from hitrate.explain.turns.states import HEAD_SHARE

TEMPLATE_TAIL_TOKENS = 8
"""A prompt ends with the opening of the answer (a role, sometimes an opened thought), which the next turn's prompt may
render otherwise."""


class Observation(Struct, frozen=True, kw_only=True):
    """One row with what the verdict needs beside it.

    `shared_tokens` is what the prompt shares with any call sent before; it exceeds the row's expectation where calls
    raced or the cache cannot hold all. `previous` is the session's last answered turn before.
    """

    row: TurnRow
    shared_tokens: int | None = None
    previous: Observation | None = None
    sent_at_s: float = 0.0


def openings(observations: Sequence[Observation]) -> dict[str, int]:
    """Per run, the tokens that its sessions share: what any replica can serve to any of them."""
    found: dict[str, int] = defaultdict(int)
    for one in observations:
        if one.previous is None:
            found[one.row.run] = max(found[one.row.run], one.shared_tokens or 0)
    return found


def history_found(one: Observation, facts: RuleFacts, opening: int = 0) -> bool | None:
    """Whether the session's whole history was served; None where there was none to serve, nothing is reported, or
    the shared opening alone would look the same."""
    row = one.row
    if one.previous is None or row.cached_tokens is None or row.expected_cached_tokens is None or not row.prompt_tokens:
        return None
    if row.state == "failed" or row.expected_cached_tokens <= HEAD_SHARE * row.prompt_tokens:
        return None
    wanted = row.expected_cached_tokens
    if facts.slack_tokens:
        prompt_before = prompt_credited(one.previous, facts)
        wanted = wanted - facts.slack_tokens if prompt_before is None else min(wanted, prompt_before)
    if row.cached_tokens < wanted:
        return False
    return True if wanted > opening else None


def prompt_credited(earlier: Observation | None, facts: RuleFacts) -> int | None:
    """The least that is credited to a later turn when this earlier turn's prompt was found, its reply not."""
    if earlier is None or earlier.row.prompt_tokens is None:
        return None
    return earlier.row.prompt_tokens - TEMPLATE_TAIL_TOKENS - (facts.granularity if facts.granularity > 1 else 0)


def one_turn_behind(one: Observation, facts: RuleFacts) -> bool:
    """Whether a turn was served the turn before the previous one, with or without its reply, and no more than that."""
    earlier = None if one.previous is None else one.previous.previous
    least = prompt_credited(earlier, facts)
    most = None if one.previous is None else one.previous.row.expected_cached_tokens
    cached = one.row.cached_tokens
    if cached is None or least is None or most is None:
        return False
    return least <= cached <= most + facts.slack_tokens


def reply_alone_missing(one: Observation, facts: RuleFacts, opening: int) -> bool:
    """Whether a turn that missed something had the whole prompt before, so that only its reply was read again.

    The first prompt is the opening and a question, which a step may swallow: for the turn after it the opening counts.
    """
    least = prompt_credited(one.previous, facts)
    cached = one.row.cached_tokens
    return cached is not None and least is not None and cached >= least and (cached > opening or is_second(one))


def is_second(one: Observation) -> bool:
    """Whether this is the session's second answered turn."""
    return one.previous is not None and one.previous.previous is None
