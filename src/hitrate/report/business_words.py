"""The sentences of a business case. Each says how its figures are known: measured, estimated or predicted."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import NamedTuple

from hitrate.core.business_case import BusinessCase, Estimated, Fix, Predicted, Span
from hitrate.core.findings import Voice
from hitrate.core.money import plain
from hitrate.report.columns import count, percent, times
from hitrate.report.kinds.explain import SIDE_CHARACTERS, change, place
from hitrate.report.words import Line, Passage

VOICES: dict[Voice, str] = {
    "yours to change": "yours to change",
    "observation": "to be looked into",
    "provider suspected": "provider suspected",
}

MOST_FIXES_SHOWN = 20

YOURS_MENDED, ALL_MENDED = "with your fixes", "with no loss found"
"""The log without the losses that are yours to change, and without any."""


def all_mended(report: BusinessCase) -> str:
    return YOURS_MENDED if report.yours.lost_tokens == report.reachable.lost_tokens else ALL_MENDED


def has_both(report: BusinessCase) -> bool:
    """Whether what is yours to change is a part of what was lost."""
    return bool(report.yours.lost_tokens) and report.yours.lost_tokens != report.reachable.lost_tokens


def money(usd: float) -> str:
    """In cents, as bills are, where that leaves two digits; below, to three."""
    return f"{usd:,.2f}" if abs(usd) >= 0.1 or not usd else plain(float(f"{usd:.3g}"))


def cash(usd: float) -> str:
    return f"{'-' if usd < 0 else ''}${money(abs(usd))}"


def rate(share: float | None) -> str:
    return "not known" if share is None else f"{percent(share)} %"


def calls_of(number: int) -> str:
    return f"{count(number)} call{'' if number == 1 else 's'}"


def subject(report: BusinessCase) -> str:
    """The title given, else the log's name without its folders."""
    return report.title or re.split(r"[/\\]", report.log.rstrip("/\\"))[-1] or report.log


def outcome(report: BusinessCase) -> str:
    """The answer in one line."""
    now, reachable = report.now, report.reachable
    if now.usd is not None:
        text = f"{cash(now.usd)} spent"
        if reachable.saved_usd:
            share = f" ({percent(reachable.saved_usd / now.usd)} %)" if now.usd else ""
            return f"{text}, about {cash(reachable.saved_usd)}{share} of it avoidable"
        return f"{text}, {_nothing_lost(report)}"
    if reachable.lost_tokens and now.prompt_tokens:
        share = percent(reachable.lost_tokens / now.prompt_tokens)
        return f"about {share} % of all prompt tokens could have come from cache and did not; the bill is not known"
    return f"the bill is not known, {_nothing_lost(report)}"


def _nothing_lost(report: BusinessCase) -> str:
    if causes := len(report.fixes):
        return f"what was lost to {count(causes)} cause{'' if causes == 1 else 's'} is not known"
    return "nothing found that was avoidable" if report.reachable.lost_tokens == 0 else "what was lost is not known"


class Point(NamedTuple):
    """What is said of one thing: its name in a word or two, and a sentence or two."""

    name: str
    text: str


def summary(report: BusinessCase) -> list[Point]:
    return [point for point in _summary(report) if point is not None]


def _summary(report: BusinessCase) -> Iterator[Point | None]:
    yield _spent(report)
    yield _lost(report)
    yield _rates(report)
    yield from first_steps(report)
    together = None if report.prediction is None else report.prediction.together
    if together is not None and together.changed_calls:
        yield Point("Predicted", f"{after_rewrite(together)}, with {rewrite_name(together)}.".capitalize())
    yield from _scaled(report)


def _spent(report: BusinessCase) -> Point:
    now = report.now
    if now.usd is None:
        if now.prompt_tokens is None:
            return Point("Spent", "Not known: the log holds no token counts.")
        reasons = "; ".join(dict.fromkeys(one.reason for one in report.unpriced)) or "no price"
        return Point("Spent", f"Not known: {reasons}. With a price (--price) this report is made in money.")
    text = f"{cash(now.usd)} for {calls_of(now.calls)}"
    if now.usd_without_caching is None or now.usd_saved is None or now.cached_tokens is None:
        return Point("Spent", f"{text}, measured; what the cache saves is not known: no call reports cached tokens.")
    share = f" ({percent(abs(now.usd_saved) / now.usd_without_caching)} %)" if now.usd_without_caching else ""
    without = f"{text}; without caching {cash(now.usd_without_caching)}"
    if now.usd_saved < 0:
        return Point("Spent", f"{without}: the cache costs {cash(-now.usd_saved)}{share} more than it saves. Measured.")
    if not now.usd_saved:
        return Point("Spent", f"{text}, the same as without caching: the cache saved nothing. Measured.")
    return Point("Spent", f"{without}. The cache saves {cash(now.usd_saved)}{share} already. Measured.")


