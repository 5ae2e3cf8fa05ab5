"""The calls of one rule, replayed together; their figures are carried over to the engine's own tokens."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from hitrate.cli.places import can_place, places_by
from hitrate.cli.whatif_log import Read
from hitrate.cli.whatif_rule import ReplayRule
from hitrate.core.model import Call
from hitrate.live.expectation import RenderedTokens
from hitrate.sim.scaling import Counted, counted
from hitrate.sim.whatif import Moments, Prompt, Served, replay
from hitrate.targets.dialects import dialect as dialect_named
from hitrate.tokens import tokenizer

ROUTING_SEEDS = 10
"""Random routes over which a prediction for several replicas is averaged."""


class Figures(NamedTuple):
    """One call's prediction, in the engine's tokens."""

    prompt: int
    cached: float
    written: int | None = None
    written_1h: int | None = None


class Predictor:
    """Predicts the calls of a log, whatever their bodies became; the first time it has to be given those sent."""

    def __init__(self, read: Sequence[Read], rules: Sequence[ReplayRule], replicas: int) -> None:
        self._read = read
        self._rules = rules
        self._replicas = replicas
        self._moments = _moments([one.call for one in read])
        self._sent_lengths: dict[int, int] = {}
        """By position in the log, tokens of the stand-in in the prompt as it was sent."""

    def predicted(self, bodies: Sequence[bytes], *, routed: bool) -> list[Figures]:
        """One a call. `routed`: each call names its conversation to the router."""
        found: dict[int, Figures] = {}
        by_rule: dict[tuple[str, int, int], list[int]] = {}
        for place, rule in enumerate(self._rules):
            by_rule.setdefault((rule.text, rule.step, rule.minimum), []).append(place)
        for places in by_rule.values():
            group = _Group(
                [self._read[place] for place in places],
                [bodies[place] for place in places],
                self._rules[places[0]],
                routed,
            )
            counts = group.counts(self._sent_lengths)
            moments = [self._moments[place] for place in places]
            found.update(zip(places, group.replayed(moments, counts, self._replicas), strict=True))
        return [found[place] for place in range(len(bodies))]


class _Group:
    """The calls of one rule."""

    def __init__(self, read: list[Read], bodies: list[bytes], rule: ReplayRule, routed: bool) -> None:
        self._read = read
        self._bodies = bodies
        self._rule = rule
        self._routed = routed
        self._sources: dict[str, RenderedTokens] = {}
        self._kept: dict[int, Prompt] = {}
        self._kept_tokens = 0

    def replayed(self, moments: Sequence[Moments], counts: Sequence[Counted], replicas: int) -> list[Figures]:
        seeds = range(ROUTING_SEEDS if replicas > 1 else 1)
        runs = [replay(moments, self._prompt, self._rule.make_cache, replicas=replicas, seed=seed) for seed in seeds]
        return [
            _mean([_figures(one[number], count, self._rule) for one in runs]) for number, count in enumerate(counts)
        ]

    def counts(self, sent_lengths: dict[int, int]) -> list[Counted]:
        """Every prompt's length in both counts. The engine's is the reported one, changed as the stand-in's changed."""
        found = []
        last: dict[int, tuple[Sequence[int], int]] = {}
        for number, one in enumerate(self._read):
            tokens = self._prompt(number).tokens
            sent = sent_lengths.setdefault(one.position, len(tokens))
            reported = one.call.usage.prompt_tokens
            known = reported is not None and not one.call.usage.accounting_fault
            engine = round((reported or 0) * len(tokens) / max(1, sent)) if known else len(tokens)
            before, before_tokens = last.get(one.conversation, ((), None))
            found.append(counted(tokens, engine, before, before_tokens))
            last[one.conversation] = tokens, engine
        return found

    def _prompt(self, number: int) -> Prompt:
        if (known := self._kept.get(number)) is not None:
            return known
        one = self._read[number]
        call = replace(one.call, body=self._bodies[number])
        tokens = self._source(call.dialect).tokens(call)
        affinity = one.affinity
        if affinity is None and self._routed:
            affinity = f"conversation-{one.conversation + 1}"
        prompt = Prompt(
            array("I", tokens.prompt), tokens.generated, (tokens.namespace, one.key), tokens.places, affinity
        )
        if self._kept_tokens + len(tokens.prompt) <= _KEPT_TOKENS:
            self._kept[number] = prompt
            self._kept_tokens += len(tokens.prompt)
        return prompt

    def _source(self, dialect: str) -> RenderedTokens:
        if dialect not in self._sources:
            wire = dialect_named(dialect)
            rule = self._rule.rule
            places = places_by(rule, wire) if rule is not None and can_place(rule) else None
            self._sources[dialect] = RenderedTokens(wire, tokenizer("o200k"), exact=False, places_of=places)
        return self._sources[dialect]


_KEPT_TOKENS = 16_000_000
"""Prompts of that many tokens in all are kept for the passes over a scenario; of a larger log they are made again."""

_ONE_HOUR_S = 3600.0


def _figures(served: Served, count: Counted, rule: ReplayRule) -> Figures:
    cached = rule.credited(count.in_engine_tokens(served.cached), count.engine_tokens)
    if served.written is None:
        return Figures(count.engine_tokens, cached)
    end = count.in_engine_tokens(served.cached + sum(served.written.values()))
    written = max(0, end - cached) if end >= rule.minimum else 0
    of_all = sum(served.written.values())
    hour = sum(tokens for ttl_s, tokens in served.written.items() if ttl_s >= _ONE_HOUR_S)
    return Figures(count.engine_tokens, cached, written, round(written * hour / of_all) if of_all else 0)


def _mean(figures: list[Figures]) -> Figures:
    first = figures[0]
    return first._replace(cached=sum(one.cached for one in figures) / len(figures))


def _moments(calls: Sequence[Call]) -> list[Moments]:
    """Where a call has no time, that of the one before it and a second."""
    found: list[Moments] = []
    sent = 0.0
    for call in calls:
        timing = call.timing
        sent = sent + 1.0 if timing is None else timing.at
        ttft, total = (None, None) if timing is None else (timing.ttft_s, timing.total_s)
        first = sent + next((after for after in (ttft, total) if after is not None), 0.0)
        found.append(Moments(sent, first, first if total is None else max(first, sent + total)))
    return found
