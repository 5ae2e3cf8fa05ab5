"""A JSON text with its content hashed: structure, names and words of the wire, figures and white space stay as sent."""

from __future__ import annotations

import json
import re
from hashlib import blake2b

from hitrate.logs.hashed.chunks import MARK, NUMBER, written_signs
from hitrate.record.hashed_text import TextHasher
from hitrate.record.protocol_words import (
    ERRORS,
    IDS,
    KEPT,
    KEPT_OF_RESPONSES,
    NAME,
    PROTOCOL,
    SCHEMA_WORDS,
    Region,
    below,
)

_TOKEN = re.compile(
    r'"(?P<string>(?:[^"\\]|\\.)*)"(?P<colon>\s*:)?|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)'
    r"|(?P<number>-?\d[\d.eE+-]*)|(?P<word>true|false|null)|\s+|(?P<other>.)",
    re.DOTALL,
)
_WHOLE_NUMBERS = re.compile(r"\[\s*-?\d+\s*(?:,\s*-?\d+\s*)*\]")
_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=-]+)*,")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{256,}={0,2}")
_SHORTEST_DATA = 255
_LONGEST_CHAIN = 16
_MOST_REMEMBERED = 1 << 15
_IDS = range(100, 100_000)
_NOT_KEPT = "[not kept]"
"""Stands for what an upstream wrote of an error, which may quote the request."""


class _Level:
    __slots__ = ("is_list", "name", "region")

    def __init__(self, is_list: bool, region: Region, name: str) -> None:
        self.is_list = is_list
        self.region: Region = region
        self.name = name
        """Of the member that is being read; in a list, of the one that the list is the value of."""


class JsonHasher:
    """Hashes JSON texts with the key of a `TextHasher`."""

    def __init__(self, texts: TextHasher) -> None:
        self._texts = texts
        self._chain: dict[tuple[bytes, str], tuple[bytes, str, bool]] = {}

    def hashed(
        self, text: str, *, region: Region = "wire", name: str = "", depth: int = 0, is_response: bool = False,
        only_lengths: bool = False,
    ) -> str:  # fmt: skip
        """`text` is a JSON value that stands below a member `name` of a region, `depth` levels of objects down.

        `only_lengths`: of content nothing but the length is kept, as for the pieces of a stream, which are too short
        for a hash of them to hide anything. Text that is no JSON comes back as something that is none either.
        """
        walk = _Walk(self, is_response, only_lengths)
        return walk.of(text, _Level(True, region, name), depth)

    def ids(self, text: str) -> str:
        """A list of whole numbers as other ones, each hashed with those in front of it, 16 at most.

        Where these begin is decided by the numbers themselves, so that lists that meet again behind a difference do so
        here, too.
        """
        state, length = b"", 0
        found: list[str] = []
        for number in text.strip("[] \t\r\n").split(","):
            key = state, number
            known = self._chain.get(key)
            if known is None:
                known = self._digest(state, number.strip())
                if len(self._chain) < _MOST_REMEMBERED:
                    self._chain[key] = known
            after, substitute, ends = known
            found.append(substitute)
            length += 1
            if ends or length == _LONGEST_CHAIN:
                state, length = number.strip().encode(), 0
            else:
                state = after
        return f"[{','.join(found)}]"

    def _digest(self, state: bytes, number: str) -> tuple[bytes, str, bool]:
        digest = self._texts.digest(state + b"," + number.encode()).encode()
        alone = self._texts.digest(number.encode())
        value = int.from_bytes(blake2b(digest, digest_size=4).digest())
        return digest, str(_IDS[value % len(_IDS)]), alone[0] in "AIQYgow4"

    def string(self, raw: str, *, only_lengths: bool) -> str:
        """A string, as it stands in JSON without its quotes, in the same form."""
        text = raw if "\\" not in raw else json.loads(f'"{raw}"', strict=False)
        if not text:
            return text
        if only_lengths:
            return f"{MARK}l{len(text)};"
        return self.text(text)

    def text(self, text: str) -> str:
        if len(text) > _SHORTEST_DATA:
            head = _DATA_URL.match(text)
            front = "" if head is None else head[0]
            data = text[len(front) :]
            if front or _BASE64.fullmatch(data):
                kept = written_signs(";").join(f"k{part};" for part in front.split(";")) if front else ""
                return f"{MARK}{kept}b{len(data)}.{self._texts.digest(data.encode('utf-8', 'surrogatepass'))};"
        return self._texts.hashed(text)

    def number(self, written: str) -> str:
        return f'"{NUMBER}{self._texts.number(written)}"'


class _Walk:
    def __init__(self, hasher: JsonHasher, is_response: bool, only_lengths: bool) -> None:
        self._hasher = hasher
        self._kept = KEPT | KEPT_OF_RESPONSES if is_response else KEPT
        self._is_response = is_response
        self._only_lengths = only_lengths

    def of(self, text: str, level: _Level, depth: int) -> str:
        levels = [level]
        written: list[str] = []
        position = 0
        while position < len(text):
            token = _TOKEN.match(text, position)
            assert token is not None
            if token.lastgroup == "other" and token[0] != "\ufeff":  # no JSON from here on, or a string that is cut off
                written.append(f'"{MARK}l{len(text) - position};')
                break
            position = token.end()
            sort = token.lastgroup
            if sort == "string" or sort == "colon":
                written.append(self._string(token, levels[-1], depth))
            elif sort == "open":
                outer = levels[-1]
                if token[0] == "[" and (numbers := self._ids(text, token.start(), outer)) is not None:
                    written.append(self._hasher.ids(numbers))
                    position = token.start() + len(numbers)
                    continue
                region = outer.region if outer.is_list else below(outer.region, outer.name, depth)
                is_list = token[0] == "["
                levels.append(_Level(is_list, region, outer.name if is_list else ""))
                depth += not is_list
                written.append(token[0])
            elif sort == "close":
                if len(levels) > 1:
                    depth -= not levels.pop().is_list
                written.append(token[0])
            elif sort == "number" and self._region(levels[-1], depth) == "data":
                written.append(self._hasher.number(token[0]))
            else:
                written.append(token[0])
        return "".join(written)

    @staticmethod
    def _region(level: _Level, depth: int) -> Region:
        return level.region if level.is_list else below(level.region, level.name, depth)

    @staticmethod
    def _ids(text: str, start: int, level: _Level) -> str | None:
        """A list of token ids that begins here."""
        if level.name not in IDS or level.region not in ("wire", "data"):
            return None
        found = _WHOLE_NUMBERS.match(text, start)
        return None if found is None else found[0]

    def _string(self, token: re.Match[str], level: _Level, depth: int) -> str:
        raw, colon = token["string"], token["colon"]
        if colon is not None and not level.is_list:
            level.name = raw
            if level.region in ("wire", "kept", "schema") and NAME.fullmatch(raw):
                return token[0]
            return f'"{self._hasher.string(raw, only_lengths=False)}"{colon}'
        region = self._region(level, depth)
        if self._is_response and level.name in ERRORS and not level.is_list:
            return f'"{_NOT_KEPT}"'
        if self._is_kept(raw, region, level):
            return token[0]
        return f'"{self._hasher.string(raw, only_lengths=self._only_lengths)}"'

    def _is_kept(self, raw: str, region: Region, level: _Level) -> bool:
        name = level.name
        if region == "kept" or (region == "wire" and name in self._kept):
            return PROTOCOL.fullmatch(raw) is not None
        return region == "schema" and name in SCHEMA_WORDS and PROTOCOL.fullmatch(raw) is not None
