"""Lines of a log that are an earlier one with another body, time and counts: read by a pattern.

A program writes its records in one form. Where a record has no more to it than a body, a time and the counts of a
reply, its text around the body becomes a pattern, with a place for each value that may be another one in the next
record. What fits is JSON with the same members, each with a value of the same kind.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from hitrate.core import usage_plans
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.model import Reading
from hitrate.core.usage_plans import Plan
from hitrate.logs.lines import NOT_JSON

_MOST_FORMS = 8
_MOST_LEARNT = 64
"""Patterns made of one log. One that needs more has another form in each line, and making them takes time."""

_LONGEST = 4096
"""Bytes around a body beyond which no pattern is made of them."""

_TOKEN = lazy_pattern(rb'"(?:[^"\\]|\\.)*"(\s*:)?|[{}\[\],]|[^\s{}\[\],"]+', re.DOTALL)

_COUNT = rb"(0|[1-9][0-9]{0,8})"
"""None of them is above `MOST_TOKENS`."""

_NUMBER = rb"-?(?:0|[1-9][0-9]{0,18})(?:\.[0-9]{1,20})?"
_TEXT = rb'"[ !#-\[\]-~]*"'
"""ASCII without a character that is escaped in JSON, so it says what it looks like."""

_ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")
"""With it a name can be written that is not seen at a glance."""

_count = msgspec.json.Decoder(int).decode
_decode = msgspec.json.Decoder().decode
_MODEL = "model"
_RESPONSE = ["", "response"]
_GROUPS = {"response": _RESPONSE, "usage": [*_RESPONSE, "usage"]}
"""Objects that are wanted as a whole, by what they stand under."""


class Fitting(msgspec.Struct, frozen=True, gc=False):
    """A line that fits a form."""

    form: Form
    body: bytes
    time: bytes | None
    """As JSON, where the form has one."""
    values: re.Match[bytes]
    """What stands in the places of the form beside its response."""

    def counts(self) -> list[int]:
        """In the usage, in order."""
        return [*map(_count, self.values.groups()[self.form.counts])]


class Form:
    """The text in front of a body and behind it, one of which holds the response."""

    def __init__(self, front: bytes, tail: bytes, time_member: str, model: str | None) -> None:
        self.model = model
        """As the response or the record has it."""
        self.wire = ""
        self.dialect: str | None = ""
        """The wire of its calls, and the one that their bodies look like; known when `learn` was called."""
        self.plan: Plan | None = None
        """How their counts are read; None as long as a reader of replies has to be asked."""
        in_front, _ = _pattern(front, time_member, [])
        behind, self.opening = _pattern(tail, time_member, [""])
        front_pattern, tail_pattern = re.compile(in_front), re.compile(behind)
        self.front, self.tail = front_pattern.match, tail_pattern.fullmatch
        self.time_in_front, self.time_behind = ("time" in one.groupindex for one in (front_pattern, tail_pattern))
        self.response_in_front = "response" in front_pattern.groupindex
        places = front_pattern.groupindex if self.response_in_front else tail_pattern.groupindex
        self.has_id = "id" in places
        first = places["usage"]
        self.counts = slice(first, first + in_front.count(_COUNT) + behind.count(_COUNT))

    def learn(
        self, fitting: Fitting, response: dict[str, Any], reading: Reading, wire: str, dialect: str | None
    ) -> None:
        """How replies are read, by one whose wire was told by its shape."""
        shape = usage_plans.shape_of(response, None)
        plain = reading.reply is None and reading.raw_usage is response.get("usage")
        if self.plan is None and plain and shape is not None and shape.counts == fitting.counts():
            self.plan = usage_plans.plan_of(shape, response, wire, reading.usage)
            self.wire, self.dialect = wire, dialect


class Forms:
    """The forms of one log: `fit` a line to one, `learn` from a line that fitted none."""

    def __init__(self) -> None:
        self._forms: list[Form] = []
        self._learnt = 0

    def fit(self, text: bytes, start: int, end: int) -> Fitting | None:
        """The line that stands in a text."""
        for form in self._forms:
            front = form.front(text, start)
            if front is None:
                continue
            body = front.end()
            behind = text.rfind(form.opening, body, end)
            tail = form.tail(text, behind, end) if behind > body else None
            if tail is not None:
                time = front["time"] if form.time_in_front else tail["time"] if form.time_behind else None
                return Fitting(form, text[body:behind], time, front if form.response_in_front else tail)
        return None

    def learn(self, data: bytes, body: bytes, *, time_member: str, model: str | None) -> None:
        """From a line that is plain JSON, no member in it given twice, with the body as a member of the record. Beside
        it, the time member, the model and the response, nothing in the record says anything of its call."""
        start = data.find(body)
        front, tail = data[:start], data[start + len(body) :]
        if start < 0 or len(front) + len(tail) > _LONGEST or self._learnt >= _MOST_LEARNT:
            return
        if _ESCAPED_LETTER.search(front) or _ESCAPED_LETTER.search(tail) or not _is_decoded(front + b"0" + tail):
            return
        self._learnt += 1
        self._forms = [Form(front, tail, time_member, model), *self._forms[: _MOST_FORMS - 1]]


def _is_decoded(data: bytes) -> bool:
    """Whether the values of a JSON text are such that msgspec takes: no half of a surrogate pair, no 1e999."""
    try:
        _decode(data)
    except NOT_JSON:
        return False
    return True


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
            group = next((group for group, path in _GROUPS.items() if around == path), None)
            place = None if group is None else f"(?P<{group}>".encode() + re.escape(token)
        elif token in (b"}", b"]"):
            place = re.escape(token) + b")" if around in _GROUPS.values() else None
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
    """The pattern of a value that may be another one in the next record, or is wanted by itself; None for any other."""
    in_response = around[1:2] == ["response"]
    group = "id" if around == _RESPONSE and name == "id" else "time" if around == [""] and name == time_member else ""
    if token.startswith(b'"'):
        is_free = group != "" or (not in_response and name != _MODEL)
        pattern = _TEXT
    else:
        is_free = around[2:3] == ["usage"] or not in_response
        pattern = _COUNT if in_response else _NUMBER
        group = group if group == "time" else ""
    if not is_free or re.fullmatch(pattern, token) is None:
        pattern = re.escape(token) if group else b""
    return f"(?P<{group}>".encode() + pattern + b")" if group else pattern or None
