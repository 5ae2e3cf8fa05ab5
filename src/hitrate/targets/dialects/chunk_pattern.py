"""The chunks of a stream are alike but for their text: once one is decoded, the text of the next can be read alone.

JSON makes this safe. If `before + one string + after` is an object with that string as its text, then so it is with
any other string in its place, and nothing else in it changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from hitrate.core.model import StreamEvent
from hitrate.targets.dialects.openai_chunks import Chunk, first_choice, parse_chunk

_CONTENT = re.compile(rb'"content":\s*("[^"\\]*(?:\\.[^"\\]*)*")')
_PROBE = "the text of this chunk"
_PROBE_LITERAL = msgspec.json.encode(_PROBE)
_REPEATABLE = ("content", "role")

MAX_UNUSED = 3
"""Patterns in a row that fitted no further chunk before a stream is taken for one whose chunks all differ."""

_decode_string = msgspec.json.Decoder(str).decode
_decode_strings = msgspec.json.Decoder(list[str]).decode


class ChunkPattern:
    """`learn` from every chunk that was decoded; `texts` reads those that follow it and differ in text alone."""

    def __init__(self) -> None:
        self._before: bytes | None = None
        self._after = b""
        self._unused = 0

    def texts(self, events: Sequence[StreamEvent], start: int) -> list[str]:
        """The `delta.content` of every event from `start` up to the first that is not like the chunk learnt last."""
        before, after = self._before, self._after
        if before is None:
            return []
        text_start, text_end = len(before), -len(after)
        between = after + b"\n" + before
        literals: list[bytes] = []
        look_at = 8  # events together, twice as many the next time
        while start < len(events):
            data = [event.data for event in events[start : start + look_at]]
            found_there = [one[text_start:text_end] for one in data]
            if before + between.join(found_there) + after != b"\n".join(data):
                for one, literal in zip(data, found_there, strict=True):
                    if before + literal + after != one:
                        break
                    literals.append(literal)
                break
            literals += found_there
            start += look_at
            look_at *= 2
        found = _strings(literals)
        if found:
            self._unused = 0
        return found

    def learn(self, data: bytes, chunk: Chunk) -> None:
        """`chunk` is `data` decoded. One that brings more than text leaves no pattern, since what it brings adds up."""
        self._before = None
        text = _only_text(chunk)
        if not text or text == _PROBE or self._unused >= MAX_UNUSED:
            return
        found = _CONTENT.search(data)
        if found is None:
            return
        self._unused += 1
        before, after = data[: found.start(1)], data[found.end(1) :]
        try:
            choice = first_choice(parse_chunk(before + _PROBE_LITERAL + after))
        except ValueError:
            return
        if choice is not None and choice.delta is not None and choice.delta.get("content") == _PROBE:
            self._before, self._after = before, after  # else the member found belongs to another object


def _strings(literals: list[bytes]) -> list[str]:
    """The strings that these spell, up to the first that spells none.

    Decoded together, as elements of an array. A line feed, which no string of JSON holds, keeps each of them to itself:
    so many strings as literals means one each.
    """
    try:
        found = _decode_strings(b"[" + b",\n".join(literals) + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = []
    if len(found) == len(literals):
        return found
    found = []
    for literal in literals:
        try:
            found.append(_decode_string(literal))
        except (msgspec.DecodeError, UnicodeDecodeError):
            break
    return found


def _only_text(chunk: Chunk) -> str | None:
    """The text of a chunk that, taken once more, would add its text and nothing else: no ids, no calls, no error."""
    choice = first_choice(chunk)
    if choice is None or choice.delta is None or choice.logprobs or choice.token_ids:
        return None
    if chunk.error or chunk.tokens or chunk.verbose:
        return None
    for name, value in choice.delta.items():
        if value and name not in _REPEATABLE:
            return None
    text = choice.delta.get("content")
    return text if isinstance(text, str) else None
