"""Read a line of a log without decoding the conversation in it again.

Requests of a log share most of their text with earlier ones. So a line is cut into its body and the record around it,
the body into its messages and what stands around them, and each of these pieces is looked at once: whether it is plain
JSON in UTF-8, with no number that is none and no member given twice, and a message a request can hold. Where a piece
is anything else, or a cut is not proven, the line has to be decoded as a whole, and that says what is wrong.

A cut is proven by the stand-in put in its place: the rest is valid JSON, with the stand-in where the piece should be.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

from hitrate.core.grown import Grown
from hitrate.core.growth import AllTexts, GoesOn, Shown, TextMessage
from hitrate.core.layout import Layouts
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.recent import Recent
from hitrate.logs.lines import DEEPEST, NOT_JSON, is_too_deep
from hitrate.logs.pairs import Body, request_in
from hitrate.logs.shapes import body_problems, guess_dialect, message_problems

_LISTS = ("messages", "contents", "input")
"""Members of a body that hold its messages; the body is cut at the first that is there."""

_STAND_IN = "\x00 stands for what was cut out"
_STAND_IN_JSON = msgspec.json.encode(_STAND_IN)

_REMEMBERED = 1 << 16
"""Messages known to be in order. Each is remembered by a 64-bit hash alone: if two ever had the same one, no more would
be lost than a remark on the second."""

_BODIES_REMEMBERED = 128
_RECORDS_REMEMBERED = 128
_LONGEST_REMEMBERED = 1 << 16
"""Bytes around the messages of a body, tools and all, that are remembered as they stand."""

_LARGE = ("tools", "system", "instructions", "systemInstruction", "toolConfig")
"""Members that are alike in many bodies which otherwise differ, say by the id of a request."""

_LARGE_BYTES = 256
_MEMBERS_REMEMBERED = 1 << 10

_DEEPEST_PIECE = DEEPEST - 8
"""Levels in a piece that are certain to be few enough in the line."""


_decode = msgspec.json.Decoder().decode
_decode_text_messages = msgspec.json.Decoder(list[TextMessage]).decode
_raw_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_raw_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_ODD = object()


class _Around(NamedTuple):
    """What stands around the messages of a body."""

    members: dict[str, Any]
    """With the stand-in as messages."""
    dialect: str | None
    """The wire it is for, as far as that shows outside the messages."""


class KnownBody:
    """A body that is in order, and then the ones that go on with it."""

    __slots__ = ("around", "call", "dialect", "form", "model", "name", "wires")

    def __init__(self, name: str, wires: frozenset[str], around: _Around, form: object) -> None:
        self.name = name
        """Of the member that holds its messages."""
        self.around = around
        model = around.members.get("model")
        self.model: str | None = model if isinstance(model, str) and model else None
        self.form = form
        """Of the line that it was last read of: by it all but the body, time and counts is known; None where it is
        not."""
        self.call = -1
        """The number among the calls of the log of the one that it was first read of, once it is one."""
        self.wires: frozenset[str] = frozenset()
        """The wires that its messages could be for, each by itself."""
        self.add(wires)

    def add(self, wires: frozenset[str]) -> None:
        """Messages that could be for these."""
        self.wires |= wires
        mixed = self.around.dialect == "openai-chat" and "anthropic-messages" in self.wires
        self.dialect = "anthropic-messages" if mixed else self.around.dialect


class Splitter:
    """Reads the lines of one log: `split` what is laid out as before, `learn` from what had to be decoded."""

    def __init__(self) -> None:
        self._bodies = Layouts()
        self._lists = {name: Layouts() for name in _LISTS}
        self._messages: dict[str, Recent[int, str]] = {name: Recent(_REMEMBERED) for name in _LISTS}
        self._grown: Grown[KnownBody] = Grown()
        self._members: Recent[int, str] = Recent(_MEMBERS_REMEMBERED)
        self._around: Recent[bytes, _Around] = Recent(_BODIES_REMEMBERED)
        self._records: Recent[bytes, bool] = Recent(_RECORDS_REMEMBERED)

    def split(self, data: bytes) -> tuple[dict[str, Any], Body] | None:
        """A record whose body was cut out, and the body; None where the line has to be decoded."""
        for start, end in self._bodies.guess(data):
            record = self._record(data[:start] + _STAND_IN_JSON + data[end:])
            if type(record) is not dict:
                continue
            path, stand_in = request_in(record)
            found = self._body(data[start:end], path) if path and stand_in == _STAND_IN else None
            if found is not None:
                return record, found[1]
        found = self._body(data, ())
        # A line that is a request body itself, and not a record of one that has such members beside it.
        return found if found is not None and request_in(found[0])[0] == () else None

    def _record(self, data: bytes) -> Any:
        """As `_plain`. Of texts that differ in digits alone one is looked through: all have its levels, and where its
        names are apart without a digit in them, so are those of the others with some."""
        shape = data.translate(None, _DIGITS)
        if self._records.get(shape):
            try:
                return _decode(data)
            except NOT_JSON:
                return _ODD
        value = _plain(data)
        if value is not _ODD and not _may_name_digits(data):
            self._records.put(shape, True)
        return value

    def learn(self, data: bytes, path: tuple[str, ...], body: bytes) -> None:
        """Where the body, found under these members by decoding, stands in the line, and its messages in it."""
        if path:
            self._bodies.learn(data, path[-1], body)
        try:
            members = _raw_members(body)
        except NOT_JSON:
            return
        for name in _LISTS:
            if name in members:
                self._lists[name].learn(body, name, bytes(members[name]))
                return

    def body(self, data: bytes, form: object) -> tuple[KnownBody, Shown | None] | None:
        """What is known of a body that was cut out of a line, and what reading it showed; None where the line has to be
        decoded. `form` is the one that the line fits, None where it is not known."""
        found = self._grown.find_whole(data)
        if found is None:
            return self._cut(data, form)
        known, new = found  # it goes on from an earlier one, or is the same: by far the most usual
        if new == b"[]":
            return known, None
        texts = _text_messages(new)
        wires = _TEXT_WIRES if texts else self._wires_of_each(known.name, new)
        if wires is None:
            return self._cut(data, form)
        shown = None
        if texts and known.call >= 0 and known.form is form:
            shown = GoesOn(known.call, self._grown.found_front, texts)
        if not wires <= known.wires:
            known.add(wires)
        known.call, known.form = -1, form
        self._grown.go_on(data, known)
        return known, shown

    def _body(self, data: bytes, path: tuple[str, ...]) -> tuple[dict[str, Any], Body] | None:
        """The members of a body, without its messages, and what a `Call` needs of it."""
        found = self.body(data, None)
        if found is None:
            return None
        members = found[0].around.members
        return members, Body(path, data, members.get("model"), found[0].dialect)

    def _cut(self, data: bytes, form: object) -> tuple[KnownBody, AllTexts | None] | None:
        """A body that is laid out as an earlier one."""
        for name, layouts in self._lists.items():
            for start, end in layouts.guess(data):
                around = self._read_around(data[:start] + _STAND_IN_JSON + data[end:], name)
                found = None if around is None else self._wires(name, data, start, end)
                if around is not None and found is not None:
                    wires, texts = found
                    known = KnownBody(name, wires, around, form)
                    if wires:
                        self._grown.keep(data, start, end, known)
                    return known, AllTexts(start, end, texts) if texts else None
        return None

    def _read_around(self, data: bytes, name: str) -> _Around | None:
        around = self._around.get(data)
        if around is None:
            large = self._large_members(data)
            if large is None:
                return None
            data_left, wires = large
            members = _plain(data_left)
            if not isinstance(members, dict) or members.get(name) != _STAND_IN:
                return None
            alone = {**members, **dict.fromkeys(wires), name: []}
            if body_problems(alone):
                return None
            dialect = guess_dialect(alone)
            if dialect == "openai-chat" and "anthropic-messages" in wires.values():
                dialect = "anthropic-messages"
            around = _Around(members, dialect)
            if len(data) <= _LONGEST_REMEMBERED:
                self._around.put(data, around)
        return around

    def _large_members(self, data: bytes) -> tuple[bytes, dict[str, str]] | None:
        """A body with stand-ins for large members that are in order, and the wires those could be for.

        Only where nothing is left of the body that was not seen, as a member given twice; else it stays as it is.
        """
        try:
            members = _raw_members(data)
        except NOT_JSON:
            return None
        large = [name for name in _LARGE if name in members and len(bytes(members[name])) >= _LARGE_BYTES]
        colon = data.find(b":")
        compact = data[colon + 1 : colon + 2] != b" "
        if not large or _joined(members, compact) != data:
            return data, {}
        wires = {}
        for name in large:
            raw = bytes(members[name])
            key = hash((name, raw))
            wire = self._members.get(key)
            if wire is None:
                value = _plain(raw)
                if value is _ODD or body_problems({"messages": [], name: value}):
                    return data, {}
                wire = guess_dialect({"messages": [], name: value}) or ""
                self._members.put(key, wire)
            wires[name] = wire
            members[name] = msgspec.Raw(_STAND_IN_JSON)
        return _joined(members, compact), wires

    def _wires(
        self, name: str, data: bytes, start: int, end: int
    ) -> tuple[frozenset[str], list[TextMessage] | None] | None:
        """The wires that the messages could be for, each by itself; and the messages where that took reading all of
        them, and each is a role and a text. None where one of them is not in order."""
        before = self._grown.find(data, start, end)
        if before is None or before[0].name != name:
            messages = data[start:end]
            texts = _text_messages(messages)
            wires = _TEXT_WIRES if texts else self._wires_of_each(name, messages)
            return None if wires is None else (wires, texts)
        known, new = before
        if new == b"[]":
            return known.wires, None
        found = _TEXT_WIRES if _text_messages(new) else self._wires_of_each(name, new)
        return None if found is None else (known.wires | found, None)

    def _wires_of_each(self, name: str, messages: bytes) -> frozenset[str] | None:
        known = self._messages[name]
        wires = set()
        try:
            elements = _raw_elements(messages)
        except NOT_JSON:
            return None
        for element in map(bytes, elements):
            key = hash(element)
            wire = known.get(key)
            if wire is None:
                message = _plain(element)
                wire = None if message is _ODD else _wire(name, message)
                if wire is None:
                    return None
                known.put(key, wire)
            wires.add(wire)
        return frozenset(wires)


_TEXT_WIRES = frozenset({"openai-chat"})


def _text_messages(array: bytes) -> list[TextMessage] | None:
    """The messages in a JSON array, each a role and a text and both given once: fast to be read. None where there is
    anything else, or nothing."""
    try:
        messages = _decode_text_messages(array)
    except NOT_JSON:
        return None
    # With its name and text each member takes four quotes; all others are escaped ones in the texts, or those of a
    # member that is given twice. (`count` would take some times as long.)
    others = len(array) - len(array.replace(b'"', b"")) - 8 * len(messages)
    if others and (others != _quotes_in(messages) or b"\\u0022" in array):
        return None
    return messages or None


def _quotes_in(messages: list[TextMessage]) -> int:
    return sum([message.role.count('"') + message.content.count('"') for message in messages])


def _wire(name: str, message: Any) -> str | None:
    """The wire a message could be for, None where it is no message."""
    if isinstance(message, dict) and isinstance(message.get("role"), str) and isinstance(message.get("content"), str):
        return "openai-chat"
    if name != "input" and any(message_problems([message], "")):
        return None
    return guess_dialect({name: [message]}) or ""


def _joined(members: dict[str, msgspec.Raw], compact: bool) -> bytes:
    """An object as writers without or with white space write it."""
    comma, colon = (b",", b'":') if compact else (b", ", b'": ')
    return b"{" + comma.join(b'"' + name.encode() + colon + bytes(raw) for name, raw in members.items()) + b"}"


class _Odd(ValueError):
    """A text is JSON of which there is something to be said."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Odd
    return found