def _lost(report: BusinessCase) -> Point | None:
    reachable = report.reachable
    if not reachable.lost_tokens:
        known = reachable.lost_tokens == 0 and not report.fixes
        return Point("Avoidable", "No loss was found.") if known else None
    tokens = f"about {count(reachable.lost_tokens)} prompt tokens"
    if reachable.saved_usd is None:
        return Point("Avoidable", f"{tokens.capitalize()} could have come from cache and did not. Estimated.")
    parts = [f"{cash(one.lost_usd)} {VOICES[one.voice]}" for one in report.lost if one.lost_usd is not None]
    return Point("Avoidable", f"About {cash(reachable.saved_usd)}, {tokens}: {', '.join(parts)}. Estimated.")


def _rates(report: BusinessCase) -> Point:
    if report.now.hit_rate is None:
        return Point("Hit rate", "Not known: no call reports prompt and cached tokens.")
    text = f"{rate(report.now.hit_rate)} now, measured"
    if not report.reachable.lost_tokens:
        return Point("Hit rate", f"{text}.")
    if has_both(report):
        text += f"; {rate(report.yours.hit_rate)} {YOURS_MENDED}"
    return Point("Hit rate", f"{text}; {rate(report.reachable.hit_rate)} {all_mended(report)}, estimated.")


def first_steps(report: BusinessCase) -> Iterator[Point]:
    """What to do first: the dearest of what is yours to change; and what is dearer and is not."""
    yours = next((fix for fix in report.fixes if fix.voice == "yours to change"), None)
    if yours is not None:
        yield Point("Fix first", _step(report, yours))
    if report.fixes and report.fixes[0] is not yours:
        yield Point("Look into", _step(report, report.fixes[0]))


def _step(report: BusinessCase, fix: Fix) -> str:
    text = f"{fix.cause}, {worth(fix)}. {fix.example.advice}".rstrip()
    net = net_of_lifetimes(report) if fix.verdict == "expiry" else ""
    return f"{text} A longer life has its price: {net}." if net else text


def net_of_lifetimes(report: BusinessCase) -> str:
    """What input costs over the log's pauses with longer lives, against five minutes; "" where that is not known."""
    usd = {way.name: way.usd for way in report.lifetimes}
    base, others = usd.get("5m"), {"one-hour entries": usd.get("1h"), "keeping alive": usd.get("keep-alive")}
    if base is None:
        return ""
    parts = [
        f"{name} would have saved {cash(base - other)}"
        if other < base
        else f"{name} would have cost {cash(other - base)} more"
        for name, other in others.items()
        if other is not None and other != base
    ]
    return f"over all pauses {', '.join(parts)}, against five minutes" if parts else ""


def worth(fix: Fix) -> str:
    if fix.estimated.saved_usd is not None:
        return f"about {cash(fix.estimated.saved_usd)}"
    return f"about {count(fix.estimated.lost_tokens)} tokens" if fix.estimated.lost_tokens else "loss not known"


def _scaled(report: BusinessCase) -> Iterator[Point]:
    mean, month = report.per_1000_calls, report.per_month
    if mean.usd is None:
        return
    yield Point("Per 1,000 calls", f"{cash(mean.usd)}{_of_it(mean.lost_usd, mean.yours_usd)}.")
    if month is not None and month.usd is not None:
        given = month.strength == "as given"
        pace = "" if given else f" for {count(month.calls)} calls"
        span = "" if given or report.span is None else f" The log spans {duration(report.span)}."
        text = f"About {cash(month.usd)}{pace}{_of_it(month.lost_usd, month.yours_usd)}."
        strength = "Estimated" if given else f"Estimated, {month.strength}"
        yield Point("Per month", f"{text} {strength}: {month.why}.{span}")
    elif report.no_month is not None:
        span = "" if report.span is None else f" (this one spans {duration(report.span)})"
        yield Point("Per month", f"Not worked out: {report.no_month}{span}. Name your pace with --calls-per-month.")


def _of_it(lost_usd: float | None, yours_usd: float | None) -> str:
    if not lost_usd:
        return ""
    yours = f", {cash(yours_usd)} of that yours to change" if yours_usd and yours_usd != lost_usd else ""
    return f", of it about {cash(lost_usd)} avoidable{yours}"


def duration(span: Span) -> str:
    seconds = span.seconds
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = times(seconds / length)
            return f"{number} {unit}{'' if number == '1.0' else 's'}"
    return f"{seconds:.0f} second{'' if round(seconds) == 1 else 's'}"


