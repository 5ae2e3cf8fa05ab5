"""Lines of a log that are an earlier one with another body, time and counts: read by a pattern.

A program writes its records in one form. Where a record has no more to it than a body, a time and the counts of a
reply, its text around the body becomes a pattern, with a place for each value that may be another one in the next
record. What fits is JSON with the same members, each with a value of the same kind.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

_MOST_FORMS = 8
_MOST_LEARNT = 64
"""Patterns made of one log. One that needs more has another form in each line, and making them takes time."""

_LONGEST = 4096
"""Bytes around a body beyond which no pattern is made of them."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"(\s*:)?|[{}\[\],]|[^\s{}\[\],"]+', re.DOTALL)

_COUNT = rb"(?:0|[1-9][0-9]{0,14})"
_NUMBER = rb"-?(?:0|[1-9][0-9]{0,18})(?:\.[0-9]{1,20})?"
_TEXT = rb'"[ !#-\[\]-~]*"'
"""ASCII without a character that is escaped in JSON, so it says what it looks like."""

_MODEL = "model"
_RESPONSE = ["", "response"]
_decode = msgspec.json.Decoder().decode


class Fitting(NamedTuple):
    """A line that fits a form, with the values in it that a call is made of."""

    form: Form
    start: int
    """Of the body in the line."""
    end: int
    time: str | int | float | None
    response: dict[str, Any]


class Form:
    """The text in front of a body and behind it, one of which holds the response."""

    def __init__(self, front: bytes, tail: bytes, time_member: str, model: str | None) -> None:
        self.model = model
        """As the record has it, where neither the body nor the response does."""
        pattern_in_front, _ = _pattern(front, time_member, [])
        pattern_behind, opening = _pattern(tail, time_member, [""])
        self._front = re.compile(pattern_in_front).match
        self._tail = re.compile(pattern_behind).fullmatch
        self._opening = opening
        self._time_in_front, self._time_behind = (b"(?P<time>" in one for one in (pattern_in_front, pattern_behind))
        self._response_in_front = b"(?P<response>" in pattern_in_front

    def fit(self, data: bytes) -> Fitting | None:
        front = self._front(data)
        if front is None:
            return None
        start = front.end()
        end = data.rfind(self._opening, start)
        tail = self._tail(data, end) if end > start else None
        if tail is None:
            return None
        time = (front if self._time_in_front else tail)["time"] if self._time_in_front or self._time_behind else None
        response = _decode((front if self._response_in_front else tail)["response"])
        return Fitting(self, start, end, None if time is None else _decode(time), response)


class Forms:
    """The forms of one log: `fit` a line to one, `learn` from a line that fitted none."""

    def __init__(self) -> None:
        self._forms: list[Form] = []
        self._learnt = 0

    def fit(self, data: bytes) -> Fitting | None:
        for form in self._forms:
            if (found := form.fit(data)) is not None:
                return found
        return None

    def learn(self, data: bytes, body: bytes, *, time_member: str, model: str | None) -> None:
        """From a line that is plain JSON, no member in it given twice, with the body as a member of the record. Beside
        it, the time member, the model and the response, nothing in the record says anything of its call."""
        start = data.find(body)
        front, tail = data[:start], data[start + len(body) :]
        if start < 0 or len(front) + len(tail) > _LONGEST or self._learnt >= _MOST_LEARNT:
            return
        self._learnt += 1
        self._forms = [Form(front, tail, time_member, model), *self._forms[: _MOST_FORMS - 1]]


def _pattern(text: bytes, time_member: str, around: list[str]) -> tuple[bytes, bytes]:
    """The text in front of a body, or behind it, as a pattern; and what it begins with in every record.

    `around` are the names that the objects and arrays stand under which are open where the text begins.
    """
    found, opening = b"", None
    position, name = 0, ""
    around = around[:]
    for match in _TOKEN.finditer(text):
        token = match[0]
        if match[1] is not None:
            name = token[1 : token.rindex(b'"')].decode("utf-8", "replace")
            continue
        if token in (b"{", b"["):
            around.append(name)
            place = b"(?P<response>" + re.escape(token) if around == _RESPONSE else None
        elif token in (b"}", b"]"):
            place = re.escape(token) + b")" if around == _RESPONSE else None
            around.pop()
        else:
            place = _place(token, around, name, time_member) if token != b"," else None
            if place is not None and opening is None:
                opening = text[: match.start()]
        if place is not None:
            found += re.escape(text[position : match.start()]) + place
            position = match.end()
        name = ""
    return found + re.escape(text[position:]), text if opening is None else opening


def _place(token: bytes, around: list[str], name: str, time_member: str) -> bytes | None:
    """The pattern of a value that may be another one in the next record; None for one that says what a call is."""
    in_response = around[1:2] == ["response"]
    if token.startswith(b'"'):
        is_free = name == "id" and around == _RESPONSE if in_response else name != _MODEL
        pattern = _TEXT
    else:
        is_free = around[2:3] == ["usage"] or not in_response
        pattern = _COUNT if in_response else _NUMBER
    if not is_free or re.fullmatch(pattern, token) is None:
        return None
    return b"(?P<time>" + pattern + b")" if around == [""] and name == time_member else pattern
