"""How hashed text is written: a mark, and behind it one chunk after another.

    ~1:w37.Vb1cQ0m3_fPa.M;pE;m19.b.0kT9aLxW2c5n.1x2ab.1;

A chunk is a letter, fields with points between, and a semicolon. Nothing in it needs to be escaped in JSON. Chunks of
one text stand behind each other, and so do those of texts that were joined later, each with its mark.

    p  punctuation and white space, as codes with counts
    k  words of a protocol, as they are: the marks of chat templates and the like
    w  text that begins with a small letter; W with a capital letter or one of another script: length, hash, cues,
       form, blanks, accents
    g  the name of a tag: length, hash, cues
    n  digits: length, and a hash or, up to three digits, other digits
    s  one or two small letters: other ones
    i  a value made up at random: length, hash, kind
    m  a time or a date: length, class, hash, and its value where that is the present
    b  data, as of an image: length, hash, what stands in front of it
    l  text of which only the length is known

`w` and `W` hash the letters alone: without blanks, in one Unicode form and in small letters. What tells apart texts
with the same letters is the form. Cues say which words that causes are told by are in a text: see `cues`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hitrate.core.lazy_pattern import lazy_pattern

MARK = "~1:"
"""Opens hashed text; `NUMBER` a number, which stood in the JSON without quotes."""

NUMBER = "~1#:"

IN_JSON = lazy_pattern(rb'"~1(#?):([^"\\]*)"')
"""Hashed values in a JSON text: what kind of value, and the chunks."""

IN_TEXT = lazy_pattern(r"~1:((?:[A-Za-z][^;~]*;)*)")

CHUNK = lazy_pattern(r"([A-Za-z])([^;]*);")

_SIGNS = " \n\t\r\"'`<>()[]{},;|=:.!?-_*+#/\\~^&%$@"
_CODES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkl"
_CODE_OF = dict(zip(_SIGNS, _CODES, strict=False))
_SIGN_OF = dict(zip(_CODES, _SIGNS, strict=False))
_SIGN = lazy_pattern(r"(?:z([0-9a-f]+)\.|([A-Za-l]))(?:(\d+))?")
_RUN = lazy_pattern(r"(.)\1*", re.DOTALL)

ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


@lru_cache(maxsize=2048)
def written_signs(text: str) -> str:
    """A chunk of punctuation and white space."""
    codes = []
    for run in _RUN.finditer(text):
        sign = run[1]
        code = _CODE_OF.get(sign) or f"z{ord(sign):x}."
        count = run.end() - run.start()
        codes.append(code if count == 1 else f"{code}{count}")
    return f"p{''.join(codes)};"


def read_signs(codes: str) -> str:
    return "".join(
        (chr(int(match[1], 16)) if match[1] else _SIGN_OF[match[2]]) * int(match[3] or 1)
        for match in _SIGN.finditer(codes)
    )


def base36(value: int) -> str:
    """Of a number that is not negative."""
    digits = ""
    while True:
        value, digit = divmod(value, 36)
        digits = ALPHABET[digit] + digits
        if not value:
            return digits
