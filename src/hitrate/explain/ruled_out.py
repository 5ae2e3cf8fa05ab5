"""What was checked before a cause beside the text is named, with the figures it was checked by."""

from __future__ import annotations

from hitrate.explain.evidence import Evidence
from hitrate.explain.signs import WHOLE_TEXT, asked_lifetime_s, duration, gap_s, last_touch, overlap, warm_by_time

_TEXT = {
    "append": "the text: the earlier prompt stands unchanged in front",
    "repeat": "the text: both prompts are the same",
    "rewind": "the text: the prompt is the earlier one, cut short",
    "branch": "the text: both prompts are the same up to the newest question",
    "opening": "the text: tools and instructions are the same",
}


def ruled_out(evidence: Evidence, *but: str) -> tuple[str, ...]:
    """One line for each of "text", "key", "gap", "length", "overlap" that does not explain the loss.

    Those in `but` are the cause's own ground and are left out; so is what the log does not tell.
    """
    lines = {
        "text": _text(evidence),
        "key": _key(evidence),
        "gap": _gap(evidence),
        "length": _length(evidence),
        "overlap": _overlap(evidence),
        "time": _time(evidence),
    }
    return tuple(line for name, line in lines.items() if line is not None and name not in but)


def _text(evidence: Evidence) -> str | None:
    relation = evidence.pair.relation
    return _TEXT[relation] if evidence.divergence is None and relation in WHOLE_TEXT else None


def _key(evidence: Evidence) -> str | None:
    if evidence.before is None or evidence.before.key != evidence.call.key:
        return None
    names = [setting.pointer for setting in evidence.call.key]
    start = "what the log shows of the key" if evidence.call.rebuilt else "the key"
    return f"{start}: same model and settings" + (f" ({', '.join(names[:6])})" if names else "")


def _gap(evidence: Evidence) -> str | None:
    gap = gap_s(last_touch(evidence), evidence.call)
    if gap is None or evidence.before is None:
        return None
    asked = [asked_lifetime_s(mark.ttl, evidence.facts) for mark in evidence.before.marks]
    known = [one for one in asked if one is not None]
    lifetime = max(known) if known else evidence.facts.ttl_s
    if lifetime is None:
        return f"the lifetime: only {duration(gap)} passed" if gap < 300 else None
    return f"the lifetime: {duration(gap)} passed of {duration(lifetime)}" if gap <= lifetime else None


def _length(evidence: Evidence) -> str | None:
    prompt, least = evidence.call.usage.prompt_tokens, evidence.facts.least_tokens
    if prompt is None or not least or prompt < least:
        return None
    return f"the length: {prompt:,} tokens, the minimum is {least:,}"


def _overlap(evidence: Evidence) -> str | None:
    before = evidence.before
    if before is None or gap_s(before, evidence.call) is None or overlap(before, evidence.call):
        return None
    return "a race: the earlier answer had begun"


def _time(evidence: Evidence) -> str | None:
    first = next((one for one in evidence.earlier if one.ttft_s), None)
    if first is None or evidence.call.ttft_s is None or first.ttft_s is None or warm_by_time(evidence):
        return None
    return (
        f"the count: the first token took {evidence.call.ttft_s * 1000:.0f} ms, the conversation's first one "
        f"{first.ttft_s * 1000:.0f} ms"
    )
