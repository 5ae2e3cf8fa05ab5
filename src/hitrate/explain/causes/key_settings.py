"""Settings that separate cache entries: which of them two calls differ in, and whether that is what was lost."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from hitrate.core.prompt import Setting
from hitrate.explain.evidence import Evidence, Recognised, Seen
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import (
    SAME_CONVERSATION,
    left_by,
    lost_in_conversation,
    noise_tokens,
    served_nothing,
    shown,
    warm_by_time,
)

MODEL = frozenset({"model", "modelId"})
SALT = frozenset({"cache_salt", "extra_key", "prompt_cache_isolation_key", "cache_isolation_key"})
ADAPTER = frozenset(
    {"lora", "lora_name", "lora_path", "lora_id", "lora_request", "adapter", "adapter_id", "adapter_name", "adapters"}
)
EFFORT = frozenset(
    {
        "effort",
        "reasoning_effort",
        "reasoning",
        "thinking",
        "thinkingConfig",
        "thinking_config",
        "enable_thinking",
        "verbosity",
        "speed",
    }
)
TOOL_CHOICE = frozenset({"tool_choice", "toolChoice", "tool_config", "toolConfig"})
BETA = frozenset({"anthropic-beta:", "openai-beta:", "anthropic-version:", "anthropic_beta", "betas"})
NAMED = MODEL | SALT | ADAPTER | EFFORT | TOOL_CHOICE | BETA


class Change(NamedTuple):
    pointer: str
    was: str | None
    now: str | None
    """As people read it; None where the setting is not there."""

    def __str__(self) -> str:
        return f"{self.pointer} from {self.was or 'nothing'} to {self.now or 'nothing'}"


def concerns(pointer: str, names: Collection[str]) -> bool:
    """Whether the pointer of a setting leads to, or through, a member of one of these names; of a header, a word."""
    steps = pointer.strip("/").split("/")
    if pointer.endswith(":"):
        steps += pointer.rstrip(":").split("-")
    return any(step in names for step in steps)


def changes(
    before: Sequence[Setting], now: Sequence[Setting], names: Collection[str] | None = None, but: Collection[str] = ()
) -> list[Change]:
    """The settings that two calls differ in, in the later one's order; those of `names`, none of those of `but`."""
    old = {setting.pointer: setting.value for setting in before}
    new = {setting.pointer: setting.value for setting in now}
    differing = [
        pointer for pointer in (*new, *(one for one in old if one not in new)) if old.get(pointer) != new.get(pointer)
    ]
    found = []
    for pointer in differing:
        if (names is not None and not concerns(pointer, names)) or concerns(pointer, but):
            continue
        was, is_now = old.get(pointer), new.get(pointer)
        found.append(Change(pointer, None if was is None else shown(was), None if is_now is None else shown(is_now)))
    return found


def key_change(
    evidence: Evidence, names: Collection[str] | None, but: Collection[str] = (), *, among_others: bool = False
) -> list[Change]:
    """Changes of the key that explain why this call was not served; empty when they do not.

    They do not where the call was served all the same, where an earlier call of the conversation with the same key
    left most of the prompt (going back to a known setting costs nothing), and where the text was changed. Where
    cached tokens are not reported, a change of the key is a loss by rule.
    """
    call, before = evidence.call, evidence.before
    if before is None or evidence.divergence is not None or evidence.pair.relation not in SAME_CONVERSATION:
        return []
    now, was = _settings(call, among_others), _settings(before, among_others)
    found = changes(was, now, names, but)
    if not found or not call.answered or not before.answered or warm_by_time(evidence):
        return []
    same = _known_before(evidence, among_others)
    if call.usage.cached_tokens is None:
        return found if same is None else []
    return found if lost_in_conversation(evidence) is not None and _lost_by_key(evidence, same) else []


def _settings(call: Seen, among_others: bool) -> tuple[Setting, ...]:
    return (*call.key, *call.others) if among_others else call.key


def _known_before(evidence: Evidence, among_others: bool) -> Seen | None:
    """The newest earlier call of the conversation with the call's own settings.

    None where the engine holds one state a conversation (slots): what came in between has taken its place.
    """
    rule = evidence.facts.rule
    if rule is not None and rule.model in ("slots", "checkpoints"):
        return None
    now = _settings(evidence.call, among_others)
    same = (one for one in reversed(evidence.earlier) if one.answered and _settings(one, among_others) == now)
    return next(same, None)


def _lost_by_key(evidence: Evidence, same: Seen | None) -> bool:
    """Whether calls with this very key left little of what the text would allow, and no more than that was served.

    A change may spare the front: of a tool choice or a thought budget, say, only the messages are read anew.
    """
    if same is None:
        return True
    left = left_by(same, evidence.facts) or 0
    served = evidence.call.usage.cached_tokens or 0
    return left < 0.5 * (evidence.reusable_tokens or 0) and served <= left + noise_tokens(evidence)


def switched(evidence: Evidence, found: Sequence[Change], what: str, advice: str) -> Recognised:
    """What all causes of this kind say: the setting, both values, and what else changed with it."""
    first = found[0]
    rest = "" if len(found) == 1 else f" (and {', '.join(str(one) for one in found[1:4])})"
    reported = evidence.call.usage.cached_tokens is not None
    return Recognised(
        confidence="certain" if reported and served_nothing(evidence.call) else "likely",
        summary=f"{what} changed from {first.was or 'nothing'} to {first.now or 'nothing'}{rest}; the text is the "
        "same, but entries under another key are not read.",
        advice=advice,
        ruled_out=ruled_out(evidence, "key"),
        pointer=first.pointer,
        was=first.was,
        now=first.now,
    )
