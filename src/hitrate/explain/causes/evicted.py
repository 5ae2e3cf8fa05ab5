"""More was read between two turns than the engine's cache holds."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.server import first_line, has_slots, own_engine, pool_tokens
from hitrate.explain.signs import last_touch, lost_in_conversation, warm_by_time

_MANY_TIMES = 10
"""Where the capacity is not stated: other tokens, in multiples of the prompt, that make an eviction worth naming."""

_SAYS_SO = lazy_pattern(
    r"evict|preempt|cache (?:is )?full|KV cache usage: (?:9\d|100)|no (?:free|available) blocks", re.IGNORECASE
)


class Evicted:
    name: ClassVar[str] = "evicted"
    verdict: ClassVar[Verdict] = "engine"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "Between two turns the engine read more other text than its cache holds, and the conversation was evicted."
    )
    reports: ClassVar[tuple[str, ...]] = ("https://github.com/vllm-project/vllm/issues/48402",)

    def recognise(self, evidence: Evidence) -> Recognised | None:
        facts, call = evidence.facts, evidence.call
        if not own_engine(facts) or lost_in_conversation(evidence) is None or warm_by_time(evidence):
            return None
        touched = last_touch(evidence)
        others = sum(
            (one.usage.prompt_tokens or 0) - (one.usage.cached_tokens or 0)
            for one in evidence.between
            if one.conversation != call.conversation and one.answered and (touched is None or one.index > touched.index)
        )
        prompt = call.usage.prompt_tokens or 0
        pool, line = pool_tokens(facts), first_line(facts.server, _SAYS_SO)
        full = pool is not None and others + prompt > pool
        many = pool is None and not has_slots(facts) and prompt > 0 and others >= _MANY_TIMES * prompt
        if not full and not many and not (line and others):
            return None
        size = f" of {pool:,} tokens" if pool is not None else ""
        said = f'; the engine\'s own log says "{line}"' if line else ""
        return Recognised(
            confidence="likely" if full or line else "possible",
            summary=f"{others:,} tokens of other conversations were read since this one was last served, beside its "
            f"own {prompt:,}, in a cache{size}{said}.",
            advice="Give the cache more memory (vLLM --gpu-memory-utilization or a host tier, SGLang "
            "--enable-hierarchical-cache), or hold fewer conversations on this replica at once.",
            ruled_out=ruled_out(evidence),
        )
