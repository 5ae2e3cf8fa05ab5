"""Which cache rule predicts the calls of a run, with which tokens, and how far that can be trusted."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from hitrate.caches.interface import PrefixCache
from hitrate.caches.radix import RadixCache
from hitrate.caches.rules import RuleSet, describe, make_cache, minimum_tokens, rule_set
from hitrate.cli.places import can_place, places_by
from hitrate.cli.started import Started
from hitrate.core.model import Call
from hitrate.core.results import Expectation
from hitrate.engines.gguf import read_summary
from hitrate.engines.llamacpp_memory import memory_settings
from hitrate.engines.running import settings_at
from hitrate.errors import HitrateError, InputFileError, UsageError
from hitrate.explain.turns.rows import Expected, RuleFacts
from hitrate.live.engine_tokens import EngineTokens, engine_tokens
from hitrate.live.expectation import RenderedTokens, TokenSource, expectations
from hitrate.serve.practice.options import PracticeOptions
from hitrate.targets.dialects.interface import Dialect
from hitrate.tokens import tokenizer

ESTIMATE_SLACK_TOKENS = 16
"""How far an estimate may be off: it stands on the prompt tokens that the engine reported, for this prompt and for the
one before, and puts another vocabulary in place of the engine's only in between."""
UNKNOWN_GRANULARITY = 128
"""The largest step that hosted vendors document; taken where no rule is published and the counts show no step."""
LARGEST_STEP = 1024
"""Above it a common divisor is taken for chance."""
LEAST_COUNTS_FOR_A_STEP = 3
"""Distinct cached counts needed before their common divisor is taken for the step."""


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
    model = next((call.model for call in calls if call.model), None)
    name = rule_name or started.target.rule_set_for(model)
    rule = rule_set(name) if name else None
    if rule is not None:
        settings = {**_of_model(rule, model), **settings}
    source = engine_tokens(started.target, started.key)
    if source is not None:
        try:
            if rule_name is None:
                rule = rule_of_memory(rule, source)
            return _by_engine(calls, source, rule, settings)
        except HitrateError as error:
            note = f"the engine's own tokens could not be had: {error.message}"
            return _estimated(calls, dialect, rule, settings, note=note)
    if started.practice is not None:
        return _exact(calls, _rendered(dialect, rule, exact=True), rule, settings)
    return _estimated(calls, dialect, rule, settings, known_step=started.target.step_tokens)


def _rendered(dialect: Dialect, rule: RuleSet | None, *, exact: bool) -> RenderedTokens:
    places_of = places_by(rule, dialect) if rule is not None and can_place(rule) else None
    return RenderedTokens(dialect, tokenizer("o200k"), exact=exact, places_of=places_of)


def _of_model(rule: RuleSet, model: str | None) -> dict[str, int]:
    minimum = minimum_tokens(rule, model) if model else None
    return {} if minimum is None else {"minimum_tokens": minimum}


def check_rule(started: Started, rule_name: str | None, settings: Mapping[str, Any], model: str | None = None) -> None:
    """Before any prompt is sent: raises UsageError for a rule or a setting that `predict` would refuse."""
    name = rule_name or (started.target.rule_set_for(model) if started.practice is None else None)
    if name is not None:
        make_cache(rule_set(name), **settings)
    elif settings:
        raise UsageError(
            f"--rule-setting {next(iter(settings))}: {started.target.name} has no rule that it could change; name one "
            "with --rule-set"
        )


def _practice(calls: Sequence[Call], options: PracticeOptions, dialect: Dialect) -> Prediction:
    """By the very rule the server was told, as one cache for all calls and without limit: what could be had."""
    from hitrate.serve.practice.caches import best_case_cache, rule_text
    from hitrate.serve.practice.options import NO_RULE

    rule = None if options.rule == NO_RULE else rule_set(options.rule)
    source = _rendered(dialect, rule, exact=True)
    expected = expectations(calls, source, lambda: best_case_cache(options))
    minimum = 0 if options.rule == NO_RULE else max(options.minimum_tokens, options.block_size + 1)
    limits = {
        "without eviction": options.capacity_tokens,
        "without write delay": options.write_delay_ms,
        "as if all replicas were one": options.replicas > 1,
    }
    left_out = [words for words, limit in limits.items() if limit]
    return Prediction(
        expected=tuple(expected),
        rule=RuleFacts(minimum_tokens=minimum, granularity=options.block_size),
        expectation=Expectation(
            rule_set=rule_text(options),
            basis="exact",
            granularity=None if options.rule == NO_RULE else options.block_size,
            note=", ".join(left_out) or None,
        ),
    )


