"""The cache models a practice server can follow, made from its options, and the limits that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hitrate.caches.interface import Lease, PrefixCache
from hitrate.caches.rules import describe, make_cache, rule_set
from hitrate.errors import UsageError
from hitrate.serve.practice.options import NO_RULE, PracticeOptions


class NoCache:
    """Implements `PrefixCache` and keeps nothing."""

    def peek(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> int:
        return 0

    def begin(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> Lease | None:
        return Lease(len(tokens), 0)

    def publish(self, lease: Lease, *, now: float = 0.0) -> None: ...

    def finish(self, lease: Lease, generated: Sequence[int] = (), *, now: float = 0.0) -> None: ...

    def abort(self, lease: Lease, *, now: float = 0.0) -> None: ...

    def reset(self) -> None: ...

    def check_integrity(self) -> None:
        """Nothing is stored, so nothing can be broken."""


def cache_maker(options: PracticeOptions) -> Callable[[], PrefixCache]:
    """Makes empty caches, one a replica or the shared one. Raises UsageError for options the rule has no use for."""
    if options.rule == NO_RULE:
        return NoCache
    rule, settings = rule_set(options.rule), _settings(options)
    make_cache(rule, **settings)
    return lambda: make_cache(rule, **settings)


def best_case_cache(options: PracticeOptions) -> PrefixCache:
    """One cache for all calls that never has to evict: what the rule gives when routing and memory are no factor."""
    if options.rule == NO_RULE:
        return NoCache()
    return make_cache(rule_set(options.rule), **_settings(options, best_case=True))


def rule_text(options: PracticeOptions) -> str:
    """The rule with what its numbers depend on, e.g. "block-chain (block 16)"."""
    return "none" if options.rule == NO_RULE else describe(rule_set(options.rule), **_settings(options))


class Limit(NamedTuple):
    tokens: int
    where_from: str = ""
    """For a message: what of the options makes this limit, "" for a plain one."""


def prompt_limit(options: PracticeOptions) -> Limit | None:
    """The most tokens that prompt and reply of one request may have together, None without a limit."""
    limits = []
    if options.context_limit is not None:
        limits.append(Limit(options.context_limit))
    store = _store_tokens(options)
    if store is not None:
        limits.append(Limit(store, f"cache capacity of {store} tokens"))
    if _model(options) == "slots":
        limits.append(Limit(_slot_context(options), f"context of {options.context_tokens} over {options.slots} slots"))
    return min(limits, default=None)


def _model(options: PracticeOptions) -> str | None:
    return None if options.rule == NO_RULE else rule_set(options.rule).model


def _settings(options: PracticeOptions, *, best_case: bool = False) -> dict[str, Any]:
    """Parameters of the rule's model that the options set."""
    model = _model(options)
    store = None if best_case else _store_tokens(options)
    if model == "slots":
        _refuse(options, capacity_tokens=None, ttl_s=None, minimum_tokens=0, shared=False)
        return {"slots": options.slots, "context_per_slot": _slot_context(options)}
    if model == "radix":
        _refuse(options, minimum_tokens=0)
        return {"page_size": options.block_size, "capacity_tokens": store, "ttl_s": options.ttl_s}
    if model != "block chain":
        raise UsageError(f"--rule {options.rule} cannot be served: the practice server does not follow {model} rules")
    return {
        "block_size": options.block_size,
        "capacity_blocks": None if store is None else store // options.block_size,
        "minimum_tokens": options.minimum_tokens,
        "ttl_s": options.ttl_s,
    }


def _refuse(options: PracticeOptions, **neutral: object) -> None:
    for name, value in neutral.items():
        if getattr(options, name) != value:
            raise UsageError(
                f"--{name.replace('_', '-')} cannot go with --rule {options.rule}, which has no such thing"
            )


def _slot_context(options: PracticeOptions) -> int:
    """What one request can have: the whole pool where the slots share it, else a slot's equal part."""
    unified = rule_set(options.rule).parameters.get("kv_unified", False)
    return options.context_tokens if unified else options.context_tokens // options.slots


def _store_tokens(options: PracticeOptions) -> int | None:
    """Whole blocks' tokens in one replica's cache, or in the shared one; None without a limit."""
    if options.capacity_tokens is None or options.rule == NO_RULE:
        return None
    tokens = options.capacity_tokens * (options.replicas if options.shared else 1)
    return max(options.block_size, tokens - tokens % options.block_size)
