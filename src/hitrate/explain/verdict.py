"""What a multi-turn test says in plain words: healthy or not, is routing a factor, and which known cause fits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from hitrate.core.results import Interval, PerTurn, TurnRow, Verdict
from hitrate.core.statistics import median, wilson
from hitrate.explain.states import HEAD_SHARE

SPILL_OVER_CALLS_PER_MINUTE = 15.0
"""Above about this rate per prefix and key OpenAI sends calls to further machines.
https://platform.openai.com/docs/guides/prompt-caching"""


LEAST_REPLICAS = 1.5
"""Two replicas lose every second turn; an estimate below this is a stray loss, not a replica."""


class Observation(Struct, frozen=True, kw_only=True):
    """One row with what the verdict needs beside it.

    `shared_tokens` is what the prompt shares with any call sent before; it exceeds the row's expectation where calls
    raced or the cache cannot hold all. `previous_expected` is the expectation of the session's turn before.
    """

    row: TurnRow
    shared_tokens: int | None = None
    previous_expected: int | None = None
    sent_at_s: float = 0.0


class TargetFacts(Struct, frozen=True, kw_only=True):
    """What is known of the target that bears on the verdict."""

    minimum_tokens: int = 0
    slack_tokens: int = 0
    how_to_report: str | None = None
    affinity_sent: str | None = None
    affinity_knob: str | None = None
    not_identical: str | None = None
    """Where two prompts that should share a prefix part, in words."""
    spills_over: bool = False


def history_found(row: TurnRow, slack_tokens: int) -> bool | None:
    """Whether the session's own history was served; None where there was none to serve or nothing is reported."""
    if row.turn < 2 or row.cached_tokens is None or row.expected_cached_tokens is None or not row.prompt_tokens:
        return None
    if row.state == "failed" or row.expected_cached_tokens <= HEAD_SHARE * row.prompt_tokens:
        return None
    return row.cached_tokens >= row.expected_cached_tokens - slack_tokens


def per_turn(rows: Sequence[TurnRow], slack_tokens: int) -> tuple[PerTurn, ...]:
    """Rows of equal run and turn together; `found` is None for the first turn."""
    groups: dict[tuple[str, int], list[TurnRow]] = defaultdict(list)
    for row in rows:
        groups[row.run, row.turn].append(row)
    result = []
    for (run, turn), group in groups.items():
        found = [hit for hit in (history_found(row, slack_tokens) for row in group) if hit is not None]
        counted = [
            row for row in group if row.cached_tokens is not None and row.prompt_tokens and row.hit_rate is not None
        ]
        prompt = sum(row.prompt_tokens or 0 for row in counted)
        ttfts = [row.ttft_ms for row in group if row.ttft_ms is not None]
        result.append(
            PerTurn(
                run=run,
                turn=turn,
                found=wilson(sum(found), len(found)) if found else None,
                hit_rate=sum(row.cached_tokens or 0 for row in counted) / prompt if prompt else None,
                ttft_p50_ms=median(ttfts) if ttfts else None,
            )
        )
    return tuple(result)


def judge(observations: Sequence[Observation], facts: TargetFacts) -> Verdict:
    """The verdict over all rows of a test, sequential and parallel."""
    rows = [observation.row for observation in observations]
    answered = [row for row in rows if row.state != "failed"]
    if not answered:
        return Verdict(healthy=None, routing_is_a_factor=None, cause="failed", text="No call was answered.")
    reported = [row for row in answered if row.cached_tokens is not None and row.state != "not reported"]
    if not reported:
        how = f" {facts.how_to_report}" if facts.how_to_report else ""
        text = f"Cached tokens are not reported by this target, so no hit rate can be given.{how}"
        return Verdict(healthy=None, routing_is_a_factor=None, cause="not reported", text=text)
    history = [row for row in reported if history_found(row, facts.slack_tokens) is not None]
    displaced = [o.row for o in observations if o.row.turn > 1 and _lost_to_the_rule(o)]
    repeatable = _repeatable(rows)
    if not history and not displaced:
        return _without_history(reported, facts)
    missed = [row for row in history if not history_found(row, facts.slack_tokens)]
    if not missed and displaced:
        return _displaced(reported, displaced, facts, repeatable)
    if not missed:
        return _healthy(observations, repeatable)
    if all((row.cached_tokens or 0) <= HEAD_SHARE * (row.prompt_tokens or 0) for row in reported if row.turn > 1):
        return _all_zero(reported, facts, repeatable)
    return _missed(observations, history, missed, facts, repeatable)