def _by_engine(
    calls: Sequence[Call], source: EngineTokens, rule: RuleSet | None, settings: Mapping[str, Any]
) -> Prediction:
    """With the engine's own tokens and settings; the user's own settings win."""
    source.tells_user_starts = rule is not None and rule.model == "checkpoints"
    settings = {**told_settings(rule, source), **settings}
    made = _exact(calls, source, rule, settings)
    if rule is not None and "block_size" in rule.parameters and "block_size" not in settings:
        assumed = rule.parameters["block_size"]
        note = f"the server tells no block size and {assumed} is assumed: --rule-setting block_size=N"
        said = "; ".join(filter(None, (made.expectation.note, note)))
        made = replace(made, expectation=replace(made.expectation, note=said))
    return made


def _exact(calls: Sequence[Call], source: TokenSource, rule: RuleSet | None, settings: Mapping[str, Any]) -> Prediction:

    def cache() -> PrefixCache:
        return make_cache(rule, **settings) if rule is not None else RadixCache()

    at_once = rule is not None and rule.found_while_computed
    expected = expectations(calls, source, cache, found_while_computed=at_once)
    note = None
    if not source.exact:
        note = "some replies came without token ids and were tokenised again; their turns may be off by a few tokens"
    return Prediction(
        expected=tuple(expected),
        rule=RuleFacts(minimum_tokens=_minimum(rule, settings), granularity=_step(rule, settings) or 1),
        expectation=Expectation(
            rule_set=describe(rule, **settings) if rule else "longest-prefix",
            basis="exact",
            granularity=_step(rule, settings) or 1,
            note=note,
        ),
    )


def _estimated(
    calls: Sequence[Call],
    dialect: Dialect,
    rule: RuleSet | None,
    settings: Mapping[str, Any],
    *,
    known_step: int | None = None,
    note: str | None = None,
) -> Prediction:
    if rule is not None:
        make_cache(rule, **settings)  # refuses settings that the rule does not have
        if can_place(rule) or rule.model == "units":
            return _estimated_by_places(calls, dialect, rule, settings, note)
        if rule.needs_places:
            note = f"what {rule.name} serves is in no request: the longest common prefix is what could be had at most"
            rule = None
    source = _rendered(dialect, rule, exact=False)
    step = _step(rule, settings) or known_step or _common_step(calls) or UNKNOWN_GRANULARITY
    at_once = rule is not None and rule.found_while_computed
    step_of_rule = step if rule is not None else 1
    expected = expectations(calls, source, RadixCache, granularity=step_of_rule, found_while_computed=at_once)
    if rule is not None and {**rule.parameters, **settings}.get("whole_prompts"):
        expected = _or_whole(expected, expectations(calls, source, lambda: _whole_prompts(rule, settings)))
    minimum = _minimum(rule, settings)
    if minimum:
        expected = [
            wish if (call.usage.prompt_tokens or 0) >= minimum else Expected(0, wish.shared_tokens)
            for wish, call in zip(expected, calls, strict=True)
        ]
    if rule is None:
        note = note or "this target publishes no rule: the longest common prefix is what could be had at most"
    return Prediction(
        expected=tuple(expected),
        rule=RuleFacts(
            minimum_tokens=minimum,
            granularity=step,
            slack_tokens=step + ESTIMATE_SLACK_TOKENS,
            published=rule is not None,
        ),
        expectation=Expectation(
            rule_set=describe(rule, **settings) if rule else "longest common prefix",
            basis="estimated",
            granularity=_step(rule, settings),
            note=note,
        ),
    )


