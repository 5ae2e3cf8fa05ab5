"""Cuts a text into chunks and hashes them: at line breaks, punctuation, names, numbers, ids, times and dates.

Cuts depend on the text beside them alone, so that what is put in or taken out changes the chunks there and no others.
What a chunk is told by, beside its hash, is what `explain` tells causes by: that it is a time, an id, a number, or that
words of a certain kind are in it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

from hitrate.logs.hashed.chunks import MARK, written_signs
from hitrate.logs.hashed.cues import cues_in
from hitrate.record.hashed_spans import cues_that_matter, kept_words
from hitrate.record.hashed_values import ValueHasher
from hitrate.record.hashed_words import BLANK, NOT_A_RUN, PIECE, WORD, Phrase, Word, words

_BLANK_CODES = {" ": "s", "\t": "t", "\u00a0": "n", "\u3000": "i"}
_NO_BLANKS = dict.fromkeys(map(ord, BLANK))
_NAMES_A_VALUE = ("=", ":", "#")
_BREAK = ("pB;",)

_LONGEST = 1 << 17
"""Code points of a text of which every word is looked at."""
_LONGEST_LINE = 256


class _Cut:
    """The chunks of a piece of a line as it is gone through; `chunk` makes that of a phrase."""

    def __init__(self, line: str, end: int, chunk: Callable[[int, int, str], str]) -> None:
        self._line = line
        self._end = end
        self._chunk = chunk
        self._written: list[str] = []
        self._phrase: Phrase | None = None
        self._last: tuple[int, Phrase] | None = None
        """Where the chunk of the last phrase stands, and the phrase."""

    def add_signs(self, start: int, signs: str) -> None:
        """Blanks inside a phrase, or behind its end, are written with it."""
        if self._phrase is None or signs.strip(BLANK):
            self._close(start)
            self._written.append(written_signs(signs))

    def add_word(self, word: Word, alone: str) -> None:
        """`alone` is its chunk where it is one by itself."""
        if not alone and self._phrase is not None and self._phrase.takes(self._line, word):
            self._phrase.end = word.end
            return
        self._close(word.start)
        if alone:
            self._written.append(alone)
        else:
            self._phrase = Phrase(self._line, word.start, word.end)

    def add_run(self, start: int, end: int) -> None:
        """Small words with single spaces between."""
        while start < end:
            if self._phrase is not None and (rest := self._phrase.takes_of(self._line, start, end)) > start:
                start = rest
                continue
            self._close(start)
            stop = self._line.find(" ", start, end)
            self._phrase = Phrase(self._line, start, end if stop < 0 else stop)
            start = end if stop < 0 else stop + 1

    def finished(self, named_by: str) -> list[str]:
        self._close(self._end)
        if named_by and self._last is not None:
            index, phrase = self._last
            self._written[index] = self._chunk(phrase.start, phrase.end, named_by)
        return self._written

    def _close(self, behind: int) -> None:
        phrase, self._phrase = self._phrase, None
        if phrase is None:
            return
        self._last = len(self._written), phrase
        self._written.append(self._chunk(phrase.start, phrase.end, ""))
        if phrase.end < behind:
            self._written.append(written_signs(self._line[phrase.end : behind]))


class TextHasher:
    """Hashes texts with one key; see `ValueHasher` for what `since` decides."""

    def __init__(self, key: bytes, since: float) -> None:
        self._values = ValueHasher(key, since)
        self.digest = self._values.digest
        self.number = self._values.number

    def hashed(self, text: str) -> str:
        """The text as chunks; "" stays ""."""
        if not text:
            return ""
        if len(text) > _LONGEST:
            return self._by_lines(text)
        written: list[str] = [MARK]
        position = 0
        for line in text.split("\n"):
            for chunk in (*_BREAK[: bool(position)], *self._line(line, position, len(text))):
                if chunk[0] == "p" == written[-1][0] and written[-1].count(";") == 1:
                    chunk = written.pop()[:-1] + chunk[1:]
                written.append(chunk)
            position += len(line) + 1
        return "".join(written)

    def _by_lines(self, text: str) -> str:
        """A very long text, each line of it a chunk or some: to look at each word would take seconds."""
        written = [MARK]
        for line in text.splitlines(keepends=True):
            bare = line.rstrip("\r\n")
            for start in range(0, len(bare), _LONGEST_LINE):
                piece = bare[start : start + _LONGEST_LINE]
                written.append(f"w{len(piece)}.{self._values.hash(piece)};")
            if len(bare) < len(line):
                written.append(written_signs(line[len(bare) :]))
        return "".join(written)

    def _line(self, line: str, position: int, length: int) -> Iterator[str]:
        if not line:
            return
        found = sorted(
            [*kept_words(line, self._tag, self._name, self._code), *self._values.moments(line)],
            key=lambda one: (one.start, -one.end),
        )
        start = 0
        for span in found:
            if span.start >= start:
                yield from self._plain(line, start, span.start, position, length, named_by="M" if span.is_clock else "")
                yield span.written
                start = span.end
        yield from self._plain(line, start, len(line), position, length)

    def _plain(self, line: str, start: int, end: int, position: int, length: int, named_by: str = "") -> list[str]:
        """The chunks of a piece of a line: phrases, and between them signs and words that are chunks by themselves.

        `named_by` is a cue that the last phrase gets in any case.
        """
        cut = _Cut(line, end, lambda at, stop, more: self._chunk(line, at, stop, position, length, more))
        for piece in PIECE.finditer(line, start, end):
            sort, (at, stop) = piece.lastgroup, piece.span()
            if sort == "run" and NOT_A_RUN.match(line, at, stop) is None:
                cut.add_run(at, stop)
            elif sort == "signs":
                cut.add_signs(at, piece[0])
            else:
                found = [Word(*one.span()) for one in WORD.finditer(line, at, stop)]
                for word in found if sort == "run" else words(line, at, stop):
                    cut.add_word(
                        word, word.written or self._values.alone(line, word.start, line[word.start : word.end])
                    )
        return cut.finished(named_by)

    def _chunk(self, line: str, start: int, end: int, position: int, length: int, more: str = "") -> str:
        text = line[start:end]
        first = text[0]
        kind = "w" if "a" <= first <= "z" else "W"
        if kind == "w" and not more and len(text) <= 2 and text.isascii() and text.isalpha() and text.islower():
            cues = cues_in(text, "I") if line[end : end + 1] in _NAMES_A_VALUE else ""
            if not cues:
                return f"s{self._values.substitute('a' * len(text), text)};"
        else:
            asked = cues_that_matter(line, start, end, position, length)
            cues = more + cues_in(text, asked.replace(more, "") if more else asked)
        return self._letters(kind, text, cues)

    def _letters(self, kind: str, text: str, cues: str) -> str:
        composed = text if text.isascii() else unicodedata.normalize("NFC", text)
        bare = composed.translate(_NO_BLANKS) if composed.isascii() else "".join(composed.translate(_NO_BLANKS).split())
        folded = bare.lower() if bare.isascii() else bare.casefold()
        accents = blanks = form = ""
        if not text.isascii():
            decomposed = unicodedata.normalize("NFD", text)
            more = len(decomposed) - len(composed)
            if 0 < more <= 2 * len(bare) and text in (composed, decomposed):
                accents = f"{more}{'c' if text == composed else 'd'}"
        between = [one for one in text if one in BLANK]
        if between:
            single = all(one == " " for one in between) and "  " not in text
            blanks = str(len(between)) if single else "".join(_BLANK_CODES.get(one, "z") for one in between)
        is_form = folded != bare or (blanks and not blanks.isdecimal()) or (text != composed and not accents)
        if is_form:
            form = self._values.hash(composed if accents else text)[:6]
        fields = [f"{kind}{len(text)}", self._values.hash(folded), cues, form, blanks, accents]
        while not fields[-1]:
            fields.pop()
        return ".".join(fields) + ";"

    def _code(self, code: str) -> str:
        """Four hexadecimal digits, as those of a character."""
        return f"i4.{self._values.hash(code)}.x;"

    def _name(self, name: str) -> str:
        """Of a header; without cues, which would be words of their own."""
        return f"w{len(name)}.{self._values.hash(name)};"

    def _tag(self, name: str) -> str:
        return f"g{len(name)}.{self._values.hash(name)}.{cues_in(name.replace('_', ' ').replace('-', ' '), 'SR')};"
