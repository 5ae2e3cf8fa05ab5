"""The place where two texts part, widened to the line and to the value that changed."""

from __future__ import annotations

import re

from msgspec import Struct

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.moments import Moment, moment_at
from hitrate.explain.evidence import Divergence

_LINE = 240
"""Code points of a line on each side of a difference that are looked at; prompts have lines of any length."""

_DELIMITERS = r"\s\"'`<>()\[\]{},;|=:、，。：；（）「」“”"
_INSIDE_BEFORE = lazy_pattern(rf"[^{_DELIMITERS}]*\Z")
_INSIDE_AFTER = lazy_pattern(rf"[^{_DELIMITERS}]*")
_NUMBER_BEFORE = lazy_pattern(r"(?:(?<![\w.,])[-+])?\d[\d.,'_\u00a0\u202f]*\Z")
_NUMBER_AFTER = lazy_pattern(r"(?:[\d.,'_\u00a0\u202f]*\d)?")
_OTHERS_MOVED = frozenset(
    {"messages dropped", "messages inserted", "messages condensed", "list order", "list members", "role", "block type"}
)
"""Changes after which two texts are compared that were never the same one."""
_WORD_BEFORE_DATE = lazy_pattern(r"[^\W\d_]{1,14}[.,]?\s(?=\d)")


class Spot(Struct, frozen=True, kw_only=True, gc=False):
    """`front` is what both texts share in front of the difference; `was` and `now` start at it."""

    front: str
    was: str
    now: str

    @property
    def lead(self) -> str:
        """The shared text of the line in front of the difference."""
        return self.front.rpartition("\n")[2][-_LINE:]

    @property
    def lines(self) -> tuple[str, str]:
        lead = self.lead
        return lead + _first_line(self.was), lead + _first_line(self.now)

    @property
    def tokens(self) -> tuple[str, str]:
        """The whole words or values, up to a space, quote, bracket or separator, that differ."""
        begin = _matched(_INSIDE_BEFORE, self.lead)
        return begin + _matched(_INSIDE_AFTER, self.was), begin + _matched(_INSIDE_AFTER, self.now)

    @property
    def numbers(self) -> tuple[str, str] | None:
        """The whole numbers that differ, None where the difference is not inside a number on both sides."""
        begin = _matched(_NUMBER_BEFORE, self.lead)
        was, now = begin + _matched(_NUMBER_AFTER, self.was), begin + _matched(_NUMBER_AFTER, self.now)
        return (was, now) if was[-1:].isdecimal() and now[-1:].isdecimal() else None

    @property
    def moments(self) -> tuple[Moment, Moment] | None:
        """The times or dates that differ, None where the difference is not inside one on both sides."""
        line_was, line_now = self.lines
        position = len(self.lead)
        was, now = moment_at(line_was, position), moment_at(line_now, position)
        if was is None and now is None:
            was, now = _date_behind_a_word(line_was, position), _date_behind_a_word(line_now, position)
        return None if was is None or now is None or was.text == now.text else (was, now)

    def label(self, value: str) -> str:
        """The line's text in front of `value`, one of the values that differ."""
        line = next((line for line in self.lines if value in line), self.lead)
        at = line.find(value, max(0, len(self.lead) - len(value)))
        return line[: max(at, 0)]

    def goes_on_alike(self, was: str, now: str) -> bool:
        """Whether the texts agree again behind the values `was` and `now`, but for numbers and a plural's "s"."""
        line_was, line_now = self.lines
        rest_was = _plain(line_was[self._end(line_was, was) :])
        rest_now = _plain(line_now[self._end(line_now, now) :])
        shared = min(len(rest_was), len(rest_now), 12)
        return rest_was[:shared] == rest_now[:shared] and (shared > 0 or not rest_was.strip() or not rest_now.strip())

    def _end(self, line: str, value: str) -> int:
        at = line.find(value, max(0, len(self.lead) - len(value)))
        return len(line) if at < 0 else at + len(value)


def spot_of(divergence: Divergence | None) -> Spot | None:
    """None where the difference is not inside a text, or where a text differs only because others moved."""
    if divergence is None or divergence.offset is None or divergence.change in _OTHERS_MOVED:
        return None
    front, was, now = divergence.front, divergence.rest_was or divergence.was, divergence.rest_now or divergence.now
    if divergence.value_was is not None and divergence.value_now is not None:
        front = front or divergence.value_was[: divergence.offset]
        was = divergence.value_was[divergence.offset :]
        now = divergence.value_now[divergence.offset :]
    return Spot(front=front, was=was, now=now)


def _date_behind_a_word(line: str, position: int) -> Moment | None:
    """The date right behind the word at `position`: a weekday in a language whose names are not known here."""
    word = _WORD_BEFORE_DATE.match(line, position)
    found = moment_at(line, word.end()) if word else None
    return found if found is not None and found.dates and word is not None and found.start == word.end() else None


def _matched(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text) if pattern.pattern.endswith("Z") else pattern.match(text)
    return match.group() if match else ""


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:_LINE]


def _plain(text: str) -> str:
    return re.sub(r"\d+", "0", re.sub(r"(?<=\w)s\b|^s\b", "", text))
