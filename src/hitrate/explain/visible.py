"""Text with what cannot be seen in it made visible, and harmless wherever it is printed.

The escapes are those of a Python or JSON string, as the reports use them. A backslash of the text itself is doubled
where it would be taken for one of them, so that two different texts never look the same.
"""

from __future__ import annotations

import re
import unicodedata

from hitrate.core.lazy_pattern import lazy_pattern

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Controls (ANSI codes start with one), formats (bidirectional overrides, zero width, byte-order mark), lone
surrogates, private use, line and paragraph separators."""

_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Letters, marks and symbols that print nothing: joiners, fillers, the empty Braille pattern."""

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_MISLEADING_BACKSLASH = lazy_pattern(r"\\(?=[nrtxuU\\]|[^!-~])")
"""In front of a letter of an escape, or of a character that may be shown as one."""

_WORD = lazy_pattern(r"[^\W\d_]+")
_LATIN = lazy_pattern("[A-Za-z]")
_LOOK_ALIKE = lazy_pattern("[\u0370-\u03ff\u0400-\u052f\u13a0-\u13ff]")
"""Greek, Cyrillic and Cherokee: the scripts with letters that cannot be told from Latin ones."""

_TRAILING_SPACES = lazy_pattern(r" +(?=\n|\r|\Z)")


def visible(text: str, *, forms: bool = False, at_end: bool = True) -> str:
    """One line that shows every character that cannot be seen or that passes for another one.

    Shown are controls, zero-width and bidirectional characters, spaces other than the plain one, plain spaces at the
    end of a line, letters of another script inside a Latin word, and lone surrogates. `forms` shows everything beyond
    ASCII, for texts that differ in their Unicode form alone. `at_end` is False for a text that goes on.
    """
    if text.isascii() and text.isprintable() and "\\" not in text and not text.endswith(" "):
        return text
    shown = _MISLEADING_BACKSLASH.sub(r"\\\\", text)
    ends_in_space = shown.endswith(" ") and not at_end
    if not forms:
        shown = _WORD.sub(_without_look_alikes, shown)
    if ends_in_space:
        shown += "\0"  # keeps the last spaces from being the end of a line
    shown = _TRAILING_SPACES.sub(lambda spaces: "\\x20" * len(spaces[0]), shown)
    if ends_in_space:
        shown = shown[:-1]
    return "".join(_escaped(one) if _hidden(one) or (forms and one > "\x7f") else one for one in shown)


def excerpt(text: str, offset: int, width: int = 60, *, forms: bool = False) -> str:
    """`text` around the code point at `offset`, made visible: about `width` of its characters, "…" where it is cut."""
    offset = min(max(offset, 0), len(text))
    start = max(0, min(offset - width // 3, len(text) - width))
    end = min(len(text), start + width)
    shown = visible(text[start:end], forms=forms, at_end=end == len(text))
    return ("…" if start else "") + shown + ("…" if end < len(text) else "")


def _hidden(character: str) -> bool:
    if character.isascii():
        return not character.isprintable()
    category = unicodedata.category(character)
    return (
        category in _HIDDEN_CATEGORIES
        or category == "Zs"
        or character in _BLANK_LETTERS
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def _without_look_alikes(word: re.Match[str]) -> str:
    if _LATIN.search(word[0]) is None:
        return word[0]
    return _LOOK_ALIKE.sub(lambda letter: _escaped(letter[0]), word[0])


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
