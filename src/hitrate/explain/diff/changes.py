"""What kind of change a difference is, decided by its structure alone: never by what the text is about."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from typing import Any

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.spans import compact
from hitrate.explain.diff.texts import common_suffix

CHANGES: dict[str, str] = {
    "text": "part of a text became another text",
    "replaced": "a whole text became another one",
    "shortened": "most of a text was cut out, a part of it is left",
    "suffix added": "a text goes on where it ended before",
    "suffix removed": "the end of a text is gone",
    "white space": "only blanks, line breaks or characters without width differ",
    "unicode form": "the same characters, composed in another way",
    "letter case": "only capital and small letters differ",
    "line order": "the same lines in another order",
    "json order": "the same JSON value with the members of an object in another order",
    "json text": "the same JSON value printed in another way",
    "list order": "the same tools, messages or items in another order",
    "list members": "tools or items were added to a list, or removed from it",
    "member added": "an object has a member more",
    "member removed": "an object has a member less",
    "member replaced": "an object has another member in place of one",
    "value": "a number, a word or a kind of value became another one",
    "block type": "a content block or item became one of another type",
    "image": "an image, sound or file has other bytes or another address",
    "role": "the same text was sent under another role",
    "id value": "the name of a call or item is another one",
    "messages dropped": "messages are gone, and the ones behind them follow",
    "messages inserted": "messages were put between the earlier ones",
    "messages condensed": "several messages became one, and the ones behind them follow",
    "ids merged": "token ids became fewer or more, and the same ids follow: the text may be the same",
    "ids": "token ids became other ones",
    "prefix rebuilt": "the two prompts have nothing in common, at the start or further on",
}
"""Every value of `Divergence.change`, with its meaning."""

_SHARED_TO_BE_A_CHANGE = 0.2
"""Share of the longer text that both must have at their ends; with less, one text was replaced by another."""

_LETTERS_AROUND = 8
"""Code points beside a difference that may be one character with it."""

_WITHOUT_WIDTH = lazy_pattern("[\u00ad\u200b\u200c\u200d\u2060\ufeff\u180e]")


def change_of_strings(was: str, now: str, offset: int, behind: int | None = None) -> str:
    """`offset` is the first code point that differs, `behind` how many both end with, where that is known."""
    if _same_json(was, now):
        # First, since one blank more in JSON says who printed it again.
        return "json text" if compact(_json(was)) == compact(_json(now)) else "json order"
    if behind is None:
        behind = common_suffix(was, now, offset)
    old, new = was[offset : len(was) - behind], now[offset : len(now) - behind]
    unlike = _begins_unlike(old, new)
    if not unlike and _without_white_space(old) == _without_white_space(new):
        return "white space"
    if not unlike and not (was.isascii() and now.isascii()) and _same_but_for_form(was, now, offset, behind):
        return "unicode form"
    if len(old) == len(new) and old.casefold() == new.casefold():
        return "letter case"
    if _same_lines(was, now, offset, behind):
        return "line order"
    if offset == len(was):
        return "suffix added"
    if offset == len(now):
        return "suffix removed" if now else "replaced"
    shared = offset + behind
    if len(now) * 2 < len(was) and shared * 2 >= len(now):
        return "shortened"
    return "text" if shared >= _SHARED_TO_BE_A_CHANGE * max(len(was), len(now)) else "replaced"


def change_of_members(was: Any, now: Any, names: tuple[str, str]) -> tuple[str, tuple[str, ...]]:
    """The change of an object whose members part at `names`, and the members concerned."""
    old = was if isinstance(was, dict) else {}
    new = now if isinstance(now, dict) else {}
    gone = bool(names[0]) and names[0] not in new
    fresh = bool(names[1]) and names[1] not in old
    if gone and fresh:
        return "member replaced", names
    if gone:
        return "member removed", (names[0],)
    if fresh:
        return "member added", (names[1],)
    if names[0] and names[1]:
        return "json order", names
    return ("member removed", (names[0],)) if names[0] else ("member added", (names[1],))


def change_of_lists(was: list[Any], now: list[Any]) -> tuple[str, tuple[str, ...]] | None:
    """The change of two lists with the same elements, or with some more on one side; None for any other two."""
    old, new = list(map(compact, was)), list(map(compact, now))
    difference = Counter(old), Counter(new)
    if difference[0] == difference[1]:
        moved = [one for one, other in zip(old, new, strict=True) if one != other]
        return "list order", tuple(_shown(one) for one in moved)
    odd = list(((difference[0] - difference[1]) + (difference[1] - difference[0])).elements())
    return "list members", tuple(_shown(one) for one in odd)


def change_of_ids(was: list[int], now: list[int], position: int) -> tuple[str, int, int]:
    """The change of two lists of token ids, and how many ids it is of each; 0 and 0 where they do not meet again."""
    for total in range(1, 2 * _LONGEST_MERGE + 1):
        for count in range(max(0, total - _LONGEST_MERGE), min(total, _LONGEST_MERGE) + 1):
            old = was[position + count : position + count + _IDS_TO_AGREE]
            new = now[position + total - count : position + total - count + len(old)]
            if old and old == new and (len(old) == _IDS_TO_AGREE or position + count + len(old) == len(was)):
                merged = count != total - count and min(count, total - count) > 0
                return ("ids merged" if merged else "ids"), count, total - count
    return "ids", 0, 0


_LONGEST_MERGE = 16
_IDS_TO_AGREE = 8


def _begins_unlike(old: str, new: str) -> bool:
    """Whether two texts that part at their start are seen to differ in more than white space and Unicode form: both
    begin with a visible ASCII character, which nothing behind it combines with."""
    starts = old[:2], new[:2]
    visible = all(len(one) == 2 and one.isascii() and one[0].isprintable() and one[0] != " " for one in starts)
    return visible and old[0] != new[0]


def _without_white_space(text: str) -> str:
    return "".join((text if text.isascii() else _WITHOUT_WIDTH.sub("", text)).split())


def _same_but_for_form(was: str, now: str, offset: int, behind: int) -> bool:
    """Whether the parts that differ, with the letters that they combine with, have the same composed form."""
    start = max(0, offset - _LETTERS_AROUND)
    behind = max(0, behind - _LETTERS_AROUND)
    old, new = was[start : len(was) - behind], now[start : len(now) - behind]
    return any(unicodedata.normalize(form, old) == unicodedata.normalize(form, new) for form in ("NFC", "NFKC"))


def _same_lines(was: str, now: str, offset: int, behind: int) -> bool:
    """Whether the lines that differ are the same in another order; a last one without line break is a line, too."""
    start = was.rfind("\n", 0, offset) + 1
    ends = [text.find("\n", len(text) - behind) for text in (was, now)]
    old, new = (text[start : end if end >= 0 else len(text)] for text, end in zip((was, now), ends, strict=True))
    return "\n" in old and Counter(old.splitlines()) == Counter(new.splitlines())


def _same_json(was: str, now: str) -> bool:
    """Whether two texts are JSON of one value, the order of members apart."""
    if not all(text.lstrip()[:1] in ("{", "[") for text in (was, now)):
        return False
    old, new = _json(was), _json(now)
    return old is not None and new is not None and _sorted(old) == _sorted(new)


def _json(text: str) -> Any:
    """The value of a JSON text, None for other text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _sorted(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _shown(element: str) -> str:
    """A string without its quotes, any other JSON as it is."""
    return json.loads(element) if element.startswith('"') else element
