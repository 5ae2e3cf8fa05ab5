"""What a multi-turn test says in plain words: healthy or not, is routing a factor, and which known cause fits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hitrate.core.results import Interval, PerTurn, TurnRow, Verdict
from hitrate.core.statistics import median, wilson
from hitrate.explain.turns.history import (
    Observation,
    history_found,
    is_second,
    one_turn_behind,
    openings,
    reply_alone_missing,
)
from hitrate.explain.turns.rows import RuleFacts
from hitrate.explain.turns.states import HEAD_SHARE
from hitrate.explain.turns.unpublished import LEAST_OBSERVATIONS, fixed_or_coarse, unexplained

SPILL_OVER_CALLS_PER_MINUTE = 15.0
"""Above about this rate per prefix and key OpenAI sends calls to further machines.
https://platform.openai.com/docs/guides/prompt-caching"""

LEAST_REPLICAS = 1.5
"""Two replicas lose every second turn; an estimate below this is a stray loss, not a replica."""

UNLIKELY = 0.05
"""A sequential run that finds everything with a smaller probability than this, if calls went to replicas at random,
rules that out."""


class TargetFacts(RuleFacts, frozen=True, kw_only=True):
    """What is known of the target that bears on the verdict."""

    how_to_report: str | None = None
    affinity_sent: str | None = None
    affinity_knob: str | None = None
    not_identical: str | None = None
    """Where two prompts that should share a prefix part, in words."""
    spills_over: bool = False


class _Evidence:
    """The observations of a test, and what each one tells about the session's history."""

    def __init__(self, observations: Sequence[Observation], facts: RuleFacts) -> None:
        self.all = observations
        self.opening = openings(observations)
        found = [(one, history_found(one, facts, self.opening[one.row.run])) for one in observations]
        self.telling = [(one, hit) for one, hit in found if hit is not None]
        self.missed = [one for one, hit in self.telling if not hit]
        self.reported = [one for one in observations if one.row.hit_rate is not None and one.row.state != "failed"]
        self.later = [one for one in self.reported if one.previous is not None]

    def hits(self, run: str) -> list[bool]:
        return [hit for one, hit in self.telling if one.row.run.startswith(run)]

    @property
    def parallel_ran(self) -> bool:
        return any(one.row.run.startswith("parallel") for one in self.all)

    @property
    def longest_prompt(self) -> int:
        return max(one.row.prompt_tokens or 0 for one in self.reported)

    @property
    def count(self) -> str:
        many = len(self.telling)
        return (
            f"{len(self.missed):,} of {many:,} turn{'s' if many != 1 else ''} did not find the session's whole history"
        )


def _beyond_the_head(row: TurnRow) -> bool:
    return (row.cached_tokens or 0) > HEAD_SHARE * (row.prompt_tokens or 0)


def per_turn(observations: Sequence[Observation], facts: RuleFacts) -> tuple[PerTurn, ...]:
    """Rows of equal run and turn together; `found` is None for the first turn and where the counts cannot tell."""
    opening = openings(observations)
    groups: dict[tuple[str, int], list[Observation]] = defaultdict(list)
    for one in observations:
        groups[one.row.run, one.row.turn].append(one)
    result = []
    for (run, turn), group in groups.items():
        hits = [hit for one in group if (hit := history_found(one, facts, opening[run])) is not None]
        counted = [one.row for one in group if one.row.hit_rate is not None]
        prompt = sum(row.prompt_tokens or 0 for row in counted)
        ttfts = [one.row.ttft_ms for one in group if one.row.ttft_ms is not None and one.row.state != "failed"]
        result.append(
            PerTurn(
                run=run,
                turn=turn,
                found=wilson(sum(hits), len(hits)) if hits else None,
                hit_rate=sum(row.cached_tokens or 0 for row in counted) / prompt if prompt else None,
                ttft_p50_ms=median(ttfts) if ttfts else None,
            )
        )
    return tuple(result)


def judge(observations: Sequence[Observation], facts: TargetFacts) -> Verdict:
    """The verdict over all rows of a test, sequential and parallel."""
    rows = [one.row for one in observations]
    answered = [row for row in rows if row.state != "failed"]
    if not answered:
        return Verdict(healthy=None, routing_is_a_factor=None, cause="failed", text="No call was answered whole.")
    if all(row.hit_rate is None for row in answered):
        return _not_reported(answered, facts)
    repeatable = _repeatable(rows)
    evidence = _Evidence(observations, facts)
    displaced = [one for one in evidence.later if _lost_to_the_rule(one, facts)]
    if not evidence.telling and not displaced:
        return _without_history(evidence, facts)
    if not evidence.missed and displaced:
        return _displaced(evidence, displaced, facts, repeatable)
    if _rule_displaces_in_parallel(evidence, displaced, facts):
        return _displaced(evidence, displaced, facts, repeatable)
    if not evidence.missed:
        return _healthy(evidence, facts, repeatable)
    if not any(_beyond_the_head(one.row) for one in evidence.later):
        return _all_zero(evidence, facts, repeatable)
    return _missed(evidence, facts, repeatable)