def _whole_prompts(rule: RuleSet, settings: Mapping[str, Any]) -> PrefixCache:
    """The rule's cache with no block that any prompt would fill: what is left is the very same prompt, asked again."""
    return make_cache(rule, **{**settings, "block_size": sys.maxsize >> 8})


def _or_whole(expected: Sequence[Expected], whole: Sequence[Expected]) -> list[Expected]:
    return [
        Expected(again.cached_tokens, wish.shared_tokens) if again.cached_tokens else wish
        for wish, again in zip(expected, whole, strict=True)
    ]


def _estimated_by_places(
    calls: Sequence[Call], dialect: Dialect, rule: RuleSet, settings: Mapping[str, Any], note: str | None
) -> Prediction:
    """By a rule that serves up to the ends of blocks, or of whole prompts and replies: the tokens are estimated, the
    places are the request's own."""
    minimum = _minimum(rule, settings)
    unlimited = {**settings, "minimum_tokens": 0}  # which is in the engine's tokens, not in those that stand in
    expected = [
        Expected(0, wish.shared_tokens) if (wish.cached_tokens or minimum) < minimum else wish
        for wish in expectations(calls, _rendered(dialect, rule, exact=False), lambda: make_cache(rule, **unlimited))
    ]
    return Prediction(
        expected=tuple(expected),
        rule=RuleFacts(minimum_tokens=minimum, slack_tokens=ESTIMATE_SLACK_TOKENS),
        expectation=Expectation(rule_set=describe(rule, **settings), basis="estimated", granularity=1, note=note),
    )


def _step(rule: RuleSet | None, settings: Mapping[str, Any]) -> int | None:
    """The unit in which the rule credits tokens; None where there is no rule."""
    if rule is None:
        return None
    values = {**rule.parameters, **settings}
    return int(values.get("block_size") or values.get("page_size") or 1)


def _common_step(calls: Sequence[Call]) -> int | None:
    """The common divisor of the cached counts, where there are enough of them to mean something."""
    counts = {call.usage.cached_tokens for call in calls if call.usage.cached_tokens}
    if len(counts) < LEAST_COUNTS_FOR_A_STEP:
        return None
    step = math.gcd(*counts)
    return step if step <= LARGEST_STEP else None


def _minimum(rule: RuleSet | None, settings: Mapping[str, Any]) -> int:
    """The shortest prompt that the rule can reuse anything of."""
    if rule is None:
        return 0
    minimum = {**rule.parameters, **settings}.get("minimum_tokens")
    return max(int(minimum or 0), (_step(rule, settings) or 1) + 1)


def told_settings(rule: RuleSet | None, source: EngineTokens | None) -> dict[str, Any]:
    """What the engine was started with, as far as it or hitrate can tell, as parameters of the rule.

    Raises Unreachable and TargetError where the engine does not answer.
    """
    if rule is None or source is None or rule.model not in source.rule_models:
        return {}
    started = settings_at(source.base_url)
    told: dict[str, Any] = dict(source.rule_settings() if started is None else started)
    memory = told.pop("memory", None) if started is not None else _memory(source)
    return told | (memory or {}) if rule.model == "checkpoints" else told


def rule_of_memory(rule: RuleSet | None, source: EngineTokens) -> RuleSet | None:
    """The target's rule, or the one that holds for models whose memory llama.cpp cannot cut at any token.

    Raises as `told_settings` does.
    """
    if rule is None or rule.name != "llama.cpp-2026-10":
        return rule
    started = settings_at(source.base_url)
    memory = _memory(source) if started is None else started.get("memory")
    if memory is None:
        return rule
    return rule_set("llama.cpp-swa-2026-10" if "window" in memory else "llama.cpp-recurrent-2026-10")


def _memory(source: EngineTokens) -> dict[str, Any] | None:
    """As the model's file tells it, where the engine runs on this machine; its own settings are not known then."""
    file = source.model_file() if urlsplit(source.base_url).hostname in ("127.0.0.1", "localhost") else None
    try:
        return None if file is None else memory_settings(read_summary(Path(file)))
    except InputFileError:
        return None
