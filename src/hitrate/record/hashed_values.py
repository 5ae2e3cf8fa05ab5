"""Hashes values: numbers, ids, times and dates, each with its kind and length."""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b

from hitrate.explain.causes.calendar_words import MONTHS, WEEKDAYS, day_number
from hitrate.explain.causes.clock_in_prefix import MOMENT_LABEL
from hitrate.explain.causes.moments import DAY_S, Moment, moments
from hitrate.explain.causes.shapes import labelled_id, random_kind
from hitrate.logs.hashed.chunks import base36, written_signs
from hitrate.record.hashed_spans import Span

_NUMBER = re.compile(r"[-+]?[$€£¥]?\d[\d.,'_/:-]*%?")
_DIGITS_OR_NOT = re.compile(r"(?P<digits>\d+)|[^\d]+")
_DIGIT = re.compile(r"\d")
_HEX_WORD = re.compile(r"[0-9a-f]{4,}")
_JSON_WORDS = ("true", "false", "null")
_IN_FRONT = " =:#\"'(["

_TIME_SIGNS = re.compile(
    r"\d\s?[:hu.]\s?\d|\d{4}[-/.]\d|\d{8}|\d[./-]\d{1,2}[./-]\d\d|\d\s?[ap]\.?m\b|\bago\b|\d\s?(?:h|u|uhr)\s?\d"
    r"|\b(?:vor|il y a|hace)\s",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[a-z][a-z'-]{2,}")

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_LABEL = 40
"""Code points in front of a value that may say that it is an id."""
_LINE = 240
"""Code points of a line that are looked at as one for times and dates."""

_ID_KINDS = {"UUID": "u", "trace context": "t", "hash": "h", "long number": "d"}

_WINDOW_S = (-3 * DAY_S, 730 * DAY_S)
"""Times kept as they are, from the making of the key."""


class ValueHasher:
    """Hashes values with one key. `since` is the Unix time at which the key was made.

    A time or date that its line calls the present one, and one of Unix time, is kept as a time where it is of the two
    years from `since`: each call is kept with its own time anyway.
    """

    def __init__(self, key: bytes, since: float) -> None:
        self._keyed = blake2b(key=key, digest_size=9)
        self._since = since
        self._substitutes: dict[str, dict[str, str]] = {}
        self.hash = lru_cache(maxsize=8192)(self._hash_anew)
        """12 characters that tell equal texts."""

    def digest(self, data: bytes) -> str:
        """12 characters that tell equal data."""
        keyed = self._keyed.copy()
        keyed.update(data)
        return b2a_base64(keyed.digest(), newline=False).translate(_URL_SAFE).decode()

    def _hash_anew(self, text: str) -> str:
        return self.digest(text.encode("utf-8", "surrogatepass"))

    def moments(self, line: str) -> Iterator[Span]:
        if not _may_hold_moments(line):
            return
        for start, part in _parts(line):
            for moment in moments(part):
                is_clock = moment.seconds is not None and moment.step_s < 60
                yield Span(start + moment.start, start + moment.end, self._moment(line, start, moment), is_clock)

    def _moment(self, line: str, start: int, moment: Moment) -> str:
        kind, value = _value(moment)
        label = line[max(0, start + moment.start - 60) : start + moment.start]
        kept = value >= 0 and (kind in "ea" or MOMENT_LABEL.search(label) is not None)
        if kept and kind in "dbe":
            age = value * (DAY_S if kind == "d" else 1) - self._since
            kept = _WINDOW_S[0] <= age <= _WINDOW_S[1]
        shown = base36(value) if kept else ""
        return f"m{len(moment.text)}.{kind}.{self.hash(moment.text)}.{shown}.{round(moment.step_s)};"

    def alone(self, line: str, start: int, word: str) -> str:
        """The chunk of a word that is one by itself: an id, a number, a word of JSON; "" for others."""
        has_digit = not word.isalpha() and _DIGIT.search(word) is not None
        if has_digit and _NUMBER.fullmatch(word) and (len(word) < 9 or not word.isdecimal()):
            if word.isdecimal() and self._is_named_id(line, start, word):
                return f"i{len(word)}.{self.hash(word)}.v;"
            return self._number(word)
        kind = random_kind(word) if (has_digit and len(word) > 5) or len(word) >= 16 else None
        if kind is not None:
            return f"i{len(word)}.{self.hash(word)}.{_ID_KINDS.get(kind, 'r')};"
        if (
            has_digit or (start > 0 and line[start - 1] in _IN_FRONT and _HEX_WORD.fullmatch(word))
        ) and self._is_named_id(line, start, word):
            return f"i{len(word)}.{self.hash(word)}.v;"
        return f"k{word};" if word in _JSON_WORDS else ""

    @staticmethod
    def _is_named_id(line: str, start: int, word: str) -> bool:
        return len(word) > 3 and start > 0 and labelled_id(line[max(0, start - _LABEL) : start], word)

    def number(self, written: str) -> str:
        """The chunks of a number as JSON writes it."""
        return self._number(written)

    def _number(self, written: str) -> str:
        return "".join(
            self._digits(piece["digits"]) if piece["digits"] else _signs_or_letters(piece[0])
            for piece in _DIGITS_OR_NOT.finditer(written)
        )

    def _digits(self, digits: str) -> str:
        """Up to three digits become others of as many: a hash of so few values could be told or be the same twice."""
        if len(digits) > 3 or not digits.isascii():
            return f"n{len(digits)}.{self.hash(digits)};"
        kind = "0" * len(digits) if digits[0] == "0" and len(digits) > 1 else "d" * len(digits)
        return f"n{len(digits)}.{self.substitute(kind, digits)};"

    def substitute(self, kind: str, value: str) -> str:
        """Another value of the few of a kind, in an order of the key's own."""
        found = self._substitutes.get(kind)
        if found is None:
            values = _few(kind)
            order = sorted(values, key=lambda one: self._hash_anew(f"{kind}/{one}"))
            found = self._substitutes[kind] = dict(zip(values, order, strict=True))
        return found[value]


def _few(kind: str) -> list[str]:
    """All values of a kind: one to three digits, those with a leading 0 ("00", "000") apart, one or two letters."""
    if kind[0] == "a":
        letters = "abcdefghijklmnopqrstuvwxyz"
        return [one + other for one in letters for other in (letters if len(kind) == 2 else ("",))]
    if kind == "d":
        return list("0123456789")
    low, high = (0, 10 ** (len(kind) - 1)) if kind[0] == "0" else (10 ** (len(kind) - 1), 10 ** len(kind))
    return [f"{number:0{len(kind)}}" for number in range(low, high)]


def _may_hold_moments(line: str) -> bool:
    """A quick look. Without a digit only a weekday can be meant, and counts where the line says that it is today."""
    if _DIGIT.search(line) is None:
        return len(line) <= _LINE and MOMENT_LABEL.search(line) is not None
    if not line.isascii() or _TIME_SIGNS.search(line) is not None:
        return True
    words = set(_WORDS.findall(line.lower()))
    return not (words.isdisjoint(MONTHS) and words.isdisjoint(WEEKDAYS))


def _parts(line: str) -> Iterator[tuple[int, str]]:
    """A line in pieces of bounded length, with where they start; cut at blanks."""
    start = 0
    while len(line) - start > _LINE:
        end = line.rfind(" ", start + _LINE // 2, start + _LINE)
        end = start + _LINE if end < 0 else end
        yield start, line[start:end]
        start = end
    yield start, line[start:]


def _value(moment: Moment) -> tuple[str, int]:
    """The class of a moment, and what it shows in the unit of that class; -1 where that is not kept."""
    if moment.epoch_s is not None:
        return "e", int(moment.epoch_s)
    if moment.age_s is not None:
        return "a", -1
    second = -1 if moment.seconds is None else int(moment.seconds)
    if not moment.dates:
        return ("t", second) if second >= 0 else ("k", -1 if moment.weekday is None else moment.weekday)
    year, month, day = moment.dates[0]
    value = 32 * month + day if year is None else day_number(year, month, day)
    if second < 0:
        return ("y" if year is None else "d"), value
    return ("B" if year is None else "b"), value * DAY_S + second if value >= 0 else -1


def _signs_or_letters(text: str) -> str:
    return f"k{text};" if text.isalpha() else written_signs(text)
