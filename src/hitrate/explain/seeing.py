"""What is kept of a call: its numbers, and its prompt as hashes and lengths."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from hitrate.core.model import Call
from hitrate.core.prompt import Part, Sketch
from hitrate.explain.evidence import Mark, Pair, Seen


def seen_of(call: Call, index: int, sketch: Sketch | None) -> Seen:
    """The numbers of a call. It was answered unless its status or an error says otherwise."""
    timing = call.timing
    sketch = sketch or _NO_TEXT
    parts = sketch.parts
    return Seen(
        index=index,
        line=call.line,
        session=call.session,
        label=call.label,
        dialect=call.dialect,
        target=call.target,
        model=call.model,
        at=None if timing is None else timing.at,
        done=None if timing is None or timing.total_s is None else timing.at + timing.total_s,
        ttft_s=None if timing is None else timing.ttft_s,
        answered=(call.status is None or call.status < 400) and call.error is None,
        status=call.status,
        usage=call.usage,
        key=sketch.key,
        others=sketch.others,
        affinity=sketch.affinity,
        parts=len(parts),
        blocks=sum(map(len, map(_blocks_of, parts))),
        characters=sum(map(_characters_of, parts)),
        marks=_marks(parts) if any(map(_marks_of, parts)) else (),
        rebuilt=call.rebuilt,
        stray_marks=sketch.stray_marks,
        happenings=call.happenings,
        diagnosis=call.diagnosis,
    )


def seen_going_on(before: Seen, call: Call, index: int, further: Sequence[Part]) -> Seen:
    """The same for a call that goes on from an earlier one (see `GoesOn`) with these parts, each of one block and not
    marked."""
    seen: Seen = before.__copy__()  # type: ignore[attr-defined]  # what copy.copy calls
    timing, more = call.timing, len(further)
    seen.index = index
    seen.line = call.line
    seen.usage = call.usage
    seen.at = None if timing is None else timing.at
    seen.parts += more
    seen.blocks += more
    seen.characters += sum(map(_characters_of, further))
    return seen


def pair_going_on(before: Seen) -> Pair:
    """The pair of such a call."""
    return Pair(
        relation="append",
        against=before.index,
        shared_parts=before.parts,
        shared_characters=before.characters,
        best=before.index,
        best_characters=before.characters,
        conversation=before.conversation,
    )


_NO_TEXT = Sketch(())
_blocks_of, _characters_of, _marks_of = map(attrgetter, ("blocks", "characters", "marks"))


def _marks(parts: Sequence[Part]) -> tuple[Mark, ...]:
    """The explicit markers of a prompt, in order, each with all that stands in front of it."""
    marks: list[Mark] = []
    blocks = characters = 0
    for part in parts:
        for block, ttl in part.marks:
            marks.append(Mark(blocks + block + 1, characters + sum(part.blocks[: block + 1]), ttl))
        blocks += len(part.blocks)
        characters += part.characters
    return tuple(marks)