def _without_history(reported: Sequence[TurnRow], facts: TargetFacts) -> Verdict:
    longest = max(row.prompt_tokens or 0 for row in reported)
    if longest < facts.minimum_tokens:
        text = (
            f"Too short: the longest prompt has {longest:,} tokens and this cache rule reuses nothing below "
            f"{facts.minimum_tokens:,}. Use a longer system prompt or --pad."
        )
        return Verdict(healthy=None, routing_is_a_factor=None, cause="too short", text=text)
    text = "One turn alone has no history to find. Use --turns 2 or more."
    return Verdict(healthy=None, routing_is_a_factor=None, cause="too few turns", text=text)


def _healthy(observations: Sequence[Observation], repeatable: bool | None) -> Verdict:
    runs = {observation.row.run.split("#")[0] for observation in observations}
    text = "Healthy: every turn after the first found the whole history that the cache rule can serve."
    cause = None
    raced = [observation for observation in observations if _raced(observation)]
    if len(runs) > 1:
        text += " Parallel and sequential are equal per turn: routing is no factor."
    if raced:
        cause = "race"
        text += (
            f" In {len(raced)} of the parallel calls the opening was paid again because the calls raced: none had "
            "answered yet when the others were sent. Send one call first, then the rest."
        )
    return Verdict(healthy=True, routing_is_a_factor=False, cause=cause, text=text, repeatable=repeatable)


def _lost_to_the_rule(observation: Observation) -> bool:
    """Whether the rule itself predicts less than what the prompt shares with earlier calls, by more than a block."""
    row = observation.row
    if observation.shared_tokens is None or row.cached_tokens is None or not row.prompt_tokens:
        return False
    lost = observation.shared_tokens - max(row.cached_tokens, row.expected_cached_tokens or 0)
    return lost > HEAD_SHARE * row.prompt_tokens


def _raced(observation: Observation) -> bool:
    """A first turn that shares its opening with calls that had not answered when it was sent."""
    return observation.row.turn == 1 and observation.row.run.startswith("parallel") and _lost_to_the_rule(observation)


def _displaced(
    reported: Sequence[TurnRow], displaced: Sequence[TurnRow], facts: TargetFacts, repeatable: bool | None
) -> Verdict:
    longest = max(row.prompt_tokens or 0 for row in reported)
    if longest < facts.minimum_tokens:
        return _without_history(reported, facts)
    later = sum(row.turn > 1 for row in reported)
    share = f"In {len(displaced):,} of {later:,} turns"
    text = f"{share} this cache could not serve the session's whole history, by its own rule"
    if all(not row.expected_cached_tokens for row in displaced):
        return Verdict(
            healthy=False,
            routing_is_a_factor=False,
            cause="no reuse",
            text=f"{text}: it keeps nothing of what was sent.",
            repeatable=repeatable,
        )
    text += (
        ": all sessions together do not fit it, and they take each other's place. More slots or more memory for it, or "
        "fewer sessions at once. Routing is no factor."
    )
    return Verdict(healthy=False, routing_is_a_factor=False, cause="capacity", text=text, repeatable=repeatable)


def _all_zero(reported: Sequence[TurnRow], facts: TargetFacts, repeatable: bool | None) -> Verdict:
    longest = max(row.prompt_tokens or 0 for row in reported)
    if longest < facts.minimum_tokens:
        return _without_history(reported, facts)
    if facts.not_identical:
        text = f"Nothing was reused: the prompts are not identical in front. {facts.not_identical}"
        return Verdict(
            healthy=False, routing_is_a_factor=False, cause="not identical", text=text, repeatable=repeatable
        )
    text = "Nothing was reused in any turn, although the prompts are identical in front and long enough."
    if facts.affinity_knob and not facts.affinity_sent:
        text += f" No affinity was sent: try --affinity auto, which sets {facts.affinity_knob}."
        return Verdict(healthy=False, routing_is_a_factor=True, cause="no affinity", text=text, repeatable=repeatable)
    text += " Prefix caching may be off on this target, or every call reaches another replica."
    return Verdict(healthy=False, routing_is_a_factor=None, cause="no reuse", text=text, repeatable=repeatable)


