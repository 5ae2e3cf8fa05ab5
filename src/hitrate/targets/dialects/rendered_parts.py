"""A prompt that was rendered before it was sent, cut into parts: text at the turns of its chat template, else into
pieces of a fixed size, token ids likewise.

A part ends behind the header of the next turn, not in front of it. So the prompt of a next turn, which goes on behind
the opening of the answer, has all parts of the one before. The header of the first turn is part of its text, since all
prompts of a template begin with one.
"""

from __future__ import annotations

from itertools import groupby

from msgspec.structs import replace

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.prompt import CanonicalPrompt, Part
from hitrate.targets.dialects.prompt_parts import text_part

PIECE_CHARACTERS = 512
"""Of text without turns that are known."""

PIECE_IDS = 64

_HEADER = lazy_pattern(
    r"<\|im_start\|>(?P<chatml>\w*)\n?"
    r"|<\|(?:start_header_id|header_start)\|>(?P<llama>\w*)<\|(?:end_header_id|header_end)\|>\n*"
    r"|<start_of_turn>(?P<gemma>\w*)\n?"
    r"|<\|turn>(?P<gemma4>\w*)\n?"
    r"|<\|start\|>(?P<harmony>\w*)[^<]{0,80}"
    r"|<\|(?P<plain>system|user|assistant|observation|tool)\|>\n?"
    r"|<\uff5c(?P<deepseek>User|Assistant)\uff5c>"
    r"|<\|START_OF_TURN_TOKEN\|><\|(?P<command>\w+?)_TOKEN\|>"
    r"|\[INST\]\s*<<(?P<llama2>SYS)>>\n?|<<(?P<llama2_end>/SYS)>>\s*"
    r"|\[(?P<mistral>/?INST|/?SYSTEM_PROMPT)\]"
)
"""Headers of turns: ChatML; Llama 3 and 4; Gemma; gpt-oss; Phi, Zephyr and GLM; DeepSeek; Command; Llama 2;
Mistral."""

_OPENING = lazy_pattern(r"\s*(?:(?:<[^<>\s]{1,40}>|\[gMASK\])\s*)*")
"""What a template prints in front of the first turn: the token that begins a sequence."""

_ROLES = {
    "system": "system",
    "developer": "system",
    "system_prompt": "system",
    "sys": "system",
    "assistant": "assistant",
    "model": "assistant",
    "chatbot": "assistant",
    "/inst": "assistant",
    "tool": "tool",
    "ipython": "tool",
    "observation": "tool",
}
"""What a header names, in lower case, to the kind of the text behind it; "user" for any other."""

_IDS = lazy_pattern(r"(?:-?\d+ )+")


def rendered_parts(prompt: CanonicalPrompt) -> tuple[Part, ...]:
    """Every part is one block; there are no markers on this wire. Images are parts each."""
    return tuple(text_part(kind, text) for kind, text in rendered_pieces(prompt))


def rendered_pieces(prompt: CanonicalPrompt) -> list[tuple[str, str]]:
    """Kind and text of each part."""
    pieces: list[tuple[str, str]] = []
    for is_image, group in groupby(prompt.segments, key=lambda segment: segment.kind == "image"):
        segments = list(group)
        if is_image:
            pieces.extend((one.kind, one.text) for one in segments)
            continue
        text = "".join(one.text for one in segments)
        pieces.extend(_ids(text) if _IDS.fullmatch(text) else _turns(text))
    return pieces


def pieced(prompt: CanonicalPrompt) -> CanonicalPrompt:
    """The prompt with a segment for each piece of its text, at the place of the whole text: so it shows whose turn a
    difference is in. A prompt of several texts stays as it is."""
    texts = [segment for segment in prompt.segments if segment.kind != "image"]
    if len(texts) != 1 or prompt.segments[0] is not texts[0]:
        return prompt
    whole = texts[0]
    pieces = [replace(whole, kind=kind, text=text) for kind, text in rendered_pieces(prompt) if kind != "image"]
    return replace(prompt, segments=(*pieces, *prompt.segments[1:]))


def _turns(text: str) -> list[tuple[str, str]]:
    """Pieces of the text, which join to it, each with the kind of what it holds."""
    pieces: list[tuple[str, str]] = []
    start = 0
    kind: str | None = None
    for header in _HEADER.finditer(text):
        name = next(filter(None, header.groups()), "").lower()
        following = _ROLES.get(name, "user")
        if kind is not None or not _OPENING.fullmatch(text, 0, header.start()):  # else it is the first turn's
            pieces.append((kind or "system", text[start : header.end()]))
            start = header.end()
        kind = following
    if kind is None:
        return [("user", text[place : place + PIECE_CHARACTERS]) for place in range(0, len(text), PIECE_CHARACTERS)]
    if start < len(text):
        pieces.append((kind, text[start:]))
    return pieces


def _ids(text: str) -> list[tuple[str, str]]:
    ids = text.split(" ")[:-1]
    return [
        ("user", "".join(f"{one} " for one in ids[place : place + PIECE_IDS]))
        for place in range(0, len(ids), PIECE_IDS)
    ]
