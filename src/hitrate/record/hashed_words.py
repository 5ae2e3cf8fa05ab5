"""Cuts a line into words and signs, and joins words to phrases: what is hashed as one."""

from __future__ import annotations

import re
from typing import NamedTuple

from hitrate.explain.causes.shapes import random_kind
from hitrate.logs.hashed.chunks import written_signs

BLANK = " \t\u00a0\u3000\u00ad\u200b\u200c\u200d\u2060\ufeff\u180e"
"""White space inside a line, and characters without width."""

_SIGNS = "\"'`<>()\\[\\]{},;|=:\\\\，。：；（）「」【】“”…、☐☑☒✅⬜✔✓❌🔲🔳⏳🔄│├└─•·"
PIECE = re.compile(
    rf"(?P<signs>(?:[{BLANK}\s{_SIGNS}])+)"
    rf"|(?P<run>[a-z]{{1,31}}(?: [a-z]{{1,31}})+(?=[{BLANK}\s{_SIGNS}]|[.!?](?:\s|\Z)|\Z))"
    rf"|(?P<word>[^{BLANK}\s{_SIGNS}]+)"
)
"""What stands between words; several small words, which are most of a text; and words of any kind."""

NOT_A_RUN = re.compile(r"[0-9a-f]{4,31}\b|.*\b(?:true|false|null)\b")
"""Small words that have to be looked at one by one, as a value or a word of JSON may be among them."""

WORD = re.compile(r"[^ ]+")

_ONLY_SIGNS = re.compile(r"[-*+#/~^&!?._%$@]+")
_START_SIGNS = re.compile(r"(?:\*+|__+|--+|/+|#+)")

_LONGEST = 64
"""Code points after which a text without punctuation is cut at the next word."""
_LONGEST_WORD = 96


class Word(NamedTuple):
    """`written` is its chunk, where that is known already."""

    start: int
    end: int
    written: str = ""


class Phrase:
    """Words that are hashed as one: small ones, names, or a sentence's first word and small ones."""

    __slots__ = ("end", "is_name", "opens", "start")

    def __init__(self, line: str, start: int, end: int) -> None:
        self.start, self.end = start, end
        self.is_name = _is_capital(line[start])
        before = start - 1
        while before >= 0 and line[before] in BLANK:
            before -= 1
        self.opens = before < 0 or not line[before].isalnum()

    def takes(self, line: str, word: Word) -> bool:
        if word.end - self.start > _LONGEST:
            return False
        if _is_capital(line[word.start]):
            return self.is_name
        if self.is_name and not self.opens:
            return False
        self.is_name = False
        return True

    def takes_of(self, line: str, start: int, end: int) -> int:
        """Small words with single spaces between: takes as many as fit, and gives where the rest starts."""
        if self.is_name and not self.opens:
            return start
        stop = end if end - self.start <= _LONGEST else line.rfind(" ", start, self.start + _LONGEST + 1)
        if stop < 0:
            return start
        self.end, self.is_name = stop, False
        return min(stop + 1, end)


def _is_capital(letter: str) -> bool:
    """Whether it is no small Latin letter: those of other scripts may begin a name."""
    return not "a" <= letter <= "z"


def words(line: str, start: int, end: int) -> list[Word]:
    """A word with the signs at its start and end apart; one of great length in pieces."""
    word = line[start:end]
    if word.isalnum() and len(word) <= _LONGEST_WORD:
        return [Word(start, end)]
    if _ONLY_SIGNS.fullmatch(word):
        return [Word(start, end, written_signs(word))]
    found = []
    if (front := _START_SIGNS.match(word)) is not None:
        found.append(Word(start, start + front.end(), written_signs(front[0])))
        start += front.end()
    stop = start + len(line[start:end].rstrip(".!?"))
    if stop - start > _LONGEST_WORD and random_kind(line[start:stop]) is None:
        found += [Word(at, min(at + _LONGEST, stop)) for at in range(start, stop, _LONGEST)]
    else:
        found.append(Word(start, stop))
    if stop < end:
        found.append(Word(stop, end, written_signs(line[stop:end])))
    return found
