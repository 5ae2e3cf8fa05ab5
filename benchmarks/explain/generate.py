"""Logs to measure `hitrate explain` with, in invented words, the same for the same seed.

    python benchmarks/explain/generate.py chats OUT.jsonl [--requests 20000] [--seed 7] [--trace]
    python benchmarks/explain/generate.py long OUT.jsonl [--requests 100] [--seed 7] [--trace]

chats: conversations of 8 turns with the system prompts of 20 tenants, 40 of them at a time, interleaved; one in ten
has an epoch on top of its system prompt that is another one in each request. About 15 kB a request.
long: one agent's conversation of about 600 kB, or 150,000 tokens, growing by a tool call and its result a request.

Each line is {"at", "body", "response"}; with `--trace` it has the envelope that promptcachelint reads. Tokens are a
quarter of the characters; cached ones are what a cache in steps of 128 tokens would have served.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

START = 1_793_000_000
MODEL = "gpt-4.1"
TENANTS, TURNS, AT_A_TIME = 20, 8, 40
BROKEN_ONE_IN = 10
STEP_TOKENS, LEAST_TOKENS = 128, 1024
SYSTEM_CHARACTERS, QUESTION_CHARACTERS, ANSWER_CHARACTERS = 9_300, 400, 900
LONG_CHARACTERS, RESULT_CHARACTERS = 470_000, 2_200

_BEGINS = ("br", "d", "fl", "g", "k", "kr", "l", "m", "n", "p", "r", "s", "sk", "t", "tr", "v", "w", "z")
_MIDDLES = (*("a", "e", "i", "o", "u", "ei", "ou") * 8, "ö", "é")
_ENDS = ("", "l", "m", "n", "nd", "r", "rk", "s", "st", "t")


class Request(NamedTuple):
    at: float
    conversation: int
    body: dict[str, Any]
    prompt_tokens: int
    cached_tokens: int


class Writer:
    """Invented text. Sentences are made once and drawn from, so that making a log costs less than reading it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        words = [self._word() for _ in range(3_000)]
        self._sentences = [
            " ".join(self.random.choices(words, k=self.random.randint(6, 16))).capitalize() + "." for _ in range(4_000)
        ]

    def _word(self) -> str:
        draw = self.random.choice
        return "".join(draw(_BEGINS) + draw(_MIDDLES) + draw(_ENDS) for _ in range(self.random.choice((1, 2, 2, 3))))

    def text(self, characters: int) -> str:
        """Of about that length, give or take a fifth."""
        wanted = int(characters * self.random.uniform(0.8, 1.2))
        found: list[str] = []
        while wanted > 0:
            sentence = self.random.choice(self._sentences)
            found.append(sentence)
            wanted -= len(sentence) + 1
        return " ".join(found)


class Chat:
    """One conversation: `system` in front, with an epoch on top of it where it is broken."""

    def __init__(self, number: int, system: str, broken: bool, writer: Writer) -> None:
        self.number = number
        self.turn = 0
        self._system = system
        self._broken = broken
        self._writer = writer
        self._history: list[dict[str, str]] = []
        self._kept_tokens = 0

    def next(self, at: float, served_tokens: int) -> Request:
        """Its next request; `served_tokens` of the system prompt were sent before by others."""
        self._history.append({"role": "user", "content": self._writer.text(QUESTION_CHARACTERS)})
        system = (
            f"Epoch {int(at)}.{self._writer.random.randrange(1000):03d}\n{self._system}"
            if self._broken
            else self._system
        )
        messages = [{"role": "system", "content": system}, *self._history]
        tokens = sum(len(message["content"]) for message in messages) // 4
        cached = 0 if self._broken else max(self._kept_tokens, served_tokens) // STEP_TOKENS * STEP_TOKENS
        self._kept_tokens = tokens
        self.turn += 1
        self._history.append({"role": "assistant", "content": self._writer.text(ANSWER_CHARACTERS)})
        body = {"model": MODEL, "temperature": 0.2, "messages": messages}
        return Request(at, self.number, body, tokens, cached if cached >= LEAST_TOKENS else 0)


def is_broken(conversation: int) -> bool:
    return conversation % BROKEN_ONE_IN == BROKEN_ONE_IN - 1


