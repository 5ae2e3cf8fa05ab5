"""Values in a text that look as if they were printed anew for each request: times, dates, ids, counts.

Recognised by the shapes that `explain` uses for values that did change. From one request nothing is sure: a policy may
bear a date, a build an id. So labels decide, and what names a version or a build is only worth a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.linting import Severity
from hitrate.explain.causes.clock_in_prefix import MOMENT_LABEL
from hitrate.explain.causes.moments import Moment, moments
from hitrate.explain.causes.shapes import labelled_id, random_kind

Kind = Literal["clock", "date", "id", "counter"]


class Volatile(NamedTuple):
    """`text[start:end]` is the value; `shape` says in a few words what it looks like."""

    kind: Kind
    severity: Severity
    start: int
    end: int
    shape: str


_LABEL = 60
"""Code points in front of a value that may say what it is."""

_HOUR_S = 3600.0
_MINUTE_S = 60.0

_STANDS_FOR_A_STATE = lazy_pattern(
    r"version|\bv\.?\s*\Z|build|release|revision|policy|edition|updated|modified|published|effective|since|until|valid|"
    r"expires?|digest|checksum|sha\d*|commit|schema|template|example|e\.g\.|born|founded|cut-?off|copyright|"
    r"stand\b|fassung|ausgabe|gültig|beispiel|exemple|ejemplo|version\w*|版本|例如|示例|例えば|バージョン",
    re.IGNORECASE,
)
"""Words in front of a value that stays as long as what it describes."""

_DIGIT = lazy_pattern(r"\d")
_TOKEN = lazy_pattern(r"[^\s\"'`<>()\[\]{},;|=:、，。：；（）「」“”]{4,}")
_HEADER_LINE = lazy_pattern(r"\s*x-[a-z0-9-]+\s*:\s*\S", re.IGNORECASE)
_LONG_HASH = 32

_NAMES = r"turn|step|iteration|attempt|round|request|message|call|loop"
_COUNTER = lazy_pattern(
    rf"\b(?:{_NAMES})s?\s*(?:no\.?|nr\.?|number|count|counter|so far|index|#)?\s*(?:[:=#]|\bis\b)\s*(?P<a>\d+)"
    rf"|\b(?:{_NAMES})\s+(?P<b>\d+)\s*(?:of|/)\s*\d+"
    r"|(?P<c>\d[\d,.]*)\s+(?:tokens?|messages?|turns?|requests?|steps?|calls?)\s+(?:are\s+)?"
    r"(?:left|remaining|used|so far)"
    r"|\btokens?\s+(?:left|remaining|used)\s*[:=]\s*(?P<d>\d[\d,.]*)",
    re.IGNORECASE,
)


def volatile(text: str) -> Iterator[Volatile]:
    """The values that look volatile, line by line; none lies inside another."""
    position = 0
    for line in text.splitlines(keepends=True):
        if _DIGIT.search(line):
            for found in _in_line(line):
                yield found._replace(start=found.start + position, end=found.end + position)
        position += len(line)


@lru_cache(maxsize=4096)
def _in_line(line: str) -> tuple[Volatile, ...]:
    """Most lines of a prompt are the same in every request."""
    taken: list[Volatile] = []
    for found in (*_ids(line), *_moments(line), *_counters(line)):
        if all(found.end <= other.start or found.start >= other.end for other in taken):
            taken.append(found)
    return tuple(sorted(taken, key=lambda found: found.start))


def _moments(line: str) -> Iterator[Volatile]:
    for moment in moments(line):
        label = line[max(0, moment.start - _LABEL) : moment.start]
        judged = _judged(moment, bool(MOMENT_LABEL.search(label)), bool(_STANDS_FOR_A_STATE.search(label)))
        if judged is not None:
            kind, severity, shape = judged
            yield Volatile(kind, severity, moment.start, moment.end, shape)


def _judged(moment: Moment, is_present: bool, is_state: bool) -> tuple[Kind, Severity, str] | None:
    """Opening hours and periods are times, too: without seconds, a date or a label a time says nothing."""
    if moment.age_s is not None:
        return ("clock", "note", "an age") if moment.step_s <= _HOUR_S else None
    if moment.epoch_s is not None:
        return ("clock", "note" if is_state else "warning", "a Unix time") if is_present else None
    if moment.seconds is not None:
        dated = bool(moment.dates)
        if moment.step_s < _MINUTE_S and (dated or is_present):
            return "clock", "note" if is_state else "warning", "a time with seconds"
        if moment.step_s == _MINUTE_S and dated:
            return "clock", "warning" if is_present and not is_state else "note", "a date with a time"
        if is_present and not is_state:
            return "clock", "note", "a time of day"
        return None
    has_year = any(year is not None for year, _, _ in moment.dates)
    if has_year or (moment.has_date and is_present):  # "kind 12 may come back" names no day
        return "date", "note", "a date"
    return None


def _ids(line: str) -> Iterator[Volatile]:
    header = _HEADER_LINE.match(line) is not None
    for match in _TOKEN.finditer(line):
        token = match.group().strip(".-_/\\")
        if not token:
            continue
        start = match.start() + match.group().index(token)
        label = line[max(0, start - _LABEL) : start]
        judged = _id(token, label, header)
        if judged is not None:
            severity, shape = judged
            yield Volatile("id", severity, start, start + len(token), shape)


def _id(token: str, label: str, header: bool) -> tuple[Severity, str] | None:
    kind = random_kind(token)
    is_state = bool(_STANDS_FOR_A_STATE.search(label))
    if kind in ("UUID", "trace context", "ULID"):
        return "note" if is_state else "warning", f"a {kind}"
    if kind == "hash" and (header or labelled_id(label, token)):
        return "note" if is_state else "warning", "a hash"
    if kind == "random characters" and (header or labelled_id(label, token)):
        return "note" if is_state else "warning", "random characters"
    if kind == "hash" and len(token) >= _LONG_HASH:
        return "note", "a hash"
    if header and _DIGIT.search(token):
        return "warning", "a value of a header line"
    return None


def _counters(line: str) -> Iterator[Volatile]:
    for match in _COUNTER.finditer(line):
        name = match.lastgroup
        if name is not None:
            yield Volatile("counter", "note", match.start(name), match.end(name), "a running number")