def _not_reported(answered: Sequence[TurnRow], facts: TargetFacts) -> Verdict:
    faults = [row for row in answered if row.cached_tokens is None and "accounting fault" in (row.note or "")]
    if faults:
        text = f"No hit rate can be given: the counts contradict each other ({faults[0].note})."
        return Verdict(healthy=None, routing_is_a_factor=None, cause="accounting fault", text=text)
    text = "Cached tokens were not reported, so no hit rate can be given."
    if facts.how_to_report:
        text += f" Known of this target's reporting: {facts.how_to_report}."
    return Verdict(healthy=None, routing_is_a_factor=None, cause="not reported", text=text)


def _without_history(evidence: _Evidence, facts: TargetFacts) -> Verdict:
    longest = evidence.longest_prompt
    if longest < facts.minimum_tokens:
        cause = "too short"
        text = (
            f"Too short: the longest prompt has {longest:,} tokens and this cache rule reuses nothing below "
            f"{facts.minimum_tokens:,}. Use a longer system prompt or --pad."
        )
    elif not evidence.later:
        cause, text = "too few turns", "One turn alone has no history to find. Use --turns 2 or more."
        if any(one.row.turn > 1 for one in evidence.all):
            text = "A turn that failed left no history to judge: see why it failed, and run the test again."
    elif facts.not_identical:
        cause, text = "not identical", f"The prompts share nothing in front. {facts.not_identical}"
    else:
        cause = "too few turns"
        text = (
            "No turn can tell whether its history was found: what the turns add is less than what this cache credits "
            "at a time. Use more --turns or a larger --max-tokens."
        )
    return Verdict(healthy=None, routing_is_a_factor=None, cause=cause, text=text)


def _healthy(evidence: _Evidence, facts: TargetFacts, repeatable: bool | None) -> Verdict:
    text = "Healthy: every turn after the first found the whole history that the cache rule can serve."
    if facts.slack_tokens:
        text = "Healthy: every turn after the first that can tell found the prompt of the turn before."
    cause = None
    routing: bool | None = False
    raced = [one for one in evidence.all if _raced(one, facts)]
    if evidence.parallel_ran and evidence.hits("parallel"):
        text += " Parallel and sequential are equal per turn: routing is no factor."
    elif evidence.parallel_ran:
        routing = None
        text += (
            " In parallel no turn can tell: the opening that all sessions share is credited alike, and the turns add "
            "less than one step. Use more --turns or a larger --max-tokens."
        )
    if raced:
        cause = "race"
        text += (
            f" In {len(raced)} of the parallel calls the opening was paid again because the calls raced: none had "
            "answered yet when the others were sent. Send one call first, then the rest."
        )
    return Verdict(healthy=True, routing_is_a_factor=routing, cause=cause, text=text, repeatable=repeatable)


def _lost_to_the_rule(one: Observation, facts: RuleFacts) -> bool:
    """Whether the rule itself predicts less than what the prompt shares with earlier calls, by more than its step."""
    row = one.row
    if one.shared_tokens is None or row.cached_tokens is None or not row.prompt_tokens or row.state == "failed":
        return False
    lost = one.shared_tokens - max(row.cached_tokens, row.expected_cached_tokens or 0)
    return lost > max(HEAD_SHARE * row.prompt_tokens, facts.granularity, facts.slack_tokens)


def _raced(one: Observation, facts: RuleFacts) -> bool:
    """A session's first call that shares its opening with calls that had not answered when it was sent."""
    return one.previous is None and one.row.run.startswith("parallel") and _lost_to_the_rule(one, facts)


def _rule_displaces_in_parallel(evidence: _Evidence, displaced: Sequence[Observation], facts: RuleFacts) -> bool:
    """Whether an exact rule that loses histories itself explains the further losses too: overlapping calls can reach
    the server in another order than they were sent, and then another session is the one that was displaced."""
    sequential = evidence.hits("sequential")
    if facts.slack_tokens or not sequential or not all(sequential):
        return False
    return 0 < len(evidence.missed) < len(displaced)


