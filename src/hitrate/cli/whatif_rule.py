"""Which rule predicts a call of a log, and how its figures are carried over to the engine's tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from hitrate.caches.interface import PrefixCache
from hitrate.caches.radix import RadixCache
from hitrate.caches.rules import RuleSet, describe, make_cache, minimum_tokens, rule_set
from hitrate.cli.places import can_place
from hitrate.explain.evidence import Facts

NO_RULE = "longest common prefix"


class ReplayRule(Struct, frozen=True, kw_only=True):
    """`make_cache` works on tokens that stand in for the engine's, so `step` and `minimum` are applied behind it, to
    figures in the engine's own."""

    text: str
    rule: RuleSet | None
    make_cache: Callable[[], PrefixCache]
    step: int = 1
    minimum: int = 0
    note: str | None = None

    def credited(self, tokens: int, prompt_tokens: int) -> int:
        """What the engine would report of a prefix of that many tokens."""
        whole = min(tokens, prompt_tokens - 1) // self.step * self.step
        return whole if whole >= max(1, self.minimum) else 0


def rule_for(facts: Facts, name: str | None, settings: Mapping[str, Any], model: str | None) -> ReplayRule:
    """By the name given, else by what is known of the call. UsageError for an unknown name or setting."""
    rule = facts.rule if name is None else rule_set(name)
    if rule is not None:
        make_cache(rule, **settings)
    if rule is None or (rule.needs_places and not can_place(rule)):
        note = "no rule is published for these calls: the longest common prefix is what could be had at most"
        if rule is not None:
            note = f"what {rule.name} serves is in no request: the longest common prefix is what could be had at most"
        step, minimum = max(1, facts.granularity), facts.least_tokens
        return ReplayRule(text=NO_RULE, rule=None, make_cache=RadixCache, step=step, minimum=minimum, note=note)
    if name is not None:
        known = minimum_tokens(rule, model) if model else None
        facts = Facts(minimum_tokens=_parameter(rule, "minimum_tokens") if known is None else known)
    values = {**rule.parameters, **settings}
    minimum = int(settings.get("minimum_tokens", facts.least_tokens))
    step = int(settings.get("block_size") or settings.get("page_size") or 0)
    step = step or max(facts.granularity, _parameter(rule, "block_size"), _parameter(rule, "page_size"), 1)
    shown = {**settings, **({"minimum_tokens": minimum} if "minimum_tokens" in values else {})}
    return ReplayRule(
        text=describe(rule, **shown),
        rule=rule,
        make_cache=_maker(rule, dict(settings), facts),
        step=step,
        minimum=minimum,
    )


def _parameter(rule: RuleSet, name: str) -> int:
    return int(rule.parameters.get(name) or 0)


def _maker(rule: RuleSet, settings: dict[str, Any], facts: Facts) -> Callable[[], PrefixCache]:
    """Without steps and minimum where the model's own would count tokens that are not the engine's."""
    if rule.model in ("block chain", "block trie", "radix"):
        values = {**rule.parameters, **settings}
        capacity = values.get("capacity_tokens")
        if values.get("capacity_blocks") is not None:
            capacity = values["capacity_blocks"] * values["block_size"]
        ttl_s = values.get("ttl_s", facts.ttl_s)
        return lambda: RadixCache(capacity_tokens=capacity, ttl_s=ttl_s)
    if "minimum_tokens" in rule.parameters:
        settings["minimum_tokens"] = 0
    if rule.model == "marked":
        for name, value in (("look_back", facts.look_back), ("most_marks", facts.most_marks)):
            if value is not None:
                settings.setdefault(name, value)
    return lambda: make_cache(rule, **settings)
