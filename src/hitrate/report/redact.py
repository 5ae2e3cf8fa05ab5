"""A report that can be posted: places, counts, causes and amounts stay, what others wrote goes.

Prompt text becomes its kind or its class of characters, and its length. Sentences may quote the prompt, so they are
replaced by those that hold for every finding of the cause. Member names that belong to no wire format are somebody's
data, like names of sessions and folders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from hitrate.core.findings import ExplainReport, Finding, Verdict
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.records import Remark, Skipped
from hitrate.report.causes import about
from hitrate.report.wire_names import DATA_FOLLOWS, HEADERS, LISTS, NAMES_FOLLOW, WIRE_NAMES

NOTE = "Redacted: text of prompts and names are replaced by what they are and how long; sentences are general ones."

NOT_KEPT = (
    "Content was not kept, only keyed hashes, lengths and kinds: places are right, an offset is that of the piece of "
    "text that changed, and what is said of the sides is their kind and length."
)

ADVICE: dict[Verdict, str] = {
    "prefix_break": "Keep what was sent before unchanged, and put what changes behind it.",
    "key_change": "Keep the setting that is part of the cache key the same within a conversation.",
    "breakpoints": "Check where the cache markers stand, how many there are, and how long they live.",
    "expiry": "Send the next call sooner, or ask for a longer lifetime.",
    "too_short": "Check the prompt against the least length that is cached.",
    "routing": "Keep a conversation on one machine with the target's affinity setting.",
    "race": "Send the first call alone, and further ones when its answer has begun.",
    "engine": "Check the engine's version and settings.",
    "reporting": "Check which field of the usage is read, and what it counts.",
    "pricing": "Check how cached tokens are counted and priced.",
    "unknown": "Send the same prompt twice, and see whether the second is served.",
}

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a date and a time", lazy_pattern(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|UTC|GMT|[+-]\d\d:?\d\d))?")),
    ("a date", lazy_pattern(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}")),
    ("a time of day", lazy_pattern(r"\d{1,2}:\d\d(:\d\d(\.\d+)?)?( ?(am|pm|UTC|Z))?", re.IGNORECASE)),
    ("a UUID", lazy_pattern(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)),
)

_CLASSES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("letters", str.isalpha),
    ("digits", str.isdecimal),
    ("spaces", lambda one: one == " "),
    ("line breaks", lambda one: one in "\r\n"),
)


def redacted(report: ExplainReport) -> ExplainReport:
    """The report without what others wrote: prompts, names, paths, sentences that may quote them."""
    sessions = _Numbered()
    records = report.records
    notes = (f"Notes left out: {len(report.notes)}.",) if report.notes else ()
    return replace(
        report,
        log=_file_name(report.log),
        records=replace(
            records,
            skipped=tuple(_skipped(one) for one in records.skipped),
            remarks=tuple(Remark(line=getattr(one, "line", None), what="read all the same") for one in records.remarks),
        ),
        findings=tuple(_finding(one, sessions) for one in report.findings),
        by_session=tuple(replace(one, session=sessions(one.session)) for one in report.by_session),
        by_call=tuple(replace(one, session=sessions(one.session)) for one in report.by_call),
        notes=(*notes, NOTE),
    )


def without_content(report: ExplainReport) -> ExplainReport:
    """The report of calls whose content was not kept: what stands for it is nobody's text, and is left out as well."""
    found = redacted(report)
    return replace(found, notes=(*(note for note in found.notes if note != NOTE), NOT_KEPT))


def describe(text: str) -> str:
    """The length, and a kind that says nothing more (a time, a date) or the classes of characters."""
    if not text:
        return "⟨nothing⟩"
    length = f"{len(text):,} char{'s' if len(text) != 1 else ''}"
    kind = next((kind for kind, form in _KINDS if form.fullmatch(text)), None)
    return f"⟨{length}, {kind or _classes(text)}⟩"


def _classes(text: str) -> str:
    hidden = " with invisible ones" if any(not one.isprintable() and one not in "\r\n" for one in text) else ""
    found = [name for name, belongs in _CLASSES if any(map(belongs, text))]
    if any(one.isprintable() and not any(belongs(one) for _, belongs in _CLASSES) for one in text):
        found.append("signs")
    return (" and ".join(found) if 0 < len(found) < 3 else "mixed") + hidden


def redact_pointer(pointer: str) -> str:
    """A JSON pointer in which names that are no part of a wire format are "⟨name⟩"; of a header only known names."""
    if not pointer:
        return ""
    if not pointer.startswith("/"):
        name = pointer.removesuffix(":")
        return pointer if name.lower() in HEADERS else "⟨header⟩:"
    return "/" + "/".join(_segments(pointer[1:].split("/")))


def _segments(segments: list[str]) -> Iterator[str]:
    parent, data, is_name = "", False, False
    for depth, segment in enumerate(segments):
        index = re.fullmatch(r"0|[1-9][0-9]{0,6}", segment) is not None
        # The input of a tool call is an object of the tool's own; the one at the top is the list of items.
        data = data or parent in DATA_FOLLOWS or (parent == "input" and (depth > 1 or not index))
        is_name = parent in NAMES_FOLLOW and not is_name
        if data or is_name:
            shown = "⟨name⟩"
        elif index:
            shown = segment if parent in LISTS else "⟨name⟩"
        else:
            shown = segment if segment in WIRE_NAMES | DATA_FOLLOWS else "⟨name⟩"
        yield shown
        # A member that is somebody's name does not decide what follows, and an index leaves its list's members.
        parent = "" if is_name or data else segment


class _Numbered:
    """Names as numbers, in the order they come; equal names have equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        return f"#{self._numbers.setdefault(name, len(self._numbers) + 1)}"


def _finding(finding: Finding, sessions: _Numbered) -> Finding:
    return replace(
        finding,
        pointer=None if finding.pointer is None else redact_pointer(finding.pointer),
        was=None if finding.was is None else describe(finding.was),
        now=None if finding.now is None else describe(finding.now),
        summary=about(finding.cause) or f"A finding of the class {finding.verdict.replace('_', ' ')}.",
        advice=ADVICE[finding.verdict],
        ruled_out=(f"{len(finding.ruled_out)} other causes",) if finding.ruled_out else (),
        session=None if finding.session is None else sessions(finding.session),
        vendor=None if finding.vendor is None else describe(finding.vendor),
    )


def _skipped(skipped: Skipped) -> Skipped:
    return replace(skipped, reason="cannot be read")


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1] or "log"
