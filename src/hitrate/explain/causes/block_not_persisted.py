"""Text that was added to a message for one request and is missing, or stands elsewhere, when it is sent again."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.sections import open_tags
from hitrate.explain.causes.spot import spot_of
from hitrate.explain.causes.wording import change_in_words, place, quoted, what_changed
from hitrate.explain.evidence import Divergence, Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_BLOCK = lazy_pattern(
    r"\s*(?:<[A-Za-z][\w:-]*[^<>]*>|#{1,6} |\[(?!\d)|\*\*|---|===|```|【)|\s*\n\s*\S[^\n]{0,60}[:：]\s*(?:\n|\S)"
)
"""How an injected block begins: a tag, a heading, a bracket, a label line."""

_WHOLE_TAG = lazy_pattern(r"\s*<([A-Za-z][\w:-]*)(?:\s[^<>]*)?>.*</\1>\s*", re.DOTALL)
"""A text that is one tagged block: where it stood in a message, or stands now, something else is on the other side."""
_SHORTEST = 16
"""Code points of a block on one line."""
_AT_AN_END = ("suffix removed", "suffix added")


class BlockNotPersisted:
    name: ClassVar[str] = "block-not-persisted"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "A block added to a message for one request is not stored with it, or moves to another message."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/Kilo-Org/kilocode/issues/13003",
        "https://github.com/anthropics/claude-code/issues/43657",
        "https://github.com/anthropics/claude-code/issues/96101",
        "https://github.com/farion1231/cc-switch/issues/7252",
        "https://github.com/jundot/omlx/issues/3608",
        "https://github.com/ggml-org/llama.cpp/issues/22746",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or divergence.kind not in ("user", "assistant", "tool"):
            return None
        found = _block(evidence, divergence)
        if found is not None:
            block, gone = found
            sure = bool(_BLOCK.match(block)) and divergence.change in _AT_AN_END
            what = f"A block of text {'is missing' if gone else 'is new'} in {place(divergence)}: "
            what += quoted(block) if block else change_in_words(divergence)
        elif (tag := _tag_rendered_anew(divergence)) is not None:
            sure, what = False, f"The block {quoted(tag)} in {place(divergence)} was rendered anew: "
            what += what_changed(divergence, spot_of(divergence))
        else:
            return None
        return Recognised(
            confidence="certain" if sure else "likely",
            summary=f"{what}.",
            advice="Store the block with the message and send both again unchanged, or send it as a last message of "
            "its own that is not expected to be reused, with the cache point in front of it.",
            ruled_out=(*ruled_out(evidence), "an edit of the message: the rest of its text is unchanged"),
        )


def _block(evidence: Evidence, divergence: Divergence) -> tuple[str, bool] | None:
    """The block's text ("" where it is not at hand), and whether it is gone rather than new."""
    gone = divergence.change == "suffix removed"
    if divergence.change in _AT_AN_END:
        block = divergence.was if gone else divergence.now
        return (block, gone) if _is_block(block) else None
    if divergence.change == "messages inserted":
        return "", False
    if divergence.change == "list members" and divergence.offset is None:
        return _member(divergence)
    spot = spot_of(divergence)
    if spot is None or divergence.change not in ("text", "replaced", "shortened"):
        return None
    if _was_last(evidence) and divergence.offset == 0 and _BLOCK.match(spot.was) and spot.now[:12] != spot.was[:12]:
        return spot.was, True
    for side, other, gone in ((spot.was, spot.now, True), (spot.now, spot.was, False)):
        if divergence.offset == 0 and (tag := _WHOLE_TAG.fullmatch(side)) and f"<{tag[1]}" not in other:
            return side, gone
    if len(spot.was) != len(spot.now):
        gone = len(spot.was) > len(spot.now)
        longer, shorter = (spot.was, spot.now) if gone else (spot.now, spot.was)
        block = longer[: len(longer) - len(shorter)]
        if len(block) >= 12 and longer.endswith(shorter) and (_BLOCK.match(block) or not spot.front):
            return block, gone
    return None


def _is_block(text: str) -> bool:
    """Whether a text at the end of a message is more than a full stop or a word that an edit puts there."""
    return len(text.strip()) >= _SHORTEST or "\n" in text.strip() or bool(_WHOLE_TAG.fullmatch(text))


def _tag_rendered_anew(divergence: Divergence) -> str | None:
    """The tag around text of a user message that became other text."""
    spot = spot_of(divergence)
    if spot is None or divergence.kind != "user" or divergence.change not in ("text", "replaced", "shortened"):
        return None
    return next(iter(open_tags(spot.front)), None)


def _was_last(evidence: Evidence) -> bool:
    """Whether what differs was the earlier prompt's last message, which another one has taken the place of."""
    before = evidence.before
    return before is not None and before.parts > 0 and evidence.pair.shared_parts == before.parts - 1


def _member(divergence: Divergence) -> tuple[str, bool] | None:
    """A whole content block of a message came or went; which, `was` and `now` tell."""
    depth = re.match(r"/(?:messages|input|contents)/\d+/", divergence.pointer)
    if depth is None or bool(divergence.was) == bool(divergence.now):
        return None
    return (divergence.value_was or "", True) if divergence.was else (divergence.value_now or "", False)
