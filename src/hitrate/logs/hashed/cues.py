"""Words by which causes are told, without the words: which of them are in a text, and what stands for them.

A heading "Open tasks" is hashed as text with the cue "S", and stands in what is read later as words with "plan" behind
them. So a change below it is still one of a state in the system prompt.
"""

from __future__ import annotations

import re

from hitrate.explain.causes.clock_in_prefix import MOMENT_LABEL
from hitrate.explain.causes.history_compacted import _SUMMARY
from hitrate.explain.causes.name_on_top import _EMAIL_OR_PATH
from hitrate.explain.causes.name_on_top import _LABEL as _NAME_LABEL
from hitrate.explain.causes.nonce_in_prefix import _COMMIT
from hitrate.explain.causes.sections import _RETRIEVED, _STATE
from hitrate.explain.causes.shapes import _ID_LABEL
from hitrate.explain.causes.sliding_window import _DROPPED_LINE
from hitrate.explain.causes.tool_output_pruned import _PLACEHOLDER

CUES: dict[str, tuple[re.Pattern[str], tuple[str, ...]]] = {
    "I": (_ID_LABEL, ("id", "h")),
    "M": (MOMENT_LABEL, ("now",)),
    "E": (_EMAIL_OR_PATH, ("a@b.cd", "a@b.c")),
    "P": (_PLACEHOLDER, ("omis", "削除")),
    "Z": (_SUMMARY, ("recap", "摘要")),
    "D": (_DROPPED_LINE, ("省略件",)),
    "N": (_NAME_LABEL, ("org", "hi")),
    "C": (_COMMIT, ("rev",)),
    "S": (_STATE, ("plan", "任务")),
    "R": (_RETRIEVED, ("rag", "资料")),
}
"""Per letter the words that are looked for, and what stands for them, from the best to the shortest."""

_LAST = "I"
"""The cue that has to be the end of a text; it is written last."""


def cues_in(text: str, asked: str) -> str:
    """The letters among `asked` whose words are in the text."""
    if not asked:
        return ""
    lowered = text.lower()
    found = "".join([letter for letter in asked if _SEARCH[letter](text if letter in _AS_WRITTEN else lowered)])
    return found.replace(_LAST, "") + _LAST if _LAST in found else found


_AS_WRITTEN = frozenset(letter for letter, (pattern, _) in CUES.items() if not pattern.flags & re.IGNORECASE)


def _lowered(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The pattern for text in small letters, which is searched several times as fast as by one that ignores case."""
    return re.compile(pattern.pattern.replace("HEAD", "head"), pattern.flags & ~re.IGNORECASE)


_SEARCH = {
    letter: (pattern if letter in _AS_WRITTEN else _lowered(pattern)).search for letter, (pattern, _) in CUES.items()
}


def words_for(letters: str, room: int, between: str = " ") -> str:
    """Words with these cues in at most `room` code points; those in front are left out where it is not enough."""
    found = ""
    for letter in reversed(letters):
        for word in CUES[letter][1]:
            if len(word) + len(found) + (len(between) if found else 0) <= room:
                found = word + (between + found if found else "")
                break
    return found
