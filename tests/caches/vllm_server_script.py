"""Calls to a vLLM server with a small cache, beside the block chain: one after the other, and in rounds of three.

The server is the real one, or a recording of it. What it generated goes into later prompts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hitrate.caches.block_chain import BlockChainCache

RECORDED = Path(__file__).resolve().parents[1] / "data" / "engines" / "vllm_server.json"
BLOCK_SIZE = 32
BLOCKS = 90
"""Usable ones; vLLM sets one more aside."""
LONGEST_PROMPT = 700
CALLS, ROUNDS, AT_ONCE = 180, 20, 3


class Asked(NamedTuple):
    tokens: list[int]
    salt: str | None
    reply_tokens: int


class Answer(NamedTuple):
    cached_tokens: int
    generated: list[int]


class Server(Protocol):
    def ask(self, calls: Sequence[Asked]) -> list[Answer]:
        """All at once, in this order as far as that can be had."""
        ...


class Pair(NamedTuple):
    server: int
    model: int
    in_round: bool


def play(server: Server) -> Iterator[Pair]:
    """Every call, to both. Calls of a round are admitted in their order, and end in it, in the model."""
    randomness = random.Random("vLLM server")
    model = BlockChainCache(BLOCK_SIZE, BLOCKS)
    seen: list[tuple[list[int], str | None]] = []

    def fresh(most: int) -> list[int]:
        return [randomness.randrange(300, 4000) for _ in range(randomness.randint(1, most))]

    def asked() -> Asked:
        kind = randomness.choice(["new", "go on", "go on", "go on", "go on", "edit", "branch", "again"])
        reply_tokens = randomness.choice([1, 2, 5, 40])
        if kind == "new" or not seen:
            return Asked(fresh(250), randomness.choice([None, None, "a", "b"]), reply_tokens)
        base, salt = randomness.choice(seen[-12:])
        place = randomness.randrange(len(base))
        tokens = {
            "go on": [*base, *fresh(80)],
            "edit": [*base[:place], *fresh(2), *base[place + 1 :]],
            "branch": [*base[:place], *fresh(60)],
            "again": base,
        }[kind]
        return Asked(tokens[:LONGEST_PROMPT], salt if randomness.random() < 0.9 else "c", reply_tokens)

    for number in range(CALLS + ROUNDS):
        calls = [asked() for _ in range(1 if number < CALLS else AT_ONCE)]
        answers = server.ask(calls)
        leases = []
        for call in calls:
            lease = model.begin(call.tokens, namespace=call.salt)
            assert lease is not None
            model.publish(lease)
            leases.append(lease)
        for call, lease, answer in zip(calls, leases, answers, strict=True):
            model.finish(lease, answer.generated)
            seen.append(([*call.tokens, *answer.generated], call.salt))
            yield Pair(answer.cached_tokens, lease.cached_tokens, len(calls) > 1)
        model.check_integrity()


class RecordedServer:
    def __init__(self, answers: Sequence[Sequence[Any]]) -> None:
        self._answers = iter(answers)

    def ask(self, calls: Sequence[Asked]) -> list[Answer]:
        return [Answer(*next(self._answers)) for _ in calls]
