"""The prompt, or what is marked of it, is shorter than anything the cache keeps."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised, Seen
from hitrate.explain.signs import WHOLE_TEXT, served_nothing, warm_by_time

_LEAST_TOKENS, _LEAST_CALLS = 256, 3
"""A conversation at an automatic cache that is shorter than this is a short one, and no cause for a finding."""


class TooShort:
    name: ClassVar[str] = "too-short"
    verdict: ClassVar[Verdict] = "too_short"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "The prompt, or its marked part, is below the model's minimum or below one block of the engine."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/anthropics/anthropic-sdk-python/issues/1085",
        "https://github.com/aws/aws-sdk-ruby/issues/3396",
        "https://github.com/bug-ops/zeph/issues/1083",
        "https://github.com/vllm-project/vllm/issues/48402",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        before, call, facts = evidence.before, evidence.call, evidence.facts
        prompt = call.usage.prompt_tokens
        if before is None or not call.answered or not before.answered or prompt is None:
            return None
        if evidence.divergence is not None or evidence.pair.relation not in WHOLE_TEXT or warm_by_time(evidence):
            return None
        minimum = facts.least_tokens
        if prompt < minimum:
            what, size = "The prompt", prompt
        elif prompt < facts.granularity:
            what, size, minimum = "The prompt", prompt, facts.granularity
        elif call.marks and call.characters and 0 < _marked_tokens(call, prompt) < minimum:
            what, size = "What is marked of the prompt", _marked_tokens(call, prompt)
        else:
            return None
        calls = (*evidence.earlier, before, call, *evidence.later)
        if not all(_untouched(one) for one in calls if one.answered) or not _worth_saying(evidence, prompt):
            return None
        block = size < facts.granularity and minimum == facts.granularity
        unit = "one block of this engine" if block else f"the minimum of {call.model or 'this model'}"
        effect = ", so its markers are ignored without an error" if call.marks else ""
        return Recognised(
            confidence="certain",
            summary=f"{what} has {size:,} tokens and {unit} is {minimum:,}{effect}.",
            advice=_advice(call, block),
            ruled_out=("the text: both prompts start the same",),
            voice=None if call.marks or block else "observation",
        )


def _untouched(call: Seen) -> bool:
    """Whether a call neither read nor wrote, as far as it reports."""
    return call.usage.cached_tokens is not None and served_nothing(call) and not call.usage.written_tokens


def _marked_tokens(call: Seen, prompt: int) -> int:
    return prompt * call.marks[-1].characters // call.characters


def _worth_saying(evidence: Evidence, prompt: int) -> bool:
    """Whether caching was meant to work: markers were set, the log itself states the limit, or much is resent."""
    facts, relation = evidence.facts, evidence.pair.relation
    if evidence.call.marks:
        return True
    if relation == "opening":
        return False
    calls = len(evidence.earlier) + 1 + len(evidence.later)
    return bool(facts.rules) or facts.granularity > prompt or (prompt >= _LEAST_TOKENS and calls >= _LEAST_CALLS)


def _advice(call: Seen, block: bool) -> str:
    if block:
        return (
            "Nothing shorter than a block is ever reused: a smaller block size (at vLLM --block-size, hybrid models "
            "set their own) or a longer fixed opening would change that."
        )
    drop = ", or drop the markers" if call.marks else ""
    return f"Use a model with a lower minimum, put more stable text in front if it is needed anyway{drop}."
