"""Which cache rule holds for a call, told by its target, wire format and model, and by what the log itself states.

What the log states wins; then the engine that it names; then the target's preset; then the vendor that alone sells a
model of that name. Where none of them tells, no rule is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hitrate.caches.marked import FIVE_MINUTES_S
from hitrate.caches.rules import RULE_SETS, RuleSet, minimum_tokens
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.model import Usage
from hitrate.explain.evidence import Facts
from hitrate.explain.server import argument
from hitrate.explain.signs import lifetime_s
from hitrate.targets import presets
from hitrate.targets.dialects.counts import token_count
from hitrate.targets.prices import OWN_MACHINES, provider_of, target_called

_ENGINES = (
    (lazy_pattern(r"ollama", re.IGNORECASE), "ollama"),
    (lazy_pattern(r"llama[-_. ]?(?:server|cpp|c\+\+)|lm.?studio|koboldcpp", re.IGNORECASE), "llamacpp"),
    (lazy_pattern(r"lmdeploy", re.IGNORECASE), "lmdeploy"),
    (lazy_pattern(r"tensorrt[-_ ]?llm|trtllm", re.IGNORECASE), "tensorrt-llm"),
    (lazy_pattern(r"text-generation-(?:inference|launcher|router)", re.IGNORECASE), "tgi"),
    (lazy_pattern(r"vllm", re.IGNORECASE), "vllm"),
    (lazy_pattern(r"sglang", re.IGNORECASE), "sglang"),
    (lazy_pattern(r"mlx", re.IGNORECASE), "mlx"),
)
"""How logs call an engine, and the target it is."""

_BY_MODEL = (("deepseek-chat", "deepseek"), ("deepseek-reasoner", "deepseek"), ("moonshot-", "moonshot"))
"""Ids that a vendor uses for its own service alone; open models' own names are sold by many."""

_PASS_THROUGH = frozenset({"openrouter"})
"""Targets that hand a request to the vendor of its model, whose rule then holds."""

_SEEN_TO_WORK = {"deepinfra": "the header x-session-affinity"}
"""Knobs that users found (https://github.com/weave-os/router/pull/275) and the vendor does not document."""

_DEEPSEEK_STEP = 64
"""Tokens, by the announcement of August 2024 (https://api-docs.deepseek.com/news/news0802)."""

_OLLAMA_KEEP_ALIVE_S = 300.0
"""The model is unloaded after five idle minutes (https://github.com/ollama/ollama/blob/main/docs/faq.mdx)."""

_ROUTED = "the router's session header (such as x-session-id)"
_ANY_KNOB = "your provider's session key (prompt_cache_key, user, or the header x-session-affinity)"

_STATED = {
    "minimum_tokens": ("minimum_tokens", "minimum", "min_tokens", "min_prefix_tokens"),
    "granularity": ("granularity", "step", "step_tokens", "block_tokens", "block_size", "page_size", "chunk_tokens"),
    "look_back": ("look_back", "lookback", "look_back_blocks", "lookback_blocks"),
    "most_marks": ("most_marks", "max_marks", "max_markers", "marker_limit", "max_breakpoints"),
}
_STATED_LIFETIME = ("ttl_s", "ttl", "ttl_seconds", "lifetime_s", "lifetime", "idle_s")


def facts_for(
    target: str,
    dialect: str,
    model: str | None,
    rules: Mapping[str, Any] | None = None,
    server: Mapping[str, Any] | None = None,
    *,
    timings: bool | None = None,
) -> Facts:
    """The facts of calls with this target, wire format and model.

    `rules` and `server` are as the log itself gives them. `timings`: as `has_timings` tells. Reads the user's targets;
    InputFileError when they cannot be read.
    """
    rules, server = dict(rules or {}), dict(server or {})
    name = _target(target, dialect, model, server, timings)
    known = presets.load(name) if name is not None else None
    rule = _rule(name, known, model, server)
    facts = _of_rule(rule, model) if rule is not None else Facts()
    if name is not None:
        facts = _of_target(facts, name, known, model)
    knob = _affinity(name, known, dialect, server)
    facts = replace(
        facts, affinity_knob=knob, omits_zero=dialect in ("gemini-generate", "gemini"), rules=rules, server=server
    )
    return _stated(facts, rules, server)


def has_timings(usage: Usage) -> bool | None:
    """Whether a reply's counts come from llama.cpp's own members: False where they come from the `usage` that other
    engines have on the same wire, None where it does not show."""
    source = usage.sources.get("prompt_tokens", "")
    if usage.cached_source.startswith("timings") or source.startswith(("timings", "tokens_evaluated")):
        return True
    return False if source.startswith("usage.") else None


def _target(
    target: str, dialect: str, model: str | None, server: Mapping[str, Any], timings: bool | None
) -> str | None:
    """The preset that the call belongs to; None where nothing tells."""
    engine = " ".join(str(server.get(name, "")) for name in ("engine", "name", "version", "command"))
    if engine.strip():
        return next((known for pattern, known in _ENGINES if pattern.search(engine)), None)
    named = target_called(target)
    if named in presets.all_names():
        return named
    if timings:  # the wire of rendered prompts alone says nothing: most engines take them
        return "llamacpp"
    seller = _seller(model)
    if dialect == "bedrock-converse":
        return "bedrock"
    if dialect == "gemini-generate":
        return "gemini"
    if dialect == "anthropic-messages" and (model is None or "claude" in model.lower()):
        return "anthropic"
    return seller if seller in presets.all_names() else None


