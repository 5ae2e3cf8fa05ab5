"""Reads hashed text: every chunk becomes text of its length and kind, the same for the same chunk.

So whatever reads prompts works on it unchanged. Two chunks that differ differ in what stands for them; nothing of it
is a word that was sent.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from hashlib import shake_128
from typing import Any

from msgspec.structs import asdict, replace

from hitrate.core.model import Call
from hitrate.core.spans import decode_text
from hitrate.logs.hashed.chunks import CHUNK, IN_JSON, IN_TEXT, read_signs
from hitrate.logs.hashed.cues import words_for
from hitrate.logs.hashed.moments import DAY_S, moment_of_length

_LETTERS = "bdfgjkmnpqvwxz"
"""Without vowels, so that no word of any list comes about."""
_FEW = "".join(chr(code) for code in range(0x17000, 0x17100))
"""Of a large script: for so few letters that those above would often be the same ones."""
_FEWEST = 4

_SHOWS_FORM = 16
"""Letters of which some can be capital ones without two forms looking alike; of fewer, others stand for each form."""

_TO_LETTERS = bytes(ord(_LETTERS[value % len(_LETTERS)]) for value in range(256))
_TO_DIGITS = bytes(ord("0") + value % 10 for value in range(256))
_TO_HEX = bytes(ord("0123456789abcdef"[value % 16]) for value in range(256))
_TO_BASE64 = bytes(
    ord("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[value % 64]) for value in range(256)
)
_BLANKS = {"s": " ", "t": "\t", "n": "\u00a0", "z": "\u200b", "i": "\u3000"}
_ONE_ACCENT, _TWO_ACCENTS = "ńźǧḿẃẍ", "ṝḹṩ"

_LONGEST_REMEMBERED = 1 << 14


def expand_body(body: bytes) -> bytes:
    """A JSON text with what stands for its hashed values; all other bytes as they are."""
    return IN_JSON.sub(_expand_value, body) if b'"~1' in body else body


def expand_text(text: str) -> str:
    """A decoded string with what stands for the hashed text in it."""
    return IN_TEXT.sub(lambda match: _text_again(match[1]), text) if "~1:" in text else text


def expand_call(call: Call) -> Call:
    """A call as `explain` and the others read it. One that was kept with its content comes back as it is."""
    reply = call.reply
    return replace(
        call,
        body=expand_body(call.body),
        session=expand_text(call.session),
        headers={name: expand_text(value) for name, value in call.headers.items()},
        response_headers={name: expand_text(value) for name, value in call.response_headers.items()},
        reply=None
        if reply is None
        else replace(
            reply, **{name: _expand_any(value) for name, value in asdict(reply).items() if name in _REPLY_TEXTS}
        ),
    )


_REPLY_TEXTS = frozenset({"message", "text", "reasoning", "tool_calls"})


def _expand_any(value: Any) -> Any:
    if isinstance(value, str):
        return expand_text(value)
    if isinstance(value, dict):
        return {expand_text(name): _expand_any(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_expand_any(one) for one in value)
    return value


def _expand_value(match: re.Match[bytes]) -> bytes:
    kind, chunks = match[1], decode_text(match[2])
    if kind == b"#":
        return _text_again(chunks).encode()
    # Chunks of text that was joined have marks between.
    text = expand_text("~1:" + chunks)
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _text_again(chunks: str) -> str:
    return (_text if len(chunks) > _LONGEST_REMEMBERED else _remembered)(chunks)


def _text(chunks: str) -> str:
    return "".join([_chunk(kind, fields) for kind, fields in CHUNK.findall(chunks)])


_remembered = lru_cache(maxsize=4096)(_text)


def _chunk(kind: str, written: str) -> str:
    if kind == "p":
        return read_signs(written)
    if kind in "ks":
        return written
    fields = written.split(".")
    length = int(fields[0])
    if kind in "wW":
        return _words(kind == "W", length, *fields[1:])
    if kind == "n":
        return fields[1] if length <= 3 else _digits(fields[1], length)
    if kind == "g":
        return _tag(length, *fields[1:])
    if kind == "i":
        return _made_up(length, fields[1], fields[2])
    if kind == "m":
        return _moment(length, *fields[1:])
    if kind == "b":
        return ".".join(fields[2:]) + _stream(fields[1], length, _TO_BASE64)
    return _stream("length", length, _TO_LETTERS)


def _stream(seed: str, length: int, table: bytes) -> str:
    return shake_128(seed.encode()).digest(length).translate(table).decode()


def _words(
    capital: bool, length: int, seed: str, cues: str = "", form: str = "", blanks: str = "", accents: str = ""
) -> str:
    """`blanks` is a count of single spaces between words, or one letter for each blank of any kind."""
    tail = words_for(cues, length - 2) if cues else ""
    if tail:
        room = length - len(tail) - 1
        return _letters(capital, room, seed + form) + " " + tail
    between = " " * int(blanks or 0) if not blanks or blanks.isdecimal() else "".join(map(_BLANKS.__getitem__, blanks))
    accented, composed = (int(accents[:-1]), accents[-1] == "c") if accents else (0, True)
    count = length - len(between) - (0 if composed else accented)
    shows_form = count >= _SHOWS_FORM
    letters = _letters(capital, count, seed if shows_form else seed + form)
    if accented:
        letters = _with_accents(letters, accented)
    if form and shows_form:
        letters = _in_form(letters, form)
    if between:
        letters = _spaced(letters, between, "" if blanks.isdecimal() else form)
    return letters if composed else unicodedata.normalize("NFD", letters)


def _letters(capital: bool, count: int, seed: str) -> str:
    if count <= _FEWEST and capital:
        return "".join(_FEW[value] for value in shake_128(seed.encode()).digest(count))
    found = _stream(seed, count, _TO_LETTERS)
    return found[:1].upper() + found[1:] if capital else found


def _with_accents(letters: str, accented: int) -> str:
    """With as many marks more in the decomposed form; not at the start, which tells capital letters."""
    twice = max(0, accented - len(letters))
    found = list(letters)
    for index in range(min(accented - twice, len(found))):
        form = _TWO_ACCENTS if index < twice else _ONE_ACCENT
        found[index] = form[ord(found[index]) % len(form)]
    return "".join(found)


def _in_form(letters: str, form: str) -> str:
    """Some letters behind the first as capital ones, chosen by the form."""
    chosen = shake_128(form.encode()).digest(len(letters))
    return letters[:1] + "".join(
        one.upper() if pick % 4 == 0 else one for one, pick in zip(letters[1:], chosen[1:], strict=True)
    )


def _spaced(letters: str, between: str, form: str) -> str:
    """The blanks at even distances, moved by one where the form says so."""
    count = len(between) + 1
    moved = shake_128(form.encode()).digest(count) if form else bytes(count)
    found, start = [], 0
    for index, blank in enumerate(between):
        end = (index + 1) * len(letters) // count + moved[index] % 2
        end = min(max(end, start + (1 if blank == " " else 0)), len(letters))
        found += [letters[start:end], blank]
        start = end
    return "".join([*found, letters[start:]])


def _digits(seed: str, length: int) -> str:
    """The first one is no 0, 1 or 2, so that it is neither a year nor a Unix time."""
    found = _stream(seed, length, _TO_DIGITS)
    return "3456789"[ord(found[0]) % 7] + found[1:]


def _tag(length: int, seed: str, cues: str = "") -> str:
    tail = words_for(cues, length - 2, "_") if cues else ""
    head = _stream(seed, length - len(tail) - bool(tail), _TO_LETTERS)
    return f"{head}_{tail}" if tail else head


def _made_up(length: int, seed: str, kind: str) -> str:
    """A UUID, a trace context, a ULID or other random characters, as `random_kind` tells them."""
    hexadecimal = _stream(seed, max(length, 64), _TO_HEX)
    if kind == "u" and length >= 36:
        h = hexadecimal
        found = f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:32]}"
    elif kind == "t" and length >= 55:
        found = f"00-{hexadecimal[:32]}-{hexadecimal[32:48]}-01"
    elif kind == "d":
        return _digits(seed, length)
    elif kind == "h":
        return ("a1" + hexadecimal)[:length]
    elif kind == "x":  # of a character in no script that matters
        return "a" + hexadecimal[: length - 1]
    elif kind == "v":
        return hexadecimal[: length - 1] + str(ord(hexadecimal[-1]) % 10)
    else:  # letters and digits in turns: random characters in any length from six
        return "".join("bdf"[ord(one) % 3] if place % 2 else one for place, one in enumerate(_turns(seed, length)))
    head = length - len(found)
    return found if not head else (_stream(seed, head - 1, _TO_LETTERS) + "-" + found if head > 1 else "_" + found)


def _turns(seed: str, length: int) -> str:
    return _stream(seed, length, _TO_DIGITS)


def _moment(length: int, kind: str, seed: str, value: str, step: str = "1") -> str:
    digits = _stream(seed, length + 9, _TO_DIGITS)
    step_s = int(step)
    shown = int(value, 36) if value else _made_up_value(kind, seed, step_s)
    label = "now " if not value and kind in "bB" and length >= 18 else ""
    found = moment_of_length(kind, length - len(label), shown, step_s, digits)
    return _digits(seed, length) if found is None else label + found


def _made_up_value(kind: str, seed: str, step_s: int) -> int:
    drawn = int.from_bytes(shake_128(seed.encode()).digest(6))
    second = drawn // 40_000 % DAY_S // step_s * step_s
    day = drawn % 18_000 if kind in "db" else (drawn % 12 + 1) * 32 + drawn // 12 % 28 + 1
    if kind in "dy":
        return day
    if kind in "bB":
        return day * DAY_S + second
    return {"t": second, "e": 1_000_000_000 + drawn % 100_000_000}.get(kind, drawn % 7)
