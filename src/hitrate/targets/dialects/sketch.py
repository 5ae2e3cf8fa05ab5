"""Requests as sketches: hashes and lengths of their parts, and the settings beside them.

A log of agents sends the same parts again and again, so what was found of a part is remembered by its bytes, and only
parts that are new are read. The slow way, `sketch_of_body`, reads the whole body and gives the same.

The fast way cuts a body in two: the list of messages, and the frame around it with a stand-in message in their place.
Each message is read alone, behind the same stand-in. That the cut is right is proven by the frame: it has the stand-in
as its only message.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from hitrate.core import spans
from hitrate.core.grown import Grown
from hitrate.core.growth import AllTexts, TextMessage
from hitrate.core.layout import Layouts
from hitrate.core.prompt import CanonicalPrompt, Part, Sketch
from hitrate.core.recent import Recent
from hitrate.core.wires import RENDERED, wire_named
from hitrate.targets.dialects import dialect as dialect_named
from hitrate.targets.dialects.decoded_node import DecodedNode, prompt_reader
from hitrate.targets.dialects.prompt_builder import AFFINITY_KNOBS
from hitrate.targets.dialects.prompt_parts import parts_of, segments_of_parts, text_part, with_marks
from hitrate.targets.dialects.rendered_parts import rendered_parts, rendered_pieces
from hitrate.targets.dialects.settings import NEUTRAL, header_settings, settings_of
from hitrate.targets.dialects.sketch_pieces import Element, Frame, Request, joined, without_marks
from hitrate.targets.dialects.text_parts import TextParts
from hitrate.targets.stray_marks import spells_mark, stray_marks

REMEMBERED = 1 << 14
"""Parts that are kept in mind at least, and half the number that are at most: some 13 MB."""

_FRAMES = 128
"""Frames kept in mind, as they stand."""

_TEXT = "stands for the messages"

_MESSAGES = {
    "openai-chat": ("messages", {"role": "user", "content": _TEXT}),
    "openai-responses": ("input", {"role": "user", "content": _TEXT}),
    "anthropic-messages": ("messages", {"role": "user", "content": _TEXT}),
    "gemini-generate": ("contents", {"parts": [{"text": _TEXT}]}),
    "bedrock-converse": ("messages", {"content": [{"text": _TEXT}]}),
}
"""Where a wire's messages stand, and the stand-in for them."""

_FRAME_MEMBERS = {
    "openai-chat": (("tools",), ()),
    "openai-responses": (("tools",), ("instructions",)),
    "anthropic-messages": (("tools",), ("system",)),
    "gemini-generate": (("tools",), ("systemInstruction",)),
}
"""Large members of the frame that are remembered by themselves, because a frame can have an id of its own each time:
those rendered before all else, and those rendered last before the messages. Not on Converse, where a cache point
marks what stands in the member before it."""

_sha256 = hashlib.sha256

_SAYS_NOTHING = NEUTRAL.difference(AFFINITY_KNOBS)

_raw_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_raw_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_NOT_FAST = (msgspec.DecodeError, ValueError, RecursionError)


_plain = msgspec.json.Decoder(TextMessage).decode
_plain_messages = msgspec.json.Decoder(list[TextMessage]).decode