def when(span: Span) -> str:
    first, last = (
        f"{datetime.datetime.fromtimestamp(at, datetime.UTC):%Y-%m-%d %H:%M}" for at in (span.first_at, span.last_at)
    )
    return f"{first} UTC" if first == last else f"{first} to {last} UTC"


# Fixes


def fix_passages(report: BusinessCase) -> list[Passage]:
    shown = report.fixes[:MOST_FIXES_SHOWN]
    made = [Passage(_fix_heading(number, fix), tuple(_fix_lines(report, fix))) for number, fix in enumerate(shown, 1)]
    if more := len(report.fixes) - len(shown):
        made.append(Passage(f"{count(more)} further causes: --json and --csv list all", ()))
    return made


def _fix_heading(number: int, fix: Fix) -> str:
    return f"{number} · {fix.cause} · {worth(fix)} · {VOICES[fix.voice]} · {fix.confidence}"


def _fix_lines(report: BusinessCase, fix: Fix) -> Iterator[Line]:
    example = fix.example
    which = "The dearest" if fix.estimated.lost_tokens else "One"
    yield Line(
        "summary", f"{which} of {count(fix.findings)}: {example.summary}" if fix.findings > 1 else example.summary
    )
    if example.advice:
        yield Line("advice", f"what to do: {example.advice}")
    if text := after(report, fix.estimated):
        yield Line("estimated", f"estimated: {text}")
    if fix.verdict == "expiry" and (text := net_of_lifetimes(report)):
        yield Line("estimated", f"but a longer life has its price: {text}")
    if fix.predicted is not None:
        yield Line("predicted", predicted(fix.predicted))
    yield Line("place", " · ".join(part for part in (_first_call(fix), place(example), _shows_in(fix)) if part))
    if text := change(example, 2 * SIDE_CHARACTERS):
        yield Line("place", text)
    if example.ruled_out:
        yield Line("ruled out", f"ruled out: {'; '.join(example.ruled_out)}")
    if example.vendor:
        yield Line("vendor", f"the vendor's own diagnosis: {example.vendor}")


def after(report: BusinessCase, estimated: Estimated) -> str:
    """What the log would have been without some losses."""
    if not estimated.lost_tokens:
        return ""
    parts = [f"{count(estimated.lost_tokens)} tokens served instead of computed"]
    if estimated.hit_rate is not None:
        parts.append(f"hit rate {rate(report.now.hit_rate)} → {rate(estimated.hit_rate)}")
    if estimated.usd is not None and report.now.usd is not None:
        parts.append(f"bill {cash(report.now.usd)} → {cash(estimated.usd)}")
    return ", ".join(parts)


def predicted(found: Predicted) -> str:
    if not found.changed_calls:
        return f"predicted ({rewrite_name(found)}): {found.note or 'changes nothing'}"
    changed = f"{count(found.changed_calls)} request{'' if found.changed_calls == 1 else 's'} changed"
    return f"predicted ({rewrite_name(found)}, {changed}): {after_rewrite(found)}"


def rewrite_name(found: Predicted) -> str:
    return "all rewrites together" if found.rewrite == "all" else found.rewrite


def after_rewrite(found: Predicted) -> str:
    parts = [f"hit rate {rate(found.hit_rate_as_sent)} → {rate(found.hit_rate)}"]
    if found.usd is not None and found.usd_as_sent is not None and found.saved_usd is not None:
        saves = f"{cash(found.saved_usd)} saved" if found.saved_usd >= 0 else f"{cash(-found.saved_usd)} more"
        parts.append(f"bill {cash(found.usd_as_sent)} → {cash(found.usd)}, {saves}")
    return ", ".join(parts)


def _first_call(fix: Fix) -> str:
    if fix.example.call is None:
        return ""
    return f"call {fix.example.call}" + ("" if fix.example.against is None else f" against {fix.example.against}")


def _shows_in(fix: Fix) -> str:
    parts = [f"shows in {calls_of(fix.calls)}" if fix.calls else "shows in the whole log"]
    if fix.conversations is not None:
        parts.append(f"of {count(fix.conversations)} conversation{'' if fix.conversations == 1 else 's'}")
    if len(fix.pointers) > 1:
        parts.append(f"at {', '.join(fix.pointers)}")
    return " ".join(parts)


def remark_passages(report: BusinessCase) -> list[Passage]:
    if not report.remarks:
        return []
    lines = [Line("summary", f"{one.cause}: {one.summary} {one.advice}".rstrip()) for one in report.remarks]
    return [Passage("also found, at no loss that is known", tuple(lines))]
