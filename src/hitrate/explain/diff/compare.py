"""Two requests side by side: where they part."""

from __future__ import annotations

from msgspec import UNSET

from hitrate.core.prompt import CanonicalPrompt
from hitrate.explain.diff.describe import Parting, described
from hitrate.explain.diff.spots import Spot, find_spot
from hitrate.explain.diff.units import GROUPS, Request, Unit
from hitrate.explain.evidence import Divergence


def first_divergence(
    before: CanonicalPrompt, now: CanonicalPrompt, before_body: bytes, now_body: bytes
) -> Divergence | None:
    """The first place where two prompts differ as sent; None where one is the start of the other.

    ValueError when a body is no JSON; never for the odd shapes a dialect takes.
    Key order in tools and arguments, white space and Unicode form count. What is rendered alike does not: a string or
    a list with one text block, cache markers, the order of members at the top and in messages, settings.
    """
    found = parted(Request(before, before_body), Request(now, now_body))
    return None if found is None else described(found)


def parted(old: Request, new: Request) -> Parting | None:
    """Where two requests part; None where the prompt of one is the start of the other's."""
    common = 0
    for index, (was, is_now) in enumerate(zip(old.units, new.units, strict=False)):
        same_group = was.group == is_now.group
        if not same_group or was.signature != is_now.signature:
            ends = (index == len(old.units) - 1, index == len(new.units) - 1)
            if same_group and _continues(was, is_now, ends):
                return None
            spot = find_spot(was, is_now, old, new) if same_group else _group_spot(was, is_now, old, new)
            if spot is not None:
                return Parting(spot, old, new, index, common)
        common += is_now.characters
    return None


def _continues(was: Unit, now: Unit, ends: tuple[bool, bool]) -> bool:
    """Whether the unit that ends one of the prompts is the start of the other's.

    Nothing is rendered between the blocks of a message, so the last one may gain blocks. Text may only go on where
    nothing closes it: in a prompt that is rendered already, and in an answer that the client began.
    """
    if was.is_raw_prompt:
        return all(ends) and _raw_start(was, now)
    for short, long, ended in ((was, now, ends[0]), (now, was, ends[1])):
        count = len(short.rendered)
        if not ended or not count or count > len(long.rendered):
            continue
        if short.signature == long.signature[:count]:
            return True
        was.place_pieces()
        now.place_pieces()
        last, same = short.rendered[-1], long.rendered[count - 1]
        if (
            short.signature[:-1] == long.signature[: count - 1]
            and last.kind == same.kind == "assistant"
            and last.path == same.path
            and last.path[-1:] == ("text",)
            and same.text.startswith(last.text)
        ):
            return True
    return False


def _raw_start(was: Unit, now: Unit) -> bool:
    texts = ["".join(piece.text for piece in unit.pieces if piece.kind != "image") for unit in (was, now)]
    images = [[piece.text for piece in unit.pieces if piece.kind == "image"] for unit in (was, now)]
    for short, long in ((0, 1), (1, 0)):
        if texts[long].startswith(texts[short]) and images[long][: len(images[short])] == images[short]:
            return True
    return False


def _group_spot(was: Unit, now: Unit, old: Request, new: Request) -> Spot:
    """A tool, schema or system block where the other prompt goes on with something else."""
    added = GROUPS.index(now.group) < GROUPS.index(was.group)
    unit, request, other = (now, new, old) if added else (was, old, new)
    found = request.value(unit.pointer)
    if other.of_group(unit.group):
        tokens = unit.pointer.split("/")
        while len(tokens) > 2 and not tokens[-1].isdecimal():
            tokens.pop()
        return Spot(
            form="element",
            pointer="/".join(tokens),
            was=UNSET if added else found,
            now=found if added else UNSET,
            kind=unit.kind,
        )
    tokens = unit.pointer.split("/")
    first_index = next((place for place, token in enumerate(tokens) if token.isdecimal()), len(tokens))
    pointer = "/".join(tokens[:first_index])
    name = tokens[first_index - 1]
    return Spot(
        form="group",
        pointer=pointer,
        was=UNSET if added else request.value(pointer),
        now=request.value(pointer) if added else UNSET,
        names=("", name) if added else (name, ""),
        kind=unit.kind,
    )