class Sketcher:
    """Makes sketches of the requests of a log. Remembers parts, so use one for a whole log; memory is bounded."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._readers: dict[str, _WireSketcher] = {}

    def sketch(self, body: bytes, dialect: str, headers: Mapping[str, str] | None = None) -> Sketch:
        """The sketch of a request. `headers` are those of a `Call`, names in lower case.

        ValueError, one line, where the wire's own reader cannot read the body; UsageError for an unknown wire.
        """
        found = self._reader(dialect).sketch(body)
        return _with_headers(found, headers) if headers else found

    def sketch_of_texts(self, body: bytes, dialect: str, shown: AllTexts) -> Sketch | None:
        """The same for a request without headers of whose messages is known what they are; None where it has to be
        looked at."""
        return self._reader(dialect).sketch_of_texts(body, shown)

    def further_parts(self, messages: Sequence[TextMessage], dialect: str) -> tuple[Part, ...] | None:
        """The parts that these messages add to a request without cache markers; None where that is not certain."""
        reader = self._reader(dialect)
        return reader.parts_of_texts(messages) if reader.has_list else None

    def _reader(self, dialect: str) -> _WireSketcher:
        reader = self._readers.get(dialect)
        if reader is None:
            name = wire_named(dialect)
            reader = self._readers.get(name) or _WireSketcher(name, self._remembered)
            self._readers[dialect] = self._readers[name] = reader
        return reader


def sketch_of_body(body: bytes, dialect: str, headers: Mapping[str, str] | None = None) -> Sketch:
    """The same as `Sketcher.sketch`, by reading the whole body."""
    name = wire_named(dialect)
    try:
        prompt = dialect_named(name).canonical(body)
        value = spans.parse(spans.decode_text(body)).value
        found = sketch_of(prompt, name, value)
    except RecursionError:
        raise ValueError("the request body is nested too deeply to be read") from None
    if spells_mark(body) and (stray := stray_marks(body, name)):
        found = replace(found, stray_marks=stray)
    return _with_headers(found, headers) if headers else found


def sketch_of(prompt: CanonicalPrompt, dialect: str, body: Mapping[str, Any]) -> Sketch:
    """The sketch of a prompt that was read from `body`, which is given decoded."""
    parts = rendered_parts(prompt) if dialect == "llamacpp-completion" else parts_of(prompt)
    return Sketch(parts, *settings_of(body, dialect), prompt.affinity)


def texts_of_parts(prompt: CanonicalPrompt, dialect: str) -> list[str]:
    """The text of each part of the prompt's sketch."""
    if wire_named(dialect) == RENDERED:
        return [text for _, text in rendered_pieces(prompt)]
    return ["".join(segment.text for segment in segments) for segments in segments_of_parts(prompt)]


def _with_headers(found: Sketch, headers: Mapping[str, str]) -> Sketch:
    more = header_settings(headers)
    return replace(found, key=(*found.key, *more)) if more else found