def _missed(
    observations: Sequence[Observation],
    history: Sequence[TurnRow],
    missed: Sequence[TurnRow],
    facts: TargetFacts,
    repeatable: bool | None,
) -> Verdict:
    count = f"{len(missed):,} of {len(history):,} turns did not find the session's whole history"
    if _one_turn_behind(observations, facts.slack_tokens):
        text = (
            f"{count}, each by exactly the turn before: an entry becomes readable only some time after the reply "
            "(write delay). Parallel and sequential behave alike: routing is no factor."
        )
        return Verdict(healthy=False, routing_is_a_factor=False, cause="write delay", text=text, repeatable=repeatable)
    sequential_missed = any(row.run.startswith("sequential") for row in missed)
    parallel_ran = any(row.run.startswith("parallel") for row in history)
    if not sequential_missed and _starts_later(history, facts.slack_tokens):
        text = (
            f"{count}, all with sessions in parallel and not at their second turn: the states of all sessions do not "
            "fit together (eviction), or a time limit ran out. Routing does not show."
        )
        return Verdict(healthy=False, routing_is_a_factor=False, cause="eviction", text=text, repeatable=repeatable)
    rate = _calls_per_minute(observations)
    if not sequential_missed and facts.spills_over and rate is not None and rate > SPILL_OVER_CALLS_PER_MINUTE:
        text = (
            f"{count}, only with sessions in parallel, at {rate:,.0f} calls a minute on one prefix: above about "
            f"{SPILL_OVER_CALLS_PER_MINUTE:.0f} a minute this vendor spills over to further machines. "
            "Spread sessions over several keys, or slow down with --rpm."
        )
        return Verdict(healthy=False, routing_is_a_factor=True, cause="spill-over", text=text, repeatable=repeatable)
    replicas, found = _replicas(history, facts.slack_tokens)
    if not sequential_missed and replicas is not None and replicas.estimate < LEAST_REPLICAS:
        text = (
            f"{count}, only with sessions in parallel and too few for several replicas. No known cause fits; calls "
            "that overlap can reach the server in another order than they were sent. Repeat with --repeat 2."
        )
        return Verdict(healthy=None, routing_is_a_factor=None, cause="unexplained", text=text, repeatable=repeatable)
    text = f"{count}: calls of one session reach different replicas, and each holds only what it has seen."
    if found is not None:
        text += (
            f" At turn 2 the history was found {found.estimate:.1%} of the time "
            f"(95 % interval {found.low:.1%} to {found.high:.1%}, n = {found.n})"
        )
        text += f": about {replicas.estimate:.0f} replicas without affinity." if replicas is not None else "."
    if parallel_ran and not sequential_missed:
        text += " In sequence nothing was missed: parallel and sequential differ."
    if facts.affinity_sent:
        text += f" The affinity that was sent ({facts.affinity_sent}) does not hold sessions together."
    elif facts.affinity_knob:
        text += f" Send the session's affinity: --affinity auto sets {facts.affinity_knob}."
    return Verdict(
        healthy=False, routing_is_a_factor=True, cause="replica", text=text, replicas=replicas, repeatable=repeatable
    )


def _one_turn_behind(observations: Sequence[Observation], slack: int) -> bool:
    """Every turn from the third on was served what the turn before it could have been, no more and no less."""
    late = [o for o in observations if o.row.turn > 2 and history_found(o.row, slack) is not None]
    if not late:
        return False
    return all(
        o.previous_expected is not None
        and o.row.cached_tokens is not None
        and not history_found(o.row, slack)
        and abs(o.row.cached_tokens - o.previous_expected) <= slack
        for o in late
    )


def _starts_later(history: Sequence[TurnRow], slack: int) -> bool:
    """The second turns found their history nearly always, later ones did not."""
    second = [bool(history_found(row, slack)) for row in history if row.turn == 2 and row.run.startswith("parallel")]
    return len(second) >= 3 and all(second)


def _replicas(history: Sequence[TurnRow], slack: int) -> tuple[Interval | None, Interval | None]:
    """Replicas behind the address if each call goes to a random one, and the share found at turn 2."""
    second = [bool(history_found(row, slack)) for row in history if row.turn == 2]
    if len(second) < 2:
        return None, None
    found = wilson(sum(second), len(second))
    if found.estimate == 0 or found.low == 0:
        return None, found
    return Interval(1 / found.estimate, 1 / found.high, 1 / found.low, found.n), found


def _calls_per_minute(observations: Sequence[Observation]) -> float | None:
    sent = sorted(o.sent_at_s for o in observations if o.row.run.startswith("parallel"))
    if len(sent) < 2 or sent[-1] <= sent[0]:
        return None
    return 60.0 * (len(sent) - 1) / (sent[-1] - sent[0])


def _repeatable(rows: Sequence[TurnRow]) -> bool | None:
    """Whether repeated runs gave the same cached tokens call by call; None without a repeat."""
    counts: dict[str, dict[str, dict[tuple[int, int], int | None]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        kind, _, number = row.run.partition("#")
        counts[kind][number][row.session, row.turn] = row.cached_tokens
    repeats = [list(by_number.values()) for by_number in counts.values() if len(by_number) > 1]
    if not repeats:
        return None
    return all(run == runs[0] for runs in repeats for run in runs)