def _displaced(
    evidence: _Evidence, displaced: Sequence[Observation], facts: TargetFacts, repeatable: bool | None
) -> Verdict:
    if evidence.longest_prompt < facts.minimum_tokens:
        return _without_history(evidence, facts)
    share = f"In {len(displaced):,} of {len(evidence.later):,} turns"
    text = f"{share} this cache could not serve the session's whole history, by its own rule"
    if not any(one.row.expected_cached_tokens for one in evidence.later):
        cause = "no reuse"
        text += ": it keeps nothing of what was sent."
    else:
        cause = "capacity"
        text += (
            ": all sessions together do not fit it, and they take each other's place. More slots or more memory for "
            "it, or fewer sessions at once. Routing is no factor."
        )
    return Verdict(healthy=False, routing_is_a_factor=False, cause=cause, text=text, repeatable=repeatable)


def _all_zero(evidence: _Evidence, facts: TargetFacts, repeatable: bool | None) -> Verdict:
    if evidence.longest_prompt < facts.minimum_tokens:
        return _without_history(evidence, facts)
    if facts.not_identical:
        text = f"Nothing was reused: the prompts are not identical in front. {facts.not_identical}"
        return Verdict(
            healthy=False, routing_is_a_factor=False, cause="not identical", text=text, repeatable=repeatable
        )
    cause = "no reuse"
    text = "Nothing was reused in any turn, although the prompts are identical in front and long enough."
    if facts.affinity_knob and not facts.affinity_sent:
        cause = "no affinity"
        text += f" No affinity was sent: try --affinity auto, which sets {facts.affinity_knob}."
    text += (
        " Prefix caching may be off on this target, every call may reach another replica, or an entry may become "
        "readable later than the next turn came (try a low --rpm)."
    )
    return Verdict(healthy=False, routing_is_a_factor=None, cause=cause, text=text, repeatable=repeatable)


def _missed(evidence: _Evidence, facts: TargetFacts, repeatable: bool | None) -> Verdict:
    if _replies_alone(evidence, facts):
        text = (
            f"{evidence.count}, but each of these found the whole prompt before and missed its reply alone: the engine "
            "does not keep what it generates, or renders it otherwise when it is sent back. Routing is no factor."
        )
        return Verdict(healthy=True, routing_is_a_factor=False, cause="reply", text=text, repeatable=repeatable)
    if not facts.published:
        found = fixed_or_coarse(evidence.count, evidence.later, evidence.missed, repeatable)
        if found is not None:
            return found
    if _always_one_turn_behind(evidence, facts):
        return _behind(evidence, repeatable)
    alone = not evidence.hits("sequential") or all(evidence.hits("sequential"))
    if alone and _starts_later(evidence):
        text = (
            f"{evidence.count}, all with sessions in parallel and not at their second turn: the states of all sessions "
            "do not fit together (eviction), or a time limit ran out. Routing does not show."
        )
        return Verdict(healthy=False, routing_is_a_factor=False, cause="eviction", text=text, repeatable=repeatable)
    rate = _calls_per_minute(evidence.all)
    if alone and facts.spills_over and rate is not None and rate > SPILL_OVER_CALLS_PER_MINUTE:
        text = (
            f"{evidence.count}, only with sessions in parallel, at {rate:,.0f} calls a minute on one prefix: above "
            f"about {SPILL_OVER_CALLS_PER_MINUTE:.0f} a minute this vendor spills over to further machines. "
            "Spread sessions over several keys, or slow down with --rpm."
        )
        return Verdict(healthy=False, routing_is_a_factor=True, cause="spill-over", text=text, repeatable=repeatable)
    if alone and (verdict := _not_at_random(evidence, repeatable)) is not None:
        return verdict
    if sum(hit for _, hit in evidence.telling) * LEAST_REPLICAS > len(evidence.telling):
        return _stray(evidence, repeatable)
    if not facts.published:
        verdict = unexplained(evidence.count, evidence.later, evidence.telling, repeatable)
        if verdict is not None:
            return verdict
    return _replica(evidence, facts, repeatable, alone=alone)


def _replies_alone(evidence: _Evidence, facts: TargetFacts) -> bool:
    """Every miss had the whole prompt before, and one of them beyond what the opening can explain."""
    opening = evidence.opening
    return all(reply_alone_missing(one, facts, opening[one.row.run]) for one in evidence.missed) and any(
        (one.row.cached_tokens or 0) > opening[one.row.run] for one in evidence.missed
    )


def _behind(evidence: _Evidence, repeatable: bool | None) -> Verdict:
    if evidence.parallel_ran:
        text = (
            f"{evidence.count}, each by exactly the turn before: an entry becomes readable only some time after the "
            "reply (write delay). Parallel and sequential behave alike: routing is no factor."
        )
        return Verdict(healthy=False, routing_is_a_factor=False, cause="write delay", text=text, repeatable=repeatable)
    text = (
        f"{evidence.count}, each by exactly the turn before: an entry becomes readable only some time after the reply "
        "(write delay), or calls go to two replicas in turn (routing). --sessions 3 tells them apart."
    )
    return Verdict(healthy=False, routing_is_a_factor=None, cause="write delay", text=text, repeatable=repeatable)