def chats(requests: int, seed: int = 7) -> Iterator[Request]:
    writer = Writer(seed)
    systems = [writer.text(SYSTEM_CHARACTERS) for _ in range(TENANTS)]
    sent = [0] * TENANTS
    running: list[tuple[int, Chat]] = []
    begun = 0
    for number in range(requests):
        while len(running) < AT_A_TIME:
            tenant = writer.random.randrange(TENANTS)
            running.append((tenant, Chat(begun, systems[tenant], is_broken(begun), writer)))
            begun += 1
        place = writer.random.randrange(AT_A_TIME)
        tenant, chat = running[place]
        yield chat.next(START + number * 1.5, sent[tenant])
        if not is_broken(chat.number):
            sent[tenant] = len(systems[tenant]) // 4
        if chat.turn == TURNS:
            del running[place]


def long(requests: int, seed: int = 7) -> Iterator[Request]:
    """An agent at work: question, then tool calls and results."""
    writer = Writer(seed)
    names = [f"{writer.text(12).split()[0].lower().strip('.')}_{number}" for number in range(12)]
    tools = [_tool(name, writer) for name in names]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": writer.text(SYSTEM_CHARACTERS)},
        {"role": "user", "content": writer.text(QUESTION_CHARACTERS)},
    ]
    characters = kept_tokens = steps = 0
    while characters < LONG_CHARACTERS:
        characters += _step(messages, names, steps, writer)
        steps += 1
    for number in range(requests):
        tokens = (characters + SYSTEM_CHARACTERS) // 4
        body = {"model": MODEL, "tools": tools, "messages": list(messages)}
        yield Request(START + number * 20.0, 0, body, tokens, kept_tokens // STEP_TOKENS * STEP_TOKENS)
        kept_tokens = tokens
        characters += _step(messages, names, steps + number, writer)


def _tool(name: str, writer: Writer) -> dict[str, Any]:
    fields = {f"field_{number}": {"type": "string", "description": writer.text(60)} for number in range(4)}
    schema = {"type": "object", "properties": fields, "required": ["field_0"]}
    return {"type": "function", "function": {"name": name, "description": writer.text(200), "parameters": schema}}


def _step(messages: list[dict[str, Any]], names: list[str], number: int, writer: Writer) -> int:
    """Adds a tool call and its result; gives the characters they have."""
    arguments = json.dumps({"field_0": writer.text(80), "field_1": writer.text(40)}, ensure_ascii=False)
    called = {
        "id": f"call_{writer.random.randrange(16**12):012x}",
        "type": "function",
        "function": {"name": names[number % len(names)], "arguments": arguments},
    }
    result = writer.text(RESULT_CHARACTERS)
    messages.append({"role": "assistant", "content": writer.text(180), "tool_calls": [called]})
    messages.append({"role": "tool", "tool_call_id": called["id"], "content": result})
    return len(arguments) + len(result) + 200


def line(request: Request) -> dict[str, Any]:
    usage = {
        "prompt_tokens": request.prompt_tokens,
        "completion_tokens": ANSWER_CHARACTERS // 4,
        "prompt_tokens_details": {"cached_tokens": request.cached_tokens},
    }
    return {"at": request.at, "body": request.body, "response": {"usage": usage}}


def traced(request: Request) -> dict[str, Any]:
    """The envelope of promptcachelint 0.1.0, without the session's id, since the log has none either."""
    return {
        "provider": "openai",
        "body": request.body,
        "at": request.at,
        "model": MODEL,
        "usage": {
            "input_tokens": request.prompt_tokens - request.cached_tokens,
            "cache_read": request.cached_tokens,
            "cache_write": 0,
            "output_tokens": ANSWER_CHARACTERS // 4,
        },
        "session_id": "",
        "session_explicit": False,
    }


KINDS = {"chats": (chats, 20_000), "long": (long, 100)}


def write(kind: str, path: Path, requests: int | None = None, seed: int = 7, trace: bool = False) -> int:
    """Write a log and give the number of its bytes."""
    make, usual = KINDS[kind]
    encode = json.JSONEncoder(ensure_ascii=False).encode
    with path.open("w", encoding="utf-8") as file:
        for request in make(usual if requests is None else requests, seed):
            file.write(encode(traced(request) if trace else line(request)) + "\n")
    return path.stat().st_size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("out", type=Path)
    parser.add_argument("--requests", type=int)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--trace", action="store_true")
    arguments = parser.parse_args()
    written = write(arguments.kind, arguments.out, arguments.requests, arguments.seed, arguments.trace)
    print(f"{arguments.out}: {written / 1e6:.1f} MB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
