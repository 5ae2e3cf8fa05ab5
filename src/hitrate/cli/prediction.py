"""Which cache rule predicts the calls of a run, with which tokens, and how far that can be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hitrate.caches.interface import PrefixCache
from hitrate.caches.radix import RadixCache
from hitrate.caches.rules import RuleSet, describe, make_cache, rule_set
from hitrate.cli.started import Started
from hitrate.core.model import Call
from hitrate.core.results import Expectation
from hitrate.engines.running import settings_at
from hitrate.errors import HitrateError
from hitrate.explain.rows import Expected, RuleFacts
from hitrate.live.expectation import EngineTokens, RenderedTokens, TokenSource, expectations
from hitrate.serve.practice.options import PracticeOptions
from hitrate.targets.dialects.interface import Dialect
from hitrate.tokens import tokenizer

ESTIMATE_SLACK = 0.03
"""An estimate takes another vocabulary's share of the prompt for the engine's: good to a few tokens in a hundred."""
UNKNOWN_GRANULARITY = 128
"""The largest step that hosted vendors document; used as slack where the rule is not published."""


class Prediction(Struct, frozen=True, kw_only=True):
    expected: tuple[Expected, ...]
    rule: RuleFacts
    expectation: Expectation


def predict(
    calls: Sequence[Call], started: Started, dialect: Dialect, rule_name: str | None, settings: Mapping[str, Any]
) -> Prediction:
    """Expected cached tokens for every call of a run, in the order given.

    `settings` change parameters of the rule, e.g. `block_size`. Raises UsageError for an unknown rule or setting.
    """
    if started.practice is not None and rule_name is None:
        return _practice(calls, started.practice, dialect)
    name = rule_name or started.target.rule_set
    rule = rule_set(name) if name else None
    if started.target.tokenizer == "engine" and started.target.base_url is not None:
        source = EngineTokens(started.target.base_url)
        try:
            return _exact(calls, source, rule, _engine_settings(rule, source, settings))
        except HitrateError as error:
            return _estimated(calls, dialect, rule, note=f"the engine's own tokens could not be had: {error.message}")
    if started.practice is not None:
        return _exact(calls, RenderedTokens(dialect, tokenizer("o200k"), exact=True), rule, settings)
    return _estimated(calls, dialect, rule)


def _practice(calls: Sequence[Call], options: PracticeOptions, dialect: Dialect) -> Prediction:
    """By the very rule the server was told, as one cache for all calls and without limit: what could be had."""
    from hitrate.serve.practice.caches import best_case_cache, rule_text

    source = RenderedTokens(dialect, tokenizer("o200k"), exact=True)
    expected = expectations(calls, source, lambda: best_case_cache(options))
    minimum = max(options.minimum_tokens, options.block_size + 1 if options.rule == "block-chain" else 2)
    return Prediction(
        expected=tuple(expected),
        rule=RuleFacts(minimum_tokens=minimum),
        expectation=Expectation(rule_set=rule_text(options), basis="exact"),
    )


def _exact(calls: Sequence[Call], source: TokenSource, rule: RuleSet | None, settings: Mapping[str, Any]) -> Prediction:

    def cache() -> PrefixCache:
        return make_cache(rule, **settings) if rule is not None else RadixCache()

    expected = expectations(calls, source, cache)
    note = None
    if not source.exact:
        note = "some replies came without token ids and were tokenised again; their turns may be off by a few tokens"
    return Prediction(
        expected=tuple(expected),
        rule=RuleFacts(minimum_tokens=_minimum(rule)),
        expectation=Expectation(
            rule_set=describe(rule, **settings) if rule else "longest-prefix", basis="exact", note=note
        ),
    )


def _estimated(calls: Sequence[Call], dialect: Dialect, rule: RuleSet | None, note: str | None = None) -> Prediction:
    granularity = int(rule.parameters.get("block_size") or rule.parameters.get("page_size") or 1) if rule else 1
    source = RenderedTokens(dialect, tokenizer("o200k"), exact=False)
    expected = expectations(calls, source, RadixCache, granularity)
    longest = max((call.usage.prompt_tokens or 0 for call in calls), default=0)
    step = granularity if rule else UNKNOWN_GRANULARITY
    minimum = _minimum(rule)
    if minimum:
        expected = [
            wish if (call.usage.prompt_tokens or 0) >= minimum else Expected(0, wish.shared_tokens)
            for wish, call in zip(expected, calls, strict=True)
        ]
    if rule is None:
        note = note or "this target publishes no rule: the longest common prefix is what could be had at most"
    return Prediction(
        expected=tuple(expected),
        rule=RuleFacts(minimum_tokens=minimum, slack_tokens=step + math.ceil(ESTIMATE_SLACK * longest)),
        expectation=Expectation(
            rule_set=describe(rule) if rule else "longest common prefix", basis="estimated", note=note
        ),
    )


def _minimum(rule: RuleSet | None) -> int:
    """The shortest prompt that the rule can reuse anything of."""
    if rule is None:
        return 0
    block = int(rule.parameters.get("block_size") or 1)
    return max(int(rule.parameters.get("minimum_tokens") or 0), block + 1)


def _engine_settings(rule: RuleSet | None, source: EngineTokens, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine was started with, as far as it or hitrate can tell; the user's own settings win."""
    found: dict[str, Any] = {}
    if rule is not None and rule.model == "slots":
        found = settings_at(source.base_url) or source.slots()
    return {**found, **settings}
