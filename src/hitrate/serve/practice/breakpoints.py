"""What a cache model takes beside the tokens of a prompt: where blocks end, which of them are marked, for how long.

A block is an item of a message's content, a tool, or a message that is all text. It is told by the JSON pointers of its
segments, which is why this works on every wire.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from hitrate.caches.breakpoints import Mark
from hitrate.core.prompt import CanonicalPrompt, Segment
from hitrate.serve.practice.wire import PracticeRequest, Refused

_MARKERS = {"marked": ("cache_control", "cachePoint"), "exact": ("prompt_cache_breakpoint",)}
"""The members that mark a block, by the model that reads them; the other one's mean nothing to it."""


def cache_keywords(
    model: str | None, request: PracticeRequest, ends: Sequence[int], lifetimes: Mapping[str, float]
) -> dict[str, Any]:
    """Keywords of `begin` for a cache model. `ends` are the token positions where the prompt's segments end,
    `lifetimes` the seconds that a lifetime's name stands for.

    Raises Refused for a marker or an option that the API refuses.
    """
    if model == "marked":
        boundaries, _, marks = _blocks(request, ends, lifetimes, _MARKERS[model])
        return {"boundaries": boundaries, "marks": marks}
    if model == "exact":
        return _exact(request, ends, lifetimes)
    if model == "objects":
        return {"name": request.cached_object}
    if model in ("slots", "checkpoints"):
        return _slot(request.sent)
    return {}


def _exact(request: PracticeRequest, ends: Sequence[int], lifetimes: Mapping[str, float]) -> dict[str, Any]:
    boundaries, index_of, marks = _blocks(request, ends, lifetimes, _MARKERS["exact"])
    messages = sorted({index_of[ends[last]] for last in _message_ends(request.prompt)})
    keywords = {"boundaries": boundaries, "marks": marks, "messages": messages}
    options = request.sent.get("prompt_cache_options")
    if isinstance(options, dict):
        if options.get("mode") is not None:
            keywords["mode"] = str(options["mode"])
        if options.get("ttl") is not None:
            keywords["ttl_s"] = _seconds(str(options["ttl"]), "prompt_cache_options.ttl", lifetimes)
    return keywords


def _blocks(
    request: PracticeRequest, ends: Sequence[int], lifetimes: Mapping[str, float], markers: tuple[str, ...]
) -> tuple[list[int], dict[int, int], list[Mark]]:
    """Positions where blocks end, the index of each position, and the marks."""
    prompt = request.prompt
    marked = {
        marker.after: None if marker.ttl is None else _seconds(marker.ttl, marker.pointer[1:], lifetimes)
        for marker in prompt.markers
        if marker.pointer.rpartition("/")[2] in markers
    }
    lasts = set(marked).union(_message_ends(prompt))
    for block, segments in groupby(range(len(prompt.segments)), lambda index: block_of(prompt.segments[index])):
        if block not in request.joined_blocks:
            lasts.add(list(segments)[-1])
    boundaries = sorted({ends[last] for last in lasts if ends[last] > 0})
    index_of = {position: index for index, position in enumerate(boundaries)}
    return boundaries, index_of, [Mark(index_of[ends[after]], ttl_s) for after, ttl_s in marked.items()]


def block_of(segment: Segment) -> str:
    """The pointer of the content block or tool that a segment is part of: it goes as far as the second index in it."""
    parts = segment.pointer.split("/")
    indices = [place for place, part in enumerate(parts) if part.isdecimal()]
    if not indices:
        return "/".join(parts[:2])
    return "/".join(parts[: indices[min(1, len(indices) - 1)] + 1])


def _message_ends(prompt: CanonicalPrompt) -> Iterator[int]:
    """The segments that end a message an implicit breakpoint can stand behind: a user message, the last of
    neighbouring tool results, the last of the opening system messages."""
    opening = True
    messages = [list(run) for _, run in groupby(range(len(prompt.segments)), lambda i: _message_of(prompt.segments[i]))]
    kinds = [_kind(prompt, message) for message in messages]
    for number, message in enumerate(messages):
        kind = kinds[number]
        following = kinds[number + 1] if number + 1 < len(kinds) else None
        is_last_of_run = following != kind
        if kind == "user" or (kind == "tool" and is_last_of_run) or (kind == "system" and opening and is_last_of_run):
            yield message[-1]
        opening = opening and kind in ("tools", "schema", "system")


def _message_of(segment: Segment) -> str:
    parts = segment.pointer.split("/")
    first = next((place for place, part in enumerate(parts) if part.isdecimal()), 1)
    return "/".join(parts[: first + 1])


def _kind(prompt: CanonicalPrompt, message: Sequence[int]) -> str:
    kinds = (prompt.segments[index].kind for index in message)
    return next((kind for kind in kinds if kind != "image"), "user")


def _slot(sent: Mapping[str, Any]) -> dict[str, Any]:
    """llama.cpp's fields of these names."""
    keywords: dict[str, Any] = {}
    slot = sent.get("id_slot")
    if type(slot) is int and slot >= 0:
        keywords["id_slot"] = slot
    if sent.get("cache_prompt") is False:
        keywords["cache_prompt"] = False
    return keywords


def _seconds(name: str, place: str, lifetimes: Mapping[str, float]) -> float:
    try:
        return lifetimes[name]
    except KeyError:
        known = ", ".join(map(repr, lifetimes)) or "none"
        raise Refused(400, f"{place.replace('/', '.')}: the lifetime {name!r} is not known; known: {known}") from None
