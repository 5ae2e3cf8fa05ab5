"""Make text that others wrote (prompts, model names, error messages) harmless and its invisible characters visible."""

from __future__ import annotations

import re
import unicodedata

from hitrate.core.lazy_pattern import lazy_pattern

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Controls (ANSI codes start with one), formats (bidirectional overrides, zero width), lone surrogates, private use,
line and paragraph separators."""

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_MARKDOWN = lazy_pattern(r"[\\`*\[\]<>|~&]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
_MARKDOWN_START = lazy_pattern(r"^(\s*)([#+-]|\d+[.)])(?=\s|$)")

_FORMULA_STARTS = ("=", "+", "-", "@")

_COMMAND_KEY, _OLD_COMMAND = "::", "##["
"""A CI runner takes a line that starts with the one, or that has the other anywhere, for a command to itself
(https://github.com/actions/runner, src/Runner.Common/ActionCommand.cs), whatever program wrote it."""

_PLAIN_IN_JSON = bytes(range(0x7F))
"""What a document has of ASCII can be seen, is white space between its parts, or is escaped."""

_COMMAND_START = lazy_pattern(rf"^(?=[^\S\n]*{_COMMAND_KEY})", re.MULTILINE)


def escape_line(text: str) -> str:
    r"""One line that can do nothing to a terminal: `\x1b`, `\n` or `\u202e` in place of what cannot be seen."""
    text = text.replace(_OLD_COMMAND, "##·[")
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(character) if _hidden(character) else character for character in text)


def guarded(output: str) -> str:
    """Whole lines of escaped text, of which none starts a command of a CI runner."""
    return _COMMAND_START.sub("· ", output) if _COMMAND_KEY in output else output


def escape_markdown(text: str) -> str:
    """Inline Markdown that shows the text as it is, in a table cell too."""
    line = _MARKDOWN.sub(r"\\\g<0>", escape_line(text))
    return _MARKDOWN_START.sub(r"\1\\\2", line)


def escape_csv(text: str) -> str:
    """A cell that a spreadsheet takes for text: what would start a formula, or a runner's command, gets a leading
    apostrophe."""
    line = escape_line(text)
    return f"'{line}" if line.lstrip().startswith((*_FORMULA_STARTS, _COMMAND_KEY)) else line


def escape_json(document: str) -> str:
    r"""The same JSON document with hidden characters in strings as `\uXXXX`; those of ASCII already are."""
    document = document.replace(_OLD_COMMAND, r"#\u0023[")
    others = document.encode("utf-8", "surrogatepass").translate(None, _PLAIN_IN_JSON).decode("utf-8", "surrogatepass")
    for character in set(others):  # few, however long the document
        if _hidden(character):
            document = document.replace(character, _json_escape(character))
    return document


def _hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN_CATEGORIES


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[index : index + 2].hex()}" for index in range(0, len(units), 2))
