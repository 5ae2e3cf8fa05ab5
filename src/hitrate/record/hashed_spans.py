"""Places of a line that are not cut like its other words: words of protocols, tags; and the cues that matter where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hitrate.explain.causes.reasoning_not_replayed import _THINK_TAG
from hitrate.explain.causes.sections import _PASSAGE
from hitrate.explain.causes.template_drift import _ANSWER_OPENED, _ROLE_MARK, _THINK
from hitrate.logs.hashed.chunks import written_signs

_MARKS = re.compile(
    "|".join((
        r"(?:<\|im_start\|>|<\|start\|>|<start_of_turn>|<\|turn>)(?:system|developer|user|assistant|model|tool)\b",
        r"<\|(?:start_header_id|header_start)\|>(?:system|user|assistant|tool|ipython)<\|(?:end_header_id|header_end)\|>",
        r"<\|(?:START_OF_TURN_TOKEN|END_OF_TURN_TOKEN|CHATBOT_TOKEN|SYSTEM_TOKEN|USER_TOKEN)\|>|<\|begin_of_text\|>",
        r"<<SYS>>|<</SYS>>|\[gMASK\]|<bos>|<eos>|<s>",
        _ROLE_MARK.pattern,
        _THINK.pattern.removeprefix(r"\s*"),
        _THINK_TAG.pattern.removeprefix(r"\s*"),
        _ANSWER_OPENED.pattern.removesuffix(r"\s*\Z"),
    ))
)  # fmt: skip
"""What chat templates print around turns and thoughts."""

_HEADER_LINE = re.compile(r"\s*(x-[a-z0-9-]+)\s*:\s*\S", re.IGNORECASE)
_TAG_NAME = re.compile(r"(?<=<)/?[A-Za-z_][\w:-]*(?=[\s/>])")
_IN_BOX = re.compile(r"(?<=\[)[xX~/>-](?=\])")
_DIGIT = re.compile(r"\d")
_LETTERS = re.compile(r"[^\W\d_]+")
_SLASH = written_signs("\\")
_ESCAPE = re.compile(r"\\(?:([\"\\/bfnrt])|u([0-9a-fA-F]{4}))")
_GIT_WORDS = re.compile(
    r"On branch|HEAD detached|Your branch|Changes(?= \S)|Untracked|nothing to commit"
    r"|\s*(?:modified|new file|deleted|renamed)(?=:)|[ MADRCU?!]{2}(?= \S)"
)
_OPENS_LABEL = ("#", "*", "_", "【", "[", "=", "-")
_ENDS_LABEL = (":", "：", "=", "】")
_LONGEST_LABEL = 80
_LONGEST_PLACEHOLDER = 2000
_IN_SIGHT = 32
_IN_BETWEEN = " :=：\"'`*([<【"
_NEAR = 16
_LOOKED_AT = 400
"""Code points of a text's start in which a summary or a placeholder says that it is one."""


class Span(NamedTuple):
    """A place of a line, and its chunks."""

    start: int
    end: int
    written: str
    is_clock: bool = False
    """A time to the second: where it changes it is likely that of the request, so what names it is told to do so."""


def kept_words(
    line: str, tag: Callable[[str], str], name: Callable[[str], str], code: Callable[[str], str]
) -> Iterator[Span]:
    """Words of protocols in a line, the names of tags and headers, and characters written as escapes; the chunks of
    these three are asked for."""
    if "<" in line or "[" in line or "◁" in line:
        yield from (Span(*one.span(), f"k{one[0]};") for one in _MARKS.finditer(line) if _can_be_kept(one[0]))
        yield from (Span(*one.span(), f"k{one[0]};") for one in _IN_BOX.finditer(line))
        for one in _TAG_NAME.finditer(line):
            slash = written_signs("/") if one[0].startswith("/") else ""
            yield Span(*one.span(), slash + tag(one[0].removeprefix("/")))
    if "\\" in line:
        for one in _ESCAPE.finditer(line):
            letter = one[1] or "u"
            written = f"k{letter};" if letter.isalpha() else written_signs(letter)
            yield Span(*one.span(), _SLASH + written + (code(one[2]) if one[2] else ""))
    if (git := _GIT_WORDS.match(line)) is not None and git[0].strip():
        yield Span(git.start() + len(git[0]) - len(git[0].lstrip()), git.end(), f"k{git[0].lstrip()};")
    passage = _PASSAGE.match(line)
    word = None if passage is None else _LETTERS.search(line, *passage.span())
    if word is not None and not line[word.end() : word.end() + 1].isalnum():
        yield Span(*word.span(), f"k{word[0]};")
    if (header := _HEADER_LINE.match(line)) is not None:
        at = header.end() - len(header[0].lstrip())
        yield Span(at, header.end(1), f"k{line[at : at + 2]};" + name(header[1][2:]))


def _can_be_kept(text: str) -> bool:
    return not any(sign in text for sign in ';"\\~\n')


def cues_that_matter(line: str, start: int, end: int, position: int, length: int) -> str:
    """Which cues can matter for a phrase, by where it stands: looking for all of them takes most of the time.

    `position` is that of the line in a text of `length` code points.
    """
    behind = line[end : end + _IN_SIGHT]
    asked = "E" if "@" in line or "/home/" in line or "Users" in line else ""
    if behind:
        next_word = behind.lstrip(_IN_BETWEEN)[:1]
        if next_word and not "a" <= next_word <= "z":
            asked += "N"
        if _DIGIT.search(behind) is not None:
            asked += "IMC" if _DIGIT.search(behind, 0, _NEAR) else "M"
        elif behind[0] in ":=#":
            asked += "I"
    if _may_be_label(line, start, end):
        asked += "SR"
    if position + start < _LOOKED_AT:
        asked += "Z"
        if length < _LONGEST_PLACEHOLDER:
            asked += "PD"
    elif line.lstrip()[:1] in ("[", "…", "<", "("):
        asked += "PD"
    return asked


def _may_be_label(line: str, start: int, end: int) -> bool:
    """Whether a phrase can be of a heading, a label or the name of a field."""
    if start > _LONGEST_LABEL:
        return False
    if line.lstrip()[:1] in _OPENS_LABEL:
        return True
    before, behind = line[:start], line[end : end + _LONGEST_LABEL]
    return not any(sign in before for sign in _ENDS_LABEL) and any(sign in behind for sign in _ENDS_LABEL)