def _not_at_random(evidence: _Evidence, repeatable: bool | None) -> Verdict | None:
    """The verdict where losses in parallel alone do not fit replicas that calls reach at random, else None."""
    parallel, sequential = evidence.hits("parallel"), evidence.hits("sequential")
    share = sum(parallel) / len(parallel)
    if share > 1 / LEAST_REPLICAS:
        return _stray(evidence, repeatable, only_in_parallel=True)
    if sequential and share ** len(sequential) < UNLIKELY:
        text = (
            f"{evidence.count}, only with sessions in parallel, so calls do not reach replicas at random. Either the "
            "states of all sessions do not fit together (eviction), or calls are spread by load. Try fewer sessions, "
            "then more of them at a low --rpm."
        )
        return Verdict(healthy=False, routing_is_a_factor=None, cause="eviction", text=text, repeatable=repeatable)
    return None


def _stray(evidence: _Evidence, repeatable: bool | None, *, only_in_parallel: bool = False) -> Verdict:
    text = f"{evidence.count}, too few for several replicas. No known cause fits. Repeat with --repeat 2."
    if only_in_parallel:
        text = (
            f"{evidence.count}, only with sessions in parallel and too few for several replicas. No known cause fits; "
            "calls that overlap can reach the server in another order than they were sent. Repeat with --repeat 2."
        )
    return Verdict(healthy=None, routing_is_a_factor=None, cause="unexplained", text=text, repeatable=repeatable)


def _replica(evidence: _Evidence, facts: TargetFacts, repeatable: bool | None, *, alone: bool) -> Verdict:
    text = f"{evidence.count}: calls of one session reach different replicas, and each holds only what it has seen."
    found = wilson(sum(hit for _, hit in evidence.telling), len(evidence.telling))
    replicas = None
    if found.low > 0 and found.n >= LEAST_OBSERVATIONS:
        replicas = Interval(1 / found.estimate, 1 / found.high, 1 / found.low, found.n)
    text += (
        f" The history was found {found.estimate:.1%} of the time (95 % interval {found.low:.1%} to {found.high:.1%}, "
        f"n = {found.n})"
    )
    text += "." if replicas is None else f": about {replicas.estimate:.0f} replicas if calls reach them at random."
    if evidence.parallel_ran and alone:
        text += " In sequence nothing was missed: parallel and sequential differ."
    if facts.affinity_sent:
        text += f" The affinity that was sent ({facts.affinity_sent}) does not hold sessions together."
    elif facts.affinity_knob:
        text += f" Send the session's affinity: --affinity auto sets {facts.affinity_knob}."
    return Verdict(
        healthy=False, routing_is_a_factor=True, cause="replica", text=text, replicas=replicas, repeatable=repeatable
    )


def _always_one_turn_behind(evidence: _Evidence, facts: RuleFacts) -> bool:
    """Every turn from the third on is one turn behind.

    Of parallel second turns at most half may have found the opening: another replica has it, a late entry has not.
    """
    second = [one for one, _ in evidence.telling if is_second(one)]
    later = [one for one, _ in evidence.telling if not is_second(one)]
    with_opening = sum(_beyond_the_head(one.row) for one in second)
    if not later or len(evidence.missed) < len(evidence.telling) or 2 * with_opening > len(second):
        return False
    return all(one_turn_behind(one, facts) for one in later)


def _starts_later(evidence: _Evidence) -> bool:
    """The second turns in parallel found their history, all of them; later ones did not."""
    second = [hit for one, hit in evidence.telling if is_second(one) and one.row.run.startswith("parallel")]
    return len(second) >= 3 and all(second)


def _calls_per_minute(observations: Sequence[Observation]) -> float | None:
    sent = sorted(one.sent_at_s for one in observations if one.row.run.startswith("parallel"))
    if len(sent) < 2 or sent[-1] <= sent[0]:
        return None
    return 60.0 * (len(sent) - 1) / (sent[-1] - sent[0])


def _repeatable(rows: Sequence[TurnRow]) -> bool | None:
    """Whether repeated runs gave the same cached tokens on every call that all of them made; None without a repeat or
    where nothing is reported."""
    counts: dict[str, dict[str, dict[tuple[int, int], int | None]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        kind, _, number = row.run.partition("#")
        counts[kind][number][row.session, row.turn] = row.cached_tokens
    same = [
        len({run[call] for run in runs}) == 1
        for runs in (list(by_number.values()) for by_number in counts.values())
        if len(runs) > 1
        for call in set.intersection(*(set(run) for run in runs))
        if any(run[call] is not None for run in runs)
    ]
    return all(same) if same else None