def _seller(model: str | None) -> str | None:
    """Who alone sells a model of that name, with or without the vendor in front of it ("anthropic/claude-...")."""
    if model is None:
        return None
    lowered = model.rpartition("/")[2].lower()
    return next(
        (one for start, one in _BY_MODEL if lowered.startswith(start)), provider_of(model) or provider_of(lowered)
    )


def _rule(
    name: str | None, known: presets.Target | None, model: str | None, server: Mapping[str, Any]
) -> RuleSet | None:
    if known is None:
        if "longest common prefix" in str(server.get("engine", "")).lower():
            return RULE_SETS["longest-prefix"]
        return None
    rule_name = known.rule_set_for(model)
    if rule_name is None and name in _PASS_THROUGH and (seller := _seller(model)) is not None:
        rule_name = presets.load(seller).rule_set_for(model)
    return RULE_SETS.get(rule_name) if rule_name else None


def _of_rule(rule: RuleSet, model: str | None) -> Facts:
    values = rule.parameters
    least = minimum_tokens(rule, model) if model else None
    marked, exact = rule.model == "marked", rule.model == "exact"
    ttls = values.get("ttls_s", (FIVE_MINUTES_S if marked else None,))
    return Facts(
        rule=rule,
        granularity=values.get("block_size") or values.get("page_size") or 1,
        minimum_tokens=least if least is not None else values.get("minimum_tokens", 0),
        ttl_s=values.get("ttl_s", 1800.0 if exact else ttls[0]),
        requires_marks=marked,
        look_back=values.get("look_back") if marked else None,
        most_marks=values.get("most_marks", 4) if marked else None,
        exact_at_breakpoints=exact,
    )


def _of_target(facts: Facts, name: str, known: presets.Target | None, model: str | None) -> Facts:
    """What holds at a target beside its rule, or where it has none."""
    if name == "deepseek":
        return replace(facts, granularity=_DEEPSEEK_STEP)
    if name == "moonshot":  # the very same prompt is found at any length, one that goes on from a chunk on
        return replace(facts, minimum_tokens=facts.granularity)
    if name == "ollama":
        return replace(facts, ttl_s=_OLLAMA_KEEP_ALIVE_S)
    if name == "bedrock" and "nova" in (model or ""):
        return replace(facts, look_back=1)
    if name in ("gemini", "gemini-openai") and model:
        of_model = minimum_tokens(RULE_SETS["gemini-explicit-2026-11"], model)
        return facts if of_model is None else replace(facts, minimum_tokens=of_model)
    if known is not None and known.step_tokens and facts.rule is None:
        return replace(facts, granularity=known.step_tokens, minimum_tokens=known.step_tokens)
    return facts


def _affinity(name: str | None, known: presets.Target | None, dialect: str, server: Mapping[str, Any]) -> str | None:
    if known is not None and known.affinity:
        knob = known.affinity[0]
        return knob.name if knob.place == "body" else f"the header {knob.name}"
    if name in ("vllm", "sglang", "dynamo"):
        return _ROUTED
    if name in _SEEN_TO_WORK:
        return _SEEN_TO_WORK[name]
    if name in OWN_MACHINES or name in ("anthropic", "bedrock", "gemini", "deepseek", "dashscope", "minimax"):
        return None
    if name is None and not server and dialect in ("openai-chat", "openai-responses"):
        return _ANY_KNOB
    return None


def _stated(facts: Facts, rules: Mapping[str, Any], server: Mapping[str, Any]) -> Facts:
    """The facts with what the log itself states in their place."""
    found: dict[str, Any] = {}
    for member, names in _STATED.items():
        count = next((count for one in names if (count := token_count(rules.get(one))) is not None), None)
        if count is not None:
            found[member] = count
    block = token_count(server.get("block_size")) or token_count(argument(server, ("--block-size", "--page-size")))
    if "granularity" not in found and block:
        found["granularity"] = block
    if "granularity" in found:
        found["granularity"] = max(1, found["granularity"])
    ttl = next((seconds for one in _STATED_LIFETIME if (seconds := _seconds(rules.get(one))) is not None), None)
    if ttl is not None:
        found["ttl_s"] = ttl
    if "exact" in str(rules.get("match", "")).lower() and "breakpoint" in str(rules.get("match", "")).lower():
        found["exact_at_breakpoints"] = True
    if isinstance(rules.get("requires_marks"), bool):
        found["requires_marks"] = rules["requires_marks"]
    if isinstance(rules.get("affinity"), str):
        found["affinity_knob"] = rules["affinity"]
    return replace(facts, **found)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    return float(value) if isinstance(value, int | float) else lifetime_s(value) if isinstance(value, str) else None
