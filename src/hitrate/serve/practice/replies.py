"""What the practice server says: text or a tool call that depends on the prompt and the seed alone.

Text is made of words that are one o200k token each, with the space before them, so that a reply of N words is N
tokens, streamed one by one, and stays the same N tokens when it comes back as part of the next prompt.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

from hitrate.serve.practice.options import PracticeOptions
from hitrate.serve.practice.schema_example import example
from hitrate.serve.practice.wire import Piece, PracticeRequest, Reply, Tool, ToolCall

DEFAULT_TOKENS = 32
"""Length of a reply where neither the request nor the server's options say one."""

LONGEST_ASKED = 4096
"""A higher max_tokens is a limit that a model would not use up."""

FIRST_WORDS = ("The", "This", "That", "Your", "Our", "Each", "Every", "Most", "Some", "Here", "With", "When")

_WORDS = """
account address agent answer amount before below block book branch build cache call case change check city class
clear client close cloud code color common complete copy cost country customer data date day default delivery
detail device different direct document early email end engine entry error even event every example exact fact
fast field file final find first flow form free full future general good great group half hand head help high
history home hour house idea image input issue item join key kind knowledge land language large last late left
length level library life light limit line link list local long low machine main map market matter measure
memory message method middle minute mode model money month morning name nature need network new next night note
number object offer office open order other output own package page paper part party path pattern people period
person phone place plan point policy position power practice prefix present price problem process product
project public purpose question range rate read ready real reason record region reply report request research
result return review right road role room rule same sample search season second section service session share
short simple single size small song source space special stage standard start state station step stock stop
store story street strong study style subject summer support surface system table talk task team term test text
theory thing time today together token tool total touch town trade train travel tree trial turn type unit update
user value version view voice wait walk wall warm watch water way week well west whole window winter word work
world write year yellow yesterday café señor über für más año día também
"""
WORDS = tuple(_WORDS.split())
"""The last ones have a character of two bytes, for clients to read across the border of a segment."""


def make_reply(
    request: PracticeRequest,
    prompt: Sequence[int],
    options: PracticeOptions,
    *,
    room: int | None = None,
    reasoning_tokens: int = 0,
    count_tokens: Callable[[str], int],
) -> Reply:
    """The reply to a prompt of these tokens. `room` is what the context has left for it.

    It is as long as the options say, else as max_tokens allows up to LONGEST_ASKED, else DEFAULT_TOKENS, and ends with
    "length" where max_tokens or the room ended it, else with "stop" or "tool".
    """
    random = _random(prompt, options.seed)
    most = min((limit for limit in (request.max_tokens, room) if limit is not None), default=None)
    reasoning = [Piece("reasoning", text) for text in _words(random, reasoning_tokens)]
    tool = _tool(request, options)
    if tool is not None:
        return _tool_reply(tool, reasoning, most, f"call_{random.getrandbits(96):024x}", count_tokens)
    asked = None if request.has_to_be_limited else request.max_tokens
    wanted = options.reply_tokens or min(asked or DEFAULT_TOKENS, LONGEST_ASKED)
    ends_by_itself = options.reply_tokens is not None or asked is None or asked > LONGEST_ASKED
    words, stopped = _until_stop(_words(random, max(1, wanted - len(reasoning))), request.stop)
    pieces = tuple(reasoning + [Piece("text", text) for text in words])
    kept = pieces[:most]
    whole = len(kept) == len(pieces) and (ends_by_itself or stopped)
    return Reply(kept, "stop" if whole else "length", _join(kept, "text"), _join(kept, "reasoning"))


def _tool(request: PracticeRequest, options: PracticeOptions) -> Tool | None:
    """The tool to call: the one the request wants; or, with tool calls on, any one as answer to a user."""
    if request.wanted_tool is not None:
        return request.wanted_tool
    may = options.tool_calls and request.tools and not request.answers_tool and not request.tools_forbidden
    return request.tools[0] if may else None


def _tool_reply(
    tool: Tool, reasoning: list[Piece], most: int | None, call_id: str, count_tokens: Callable[[str], int]
) -> Reply:
    arguments = json.dumps(example(tool.schema or {"type": "object"}), ensure_ascii=False)
    pieces = (
        *reasoning,
        Piece("tool", ""),
        *(Piece("arguments", text) for text in _parts(arguments, count_tokens(arguments))),
    )
    kept = pieces[:most]
    opened = any(piece.kind == "tool" for piece in kept)
    return Reply(
        kept,
        "tool" if len(kept) == len(pieces) else "length",
        reasoning=_join(kept, "reasoning"),
        tool_call=ToolCall(call_id, tool.name, _join(kept, "arguments")) if opened else None,
    )


def _parts(text: str, tokens: int) -> list[str]:
    """The text in as many parts as it has tokens, of about equal length; never more parts than characters."""
    parts = max(1, min(tokens, len(text)))
    places = [index * len(text) // parts for index in range(parts + 1)]
    return [text[start:end] for start, end in pairwise(places)]


def _random(prompt: Sequence[int], seed: int) -> Random:
    digest = hashlib.blake2b(array("q", prompt), digest_size=16, salt=seed.to_bytes(16, "big", signed=True))
    return Random(digest.digest())


def _words(random: Random, count: int) -> list[str]:
    if count <= 0:
        return []
    return [random.choice(FIRST_WORDS), *(f" {word}" for word in random.choices(WORDS, k=count - 1))]


def _until_stop(words: list[str], stop: Sequence[str]) -> tuple[list[str], bool]:
    """The words up to the first stop text, which is not part of the reply, and whether there was one."""
    text = "".join(words)
    end = min((place for mark in stop if (place := text.find(mark)) >= 0), default=None)
    if end is None:
        return words, False
    kept: list[str] = []
    for word in words:
        if end <= 0:
            break
        kept.append(word[:end])
        end -= len(word)
    return kept, True


def _join(pieces: Sequence[Piece], kind: str) -> str:
    return "".join(piece.text for piece in pieces if piece.kind == kind)