class _WireSketcher:
    """The sketches of one wire."""

    def __init__(self, name: str, remembered: int) -> None:
        self._name = name
        self._layouts = Layouts()
        self._elements: Recent[bytes, Element] = Recent(remembered)
        self._frames: Recent[bytes, Frame] = Recent(_FRAMES)
        self._grown: Grown[Request] = Grown()
        self._list, stand_in = _MESSAGES.get(name, ("", {}))
        self.has_list = self._list != ""
        self._stand_in = msgspec.json.encode(stand_in)
        self._opening = b'{"' + self._list.encode() + b'":['
        self._text_parts = TextParts(self._kind_of)
        self.parts_of_texts = self._text_parts.parts_of
        self._marks_look_back = name == "bedrock-converse"
        if self._list:
            self._prompt_of = prompt_reader(name)
            self._stand_in_part = parts_of(self._prompt(self._opening + self._stand_in + b"]}"))[0]

    def sketch(self, body: bytes) -> Sketch:
        if self._list:
            if (gone_on := self._gone_on(body)) is not None:
                return gone_on
            for start, end in self._layouts.guess(body):
                found = self._fast(body, start, end)
                if found is not None:
                    return found
            place = self._learn(body)
            if place is not None and (found := self._fast(body, *place)) is not None:
                return found
        return sketch_of_body(body, self._name)

    def _prompt(self, body: bytes) -> CanonicalPrompt:
        """As the wire's `canonical`, without the places in the body. ValueError where it is not JSON in UTF-8."""
        return self._prompt_of(DecodedNode("", json.loads(body.decode("utf-8"))))

    def _learn(self, body: bytes) -> tuple[int, int] | None:
        try:
            messages = _raw_members(body).get(self._list)
        except _NOT_FAST:
            return None
        return None if messages is None else self._layouts.learn(body, self._list, bytes(messages))

    def _gone_on(self, body: bytes) -> Sketch | None:
        """The sketch of a body that is an earlier one with further messages, or none, and without markers."""
        found = self._grown.find_whole(body)
        if found is None or found[0].marked is not None:
            return None
        (sketch, head, _), new = found
        if new == b"[]":
            return sketch
        parts = self._texts(new)
        if parts is None:
            try:
                elements = self._elements_of(_raw_elements(new))
            except _NOT_FAST:
                return None
            if any(element.leading or element.spells_mark for element in elements):
                return None
            parts = tuple(part for element in elements for part in element.parts)
        sketch = Sketch(sketch.parts + parts, sketch.key, sketch.others, sketch.affinity)
        self._grown.go_on(body, Request(sketch, head, None))
        return sketch

    def sketch_of_texts(self, body: bytes, shown: AllTexts) -> Sketch | None:
        """The sketch of a body of whose messages is known what they are; None where it has to be looked at."""
        frame = self._frame_around(body, shown.start, shown.end) if self._list else None
        parts = None if frame is None else self.parts_of_texts(shown.texts)
        return None if frame is None or parts is None else self._joined(body, frame, Element(parts))

    def _fast(self, body: bytes, start: int, end: int) -> Sketch | None:
        """The sketch of a body whose messages seem to stand at `body[start:end]`; None where that is not proven."""
        try:
            frame = self._frame_around(body, start, end)
            messages = None if frame is None else self._conversation(body, start, end)
        except _NOT_FAST:
            return None
        if frame is None or messages is None:
            return None
        sketch = self._joined(body, frame, messages)
        may_mark = frame.spells_mark or messages.spells_mark
        marked = messages if may_mark or messages.leading or frame.trailing else None
        self._grown.keep(body, start, end, Request(sketch, len(frame.parts), marked))
        return sketch

    def _frame_around(self, body: bytes, start: int, end: int) -> Frame | None:
        framed = body[:start] + b"[" + self._stand_in + b"]" + body[end:]
        frame = self._frames.get(framed)
        if frame is None:
            try:
                frame = self._frame(framed)
            except _NOT_FAST:
                return None
            if frame is not None:
                frame = frame._replace(spells_mark=spells_mark(framed))
                self._frames.put(framed, frame)
        return frame

    def _joined(self, body: bytes, frame: Frame, messages: Element) -> Sketch:
        parts = frame.parts + messages.parts
        if messages.leading and frame.parts:
            parts = (*frame.parts[:-1], with_marks(frame.parts[-1], messages.leading), *messages.parts)
        if frame.trailing:
            parts = (*parts[:-1], with_marks(parts[-1], frame.trailing))
        stray = stray_marks(body, self._name) if frame.spells_mark or messages.spells_mark else ()
        return Sketch(parts, frame.key, frame.others, frame.affinity, stray)

    def _conversation(self, body: bytes, start: int, end: int) -> Element | None:
        """All messages as if they were one; None where there is none."""
        before = self._grown.find(body, start, end)
        if before is None:
            elements = self._elements_of(_raw_elements(memoryview(body)[start:end]))
            found = joined(elements) if elements else None
        else:
            known, new = before[0].messages, before[1]
            if new == b"[]":
                return known
            texts = self._texts(new)
            if texts is None:
                found = joined([known, *self._elements_of(_raw_elements(new))])
            else:
                found = Element(known.parts + texts, known.leading, known.spells_mark)
        return found

    def _texts(self, messages: bytes) -> tuple[Part, ...] | None:
        """Messages that are each a role and a text; None where one is more than that."""
        try:
            return self.parts_of_texts(_plain_messages(messages))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _elements_of(self, raws: list[msgspec.Raw]) -> list[Element]:
        get = self._elements.get
        digests = [_sha256(raw).digest() for raw in raws]
        found = [get(digest) for digest in digests]
        unknown = [index for index, one in enumerate(found) if one is None]
        for index, element in zip(unknown, self._read([bytes(raws[index]) for index in unknown]), strict=True):
            self._elements.put(digests[index], element)
            found[index] = element
            if (
                element.spells_mark
                and element.parts[0].marks
                and (bare := without_marks(bytes(raws[index]), element.parts)) is not None
            ):
                self._elements.put(_sha256(bare[0]).digest(), bare[1])
        return found  # type: ignore[return-value]

    def _read(self, messages: list[bytes]) -> list[Element]:
        """What is in messages that were not seen lately."""
        if not messages:
            return []
        if self._marks_look_back:
            return [self._read_alone(one) for one in messages]
        found = [self._read_plain(one) for one in messages]
        others = [message for message, one in zip(messages, found, strict=True) if one is None]
        if others:
            together = self._prompt(self._opening + b",".join(others) + b"]}")
            read = iter(parts_of(together))
            found = [one or next(read) for one in found]
        return [
            Element((one,), spells_mark=spells_mark(message))
            for message, one in zip(messages, found, strict=True)
            if one is not None
        ]

    def _read_plain(self, message: bytes) -> Part | None:
        try:
            plain = _plain(message)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        kind = self._text_parts.kind_of(plain.role)
        return None if kind is None else text_part(kind, plain.content)

    def _kind_of(self, role: str) -> str | None:
        """Of the part that a message of this role and a text is, asked of the wire with another text."""
        sample = msgspec.json.encode({"role": role, "content": _TEXT})
        segments = () if self._marks_look_back else self._prompt(self._opening + sample + b"]}").segments
        return segments[0].kind if len(segments) == 1 and segments[0].text == _TEXT else None

    def _read_alone(self, message: bytes) -> Element:
        """Behind a stand-in, which takes the markers that stand in front of all text."""
        stand_in, *parts = parts_of(self._prompt(self._opening + self._stand_in + b"," + message + b"]}"))
        return Element(tuple(parts), tuple(ttl for _, ttl in stand_in.marks), spells_mark(message))

    def _frame(self, body: bytes) -> Frame | None:
        """What a body with a stand-in for its messages says, None where the stand-in is not all there is of them.

        Without what can differ from call to call and says nothing, and without large members, it is often a known one.
        """
        members = {name: raw for name, raw in _raw_members(body).items() if name not in _SAYS_NOTHING}
        before, after = _FRAME_MEMBERS.get(self._name, ((), ()))
        first = tuple(one for name in before for one in self._member(name, members.pop(name, None)))
        last = tuple(one for name in after for one in self._member(name, members.pop(name, None)))
        small = b"{" + b",".join(msgspec.json.encode(name) + b":" + bytes(raw) for name, raw in members.items()) + b"}"
        frame = self._frames.get(small)
        if frame is None:
            frame = self._small_frame(small)
            if frame is None:
                return None
            self._frames.put(small, frame)
        if (first or last) and any(one.kind not in ("schema", "tools") for one in frame.parts):
            return None  # system text in another spelling, whose place between the others is the wire's affair
        return frame._replace(parts=(*first, *frame.parts, *last))

    def _small_frame(self, body: bytes) -> Frame | None:
        value = json.loads(body.decode("utf-8"))
        prompt = self._prompt_of(DecodedNode("", value))
        parts = parts_of(prompt)
        messages = [one for one in prompt.segments if one.pointer.startswith(f"/{self._list}/")]
        if not parts or len(messages) != 1 or parts[-1].digest != self._stand_in_part.digest:
            return None
        trailing = tuple(ttl for _, ttl in parts[-1].marks)
        return Frame(parts[:-1], trailing, *settings_of(value, self._name), prompt.affinity, spells_mark(body))

    def _member(self, name: str, raw: msgspec.Raw | None) -> tuple[Part, ...]:
        if raw is None:
            return ()
        alone = b'{"' + name.encode() + b'":' + bytes(raw) + b"," + self._opening[1:] + self._stand_in + b"]}"
        digest = _sha256(alone).digest()
        found = self._elements.get(digest)
        if found is None:
            found = Element(parts_of(self._prompt(alone))[:-1])
            self._elements.put(digest, found)
        return found.parts