def _constant(name: str) -> float:
    raise _Odd


_decode_slowly = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_constant).decode


def _plain(data: bytes) -> Any:
    """The value of a JSON text, `_ODD` where there is anything to be said of it."""
    if _SPACE_BEHIND_A_NAME.search(data) is None:
        try:
            value = _decode(data)
        except NOT_JSON:
            return _plain_slowly(data)
        # Each name with the colon behind it is counted, so where there are no more than members, none is given twice.
        if data.count(b'":') == _count_members(value) and data.count(b"[") + data.count(b"{") < _DEEPEST_PIECE:
            return value
    return _plain_slowly(data)


_SPACE_BEHIND_A_NAME = lazy_pattern(rb'"[ \n\t\r]')


def _count_members(value: Any) -> int:
    members = 0
    values = [value]
    for one in values:
        if type(one) is dict:
            members += len(one)
            values += one.values()
        elif type(one) is list:
            values += one
    return members


_DIGITS = b"0123456789"
_STRING = lazy_pattern(rb'"[^"]*":?')


def _may_name_digits(data: bytes) -> bool:
    """Whether a name in a JSON text may have a digit in it; always where a name is not seen at a glance."""
    data = data.replace(_STAND_IN_JSON, b"0")
    if b"\\" in data or _SPACE_BEHIND_A_NAME.search(data) is not None:
        return True
    return any(string.endswith(b":") and string.translate(None, _DIGITS) != string for string in _STRING.findall(data))


def _plain_slowly(data: bytes) -> Any:
    try:
        text = data.decode("utf-8")
        value = _decode_slowly(text)
    except (ValueError, RecursionError):
        return _ODD
    return _ODD if is_too_deep(text, value, _DEEPEST_PIECE) else value
