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
    if options.rule == NO_RULE:
        return "none"
    rule, settings = rule_set(options.rule), _settings(options)
    if "write_delay_s" in settings:
        settings["write_delay_s"] = options.write_delay_ms / 1000
    return describe(rule, **settings)


def cache_model(options: PracticeOptions) -> str | None:
    """The kind of cache that the rule is made of, None for none."""
    return None if options.rule == NO_RULE else rule_set(options.rule).model


def lifetimes(options: PracticeOptions) -> dict[str, float]:
    """Seconds by the name that a request gives a lifetime, the default one first; {} where requests cannot choose."""
    names = _LIFETIMES.get(cache_model(options) or "", ())
    return dict(zip(names, _ttls_s(options), strict=False)) if names else {}


_LIFETIMES = {"marked": ("5m", "1h"), "exact": ("30m", "12h")}


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
    if cache_model(options) in _SLOT_MODELS:
        limits.append(Limit(_slot_context(options), f"context of {options.context_tokens} over {options.slots} slots"))
    return min(limits, default=None)


def _settings(options: PracticeOptions, *, best_case: bool = False) -> dict[str, Any]:
    """Parameters of the rule's model that the options set.

    The write delay is none of them: the engine holds back what a model is told to publish, whatever the model.
    """
    model = cache_model(options)
    _refuse(options, **_NO_USE[model or ""])
    store = None if best_case else _store_tokens(options)
    if model in _SLOT_MODELS:
        return {"slots": options.slots, "context_per_slot": _slot_context(options)}
    if model == "prompts":
        return {"sequences": None} if best_case else {}
    if model == "radix":
        return {"page_size": options.block_size, "capacity_tokens": store, "ttl_s": options.ttl_s}
    if model == "block chain":
        return {
            "block_size": options.block_size,
            "capacity_blocks": None if store is None else store // options.block_size,
            "minimum_tokens": options.minimum_tokens,
            "ttl_s": options.ttl_s,
        }
    if model == "block trie":
        capacity = None if store is None else store // options.block_size
        return {"block_size": options.block_size, "capacity_blocks": capacity}
    settings: dict[str, Any] = {"minimum_tokens": options.minimum_tokens}
    if model == "units":
        settings |= {"write_delay_s": 0.0, "ttl_s": options.ttl_s}
    elif model == "objects":
        settings |= {} if options.ttl_s is None else {"default_ttl_s": options.ttl_s}
    else:
        settings["ttls_s"] = _ttls_s(options)
    return settings


def _ttls_s(options: PracticeOptions) -> tuple[float, ...]:
    """The lifetimes that a request may ask for; `--ttl-s` stands for the shortest, which is the default."""
    known: tuple[float, ...] = make_cache(rule_set(options.rule)).ttls_s  # type: ignore[attr-defined]
    return known if options.ttl_s is None else (options.ttl_s, *known[1:])


_SLOT_MODELS = ("slots", "checkpoints")
_UNPUBLISHED_CAPACITY: dict[str, Any] = {"block_size": 1, "capacity_tokens": None}
_NO_USE: dict[str, dict[str, Any]] = {
    "block chain": {},
    "block trie": {"minimum_tokens": 0, "ttl_s": None},
    "radix": {"minimum_tokens": 0},
    "slots": {"capacity_tokens": None, "ttl_s": None, "minimum_tokens": 0, "shared": False},
    "checkpoints": {"capacity_tokens": None, "ttl_s": None, "minimum_tokens": 0, "shared": False},
    "prompts": {"block_size": 1, "capacity_tokens": None, "ttl_s": None, "minimum_tokens": 0, "shared": False},
    "marked": _UNPUBLISHED_CAPACITY,
    "exact": _UNPUBLISHED_CAPACITY,
    "units": _UNPUBLISHED_CAPACITY,
    "objects": _UNPUBLISHED_CAPACITY,
}
"""Options that a model has no use for, with the value they then have to have."""


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
