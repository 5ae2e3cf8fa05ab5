"""Calls, facts and evidence in few words, for the tests of causes beside the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hitrate.caches.rules import RULE_SETS
from hitrate.core.model import Usage
from hitrate.core.prompt import Setting
from hitrate.explain.evidence import Divergence, Evidence, Facts, Mark, Pair, Seen

OPENAI = Facts(
    rule=RULE_SETS["openai-chat-before-gpt-5.6"],
    granularity=128,
    minimum_tokens=1024,
    affinity_knob="prompt_cache_key",
)
GPT_5_6 = Facts(
    rule=RULE_SETS["openai-2026-09"],
    minimum_tokens=1024,
    ttl_s=1800.0,
    exact_at_breakpoints=True,
    affinity_knob="prompt_cache_key",
)
CLAUDE = Facts(
    rule=RULE_SETS["anthropic-2026-11"],
    minimum_tokens=1024,
    ttl_s=300.0,
    requires_marks=True,
    look_back=20,
    most_marks=4,
)
HAIKU = Facts(
    rule=RULE_SETS["anthropic-2026-11"],
    minimum_tokens=4096,
    ttl_s=300.0,
    requires_marks=True,
    look_back=20,
    most_marks=4,
)
UNKNOWN = Facts(affinity_knob="x-session-affinity")
VLLM = Facts(rule=RULE_SETS["vllm-2026-11"], granularity=16)
LLAMACPP = Facts(rule=RULE_SETS["llama.cpp-2026-10"])
ONE_SLOT = Facts(rule=RULE_SETS["llama.cpp-2026-10"], server={"engine": "llama-server", "args": "-np 1 --cache-ram 0"})


def served_by(facts: Facts, **server: Any) -> Facts:
    return Facts(
        rule=facts.rule,
        granularity=facts.granularity,
        minimum_tokens=facts.minimum_tokens,
        ttl_s=facts.ttl_s,
        server=server,
    )


def call(
    index: int,
    prompt: int | None = 2000,
    cached: int | None = 0,
    written: int | None = None,
    *,
    marks: Sequence[tuple[int, int] | tuple[int, int, str]] = (),
    key: dict[str, str] | None = None,
    others: dict[str, str] | None = None,
    characters: int | None = None,
    usage: dict[str, Any] | None = None,
    **more: Any,
) -> Seen:
    """`marks` are blocks, characters and lifetime each; `key` and `others` pointers with their compact JSON."""
    counts = Usage(prompt_tokens=prompt, cached_tokens=cached, written_tokens=written, **(usage or {}))
    return Seen(
        index=index,
        usage=counts,
        marks=tuple(Mark(*mark) for mark in marks),
        key=tuple(Setting(pointer, value) for pointer, value in (key or {}).items()),
        others=tuple(Setting(pointer, value) for pointer, value in (others or {}).items()),
        characters=4 * (prompt or 0) if characters is None else characters,
        **more,
    )


def evidence(
    *calls: Seen,
    at: int = -1,
    relation: str = "append",
    facts: Facts = OPENAI,
    between: Sequence[Seen] = (),
    alone: bool = False,
    shared: int | None = None,
    reusable: int | None = None,
    divergence: Divergence | None = None,
    **more: Any,
) -> Evidence:
    """The call number `at` of a conversation, beside the one before it.

    `alone`: the calls are conversations of their own. `shared` are characters, by default those of the call before.
    """
    place = at % len(calls)
    now, before = calls[place], calls[place - 1] if place else None
    if reusable is None and before is not None:
        reusable = before.usage.prompt_tokens
    cached = now.usage.cached_tokens
    shared_characters = shared if shared is not None else 0 if before is None else before.characters
    return Evidence(
        call=now,
        before=before,
        pair=Pair(
            relation=relation if before is not None else "first",  # type: ignore[arg-type]
            against=None if before is None else before.index,
            shared_characters=shared_characters,
            best=None if before is None else before.index,
            best_characters=shared_characters,
        ),
        facts=facts,
        divergence=divergence,
        reusable_tokens=reusable,
        lost_tokens=None if cached is None or reusable is None else max(0, reusable - cached),
        between=between,
        earlier=() if alone else calls[:place],
        later=() if alone else calls[place + 1 :],
        **more,
    )


A_CHANGE = Divergence(
    pointer="/messages/0/content",
    offset=3,
    was="a",
    now="b",
    change="text",
    kind="system",
    cacheable_chars=3,
    cacheable_share=0.1,
)
