"""What a vendor or engine documents, beside what was measured."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hitrate.caches.exact import THIRTY_MINUTES_S
from hitrate.caches.marked import FIVE_MINUTES_S
from hitrate.caches.rules import RuleSet
from hitrate.core.probe_results import Answer
from hitrate.explain.probing.steps import SHORT_TAIL

CLOSE_SHARE = 0.15
"""Times are compared with this tolerance: what lies between two tries was not seen."""

_OPENING_BY_MODEL = {
    "block chain": "second call",
    "block trie": "second call",
    "radix": "second call",
    "slots": "second call",
    "checkpoints": "second call",
    "prompts": "second call",
    "marked": "second call",
    "units": "third call",
    "exact": "never",
}
_GENERATED_BY_MODEL = {
    "block chain": "reused",
    "block trie": "reused",
    "radix": "reused",
    "slots": "reused",
    "checkpoints": "reused",
    "prompts": "reused",
    "units": "reused",
    "marked": "not reused",
    "exact": "not reused",
}
_TOKEN_BY_TOKEN = ("slots", "prompts", "marked", "exact")
_LIFETIME_BY_MODEL = {"marked": FIVE_MINUTES_S, "exact": THIRTY_MINUTES_S}


class Documented(Struct, frozen=True, kw_only=True):
    """None is "not documented". `step` 1 is token by token; `look_back` counts the newest place; a `lifetime_s` of a
    vendor is mostly a minimum."""

    reports: bool | None = None
    replicas: int | None = None
    affinity: tuple[str, ...] = ()
    """Knobs in words that are documented to work."""
    inert: tuple[str, ...] = ()
    """Knobs that are accepted and known to do nothing."""
    step: int | None = None
    minimum: int | None = None
    write_delay_s: float | None = None
    opening: str | None = None
    generated: str | None = None
    look_back: int | None = None
    lifetime_s: float | None = None
    lifetime_is_least: bool = False
    shared_with: tuple[str, ...] = ()
    apart_from: tuple[str, ...] = ()
    """Scopes of the sharing probe, by name."""


def from_rule(rule: RuleSet, **beside: object) -> Documented:
    """What a rule set says; `beside` are members that the rule does not hold, or that stand in for its own."""
    values = rule.parameters
    step = values.get("block_size") or values.get("page_size") or (1 if rule.model in _TOKEN_BY_TOKEN else None)
    ttls = values.get("ttls_s")
    look_back = values.get("look_back")
    if rule.model == "exact" and values.get("earlier_messages") is not None:
        look_back = values["earlier_messages"] + 1
    facts = {
        "step": step,
        "minimum": values.get("minimum_tokens"),
        "write_delay_s": values.get("write_delay_s"),
        "opening": _OPENING_BY_MODEL.get(rule.model),
        "generated": _GENERATED_BY_MODEL.get(rule.model),
        "look_back": look_back,
        "lifetime_s": values.get("ttl_s", ttls[0] if ttls else _LIFETIME_BY_MODEL.get(rule.model)),
        "lifetime_is_least": rule.model == "exact",
    }
    return Documented(**{**facts, **beside})  # type: ignore[arg-type]


def compared(answer: Answer, documented: Documented) -> Answer:
    """The answer with the documented value and whether the two can both be so; None where nothing was told."""
    text, agrees = _of(answer, documented)
    return replace(answer, documented=text, agrees=agrees if answer.status == "answered" else None)


def _of(answer: Answer, documented: Documented) -> tuple[str | None, bool | None]:
    match answer.probe:
        case "hidden":
            return _word(
                answer, None if documented.reports is None else ("reported" if documented.reports else "hidden")
            )
        case "replicas":
            return _within(answer, documented.replicas, "")
        case "affinity":
            return _knob(answer, documented)
        case "granularity":
            text = None if documented.step is None else _tokens(documented.step)
            return text, None if documented.step is None else answer.value == documented.step
        case "minimum":
            return _minimum(answer, documented)
        case "write-delay":
            return _within(answer, documented.write_delay_s, " s")
        case "opening":
            return _word(answer, documented.opening)
        case "generated":
            return _word(answer, documented.generated)
        case "look-back":
            return _look_back(answer, documented.look_back)
        case "lifetime":
            return _lifetime(answer, documented)
        case "sharing":
            return _scope(answer, documented)
    return None, None


def _word(answer: Answer, documented: str | None) -> tuple[str | None, bool | None]:
    return documented, None if documented is None else answer.choice == documented


def _within(answer: Answer, documented: float | None, unit: str) -> tuple[str | None, bool | None]:
    if documented is None:
        return None, None
    low = 0.0 if answer.low is None else answer.low
    reach = CLOSE_SHARE * documented
    inside = low - reach <= documented and (answer.high is None or documented <= answer.high + reach)
    return f"{documented:,g}{unit}", inside


def _knob(answer: Answer, documented: Documented) -> tuple[str | None, bool | None]:
    if answer.subject in documented.inert:
        return "no effect", answer.choice == "no effect"
    if answer.subject in documented.affinity:
        return "works", (answer.choice or "").startswith("works")
    return None, None


def _minimum(answer: Answer, documented: Documented) -> tuple[str | None, bool | None]:
    """The shortest credited prompt has one whole step, and at least the minimum in it."""
    if documented.minimum is None and documented.step is None:
        return None, None
    step = documented.step or 1
    least = max(documented.minimum or 0, step)
    least = -(-least // step) * step
    low, high = answer.low or 0.0, answer.high
    # What a rule counts ends before the header of the reply, which a prompt's length includes.
    inside = low - (SHORT_TAIL if step == 1 else 0) <= least and (high is None or least <= high)
    return "none" if least <= 1 else _tokens(least), answer.value == least or inside


def _tokens(count: int) -> str:
    return f"{count:,} token{'' if count == 1 else 's'}"


def _look_back(answer: Answer, documented: int | None) -> tuple[str | None, bool | None]:
    if documented is None:
        return None, None
    if answer.value is None:
        return f"{documented:,}", answer.low is not None and documented > answer.low
    return f"{documented:,}", answer.value == documented


def _lifetime(answer: Answer, documented: Documented) -> tuple[str | None, bool | None]:
    seconds = documented.lifetime_s
    if seconds is None:
        return None, None
    text = f"{'at least ' if documented.lifetime_is_least else ''}{seconds:,g} s"
    reach = CLOSE_SHARE * seconds
    if answer.high is None:  # still there at the oldest age: that contradicts only a shorter life
        return text, documented.lifetime_is_least or (answer.low or 0.0) <= seconds + reach
    if documented.lifetime_is_least:
        return text, answer.high >= seconds - reach
    return text, (answer.low or 0.0) - reach <= seconds <= answer.high + reach


def _scope(answer: Answer, documented: Documented) -> tuple[str | None, bool | None]:
    if answer.subject in documented.shared_with:
        return "shared", answer.choice == "shared"
    if answer.subject in documented.apart_from:
        return "not shared", answer.choice == "not shared"
    return None, None
