"""Calls made to a llama.cpp server and to the model of its slots at once: continued, cut, edited, repeated and held.

The server is the real one, or a recording of it. What it generated goes into later prompts, so a recording keeps the
replies, and the calls made of them are the same again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hitrate.caches.slots import SlotCache, SlotLease

RECORDED = Path(__file__).resolve().parents[1] / "data" / "engines" / "llamacpp_server.json"
MIB = 1024 * 1024
TINY_MODEL = {"bytes_per_token": 2060, "bytes_per_sequence": 140}
"""What llama.cpp writes for a sequence of the tiny model: 4 layers x 128 x key and value x 2 bytes, and its records."""


class Answer(NamedTuple):
    slot: int
    cached_tokens: int
    generated: list[int]


class Held(NamedTuple):
    """A call that was broken off: `generated` is what its slot keeps of the reply."""

    slot: int
    generated: list[int]


class Server(Protocol):
    def complete(self, tokens: list[int], reply_tokens: int, **request: Any) -> Answer: ...

    def hold(self, tokens: list[int]) -> None:
        """Start a call that lasts until `release`; its slot is busy so long."""
        ...

    def release(self) -> Held:
        """Break off the call held longest."""
        ...


class Script(NamedTuple):
    """`server` are options of `LlamaCppEngine`, `model` keywords of `SlotCache`; `most_held` calls are held at once."""

    name: str
    server: dict[str, Any]
    model: dict[str, Any]
    most_held: int = 0
    calls: int = 60


SCRIPTS = (
    Script("default", {"slots": 4, "context": 16384}, {}, most_held=2),
    Script("1 MiB store", {"slots": 2, "host_cache_mib": 1, "context": 8192}, {"host_cache_bytes": MIB}, most_held=1),
    Script("no store", {"slots": 3, "host_cache_mib": 0, "context": 12288}, {"host_cache_bytes": 0}, most_held=2),
    Script(
        "no store, reuse 8",
        {"slots": 3, "context": 12288, "host_cache_mib": 0, "cache_reuse": 8},
        {"host_cache_bytes": 0, "cache_reuse": 8},
        most_held=1,
    ),
    Script("reuse 16", {"slots": 2, "context": 8192, "cache_reuse": 16}, {"cache_reuse": 16}, most_held=1),
    Script("one pool", {"slots": 4, "unified": True, "context": 256}, {"kv_unified": True}),
    Script(
        "one pool, no store",
        {"slots": 3, "unified": True, "context": 256, "host_cache_mib": 0, "slot_similarity": 0.5},
        {"kv_unified": True, "host_cache_bytes": 0, "slot_prompt_similarity": 0.5},
    ),
)


class Pair(NamedTuple):
    """What the server said of a call, and the model; None for the cached tokens of a call that was broken off."""

    server: tuple[int, int | None]
    model: tuple[int, int | None]


def play(script: Script, server: Server, context_per_slot: int) -> Iterator[Pair]:
    """Every call of the script, to both."""
    randomness = random.Random(f"llama.cpp {script.name}")
    model = SlotCache(script.server["slots"], context_per_slot, **TINY_MODEL, **script.model)
    seen: list[list[int]] = []
    held: list[SlotLease] = []

    def release() -> Pair:
        kept, lease = server.release(), held.pop(0)
        # The model leaves out a reply's last token, which was sampled only; here the slot tells what it keeps.
        model.finish(lease, [*kept.generated, 0])
        seen.append([*lease.prompt.tokens, *kept.generated[:20]])
        return Pair((kept.slot, None), (lease.slot, None))

    for _ in range(script.calls):
        if held and (len(held) == script.most_held or randomness.random() < 0.3):
            yield release()
        tokens = random_prompt(randomness, seen)
        if len(held) < script.most_held and randomness.random() < 0.25:
            server.hold(tokens)
            lease = model.begin(tokens)
            assert lease is not None
            model.publish(lease)
            held.append(lease)
        request: dict[str, Any] = {}
        if randomness.random() < 0.1 and not held:  # A busy slot by its id would make the call wait.
            request["id_slot"] = randomness.randrange(script.server["slots"] + 1)
        if randomness.random() < 0.1:
            request["cache_prompt"] = False
        tokens = random_prompt(randomness, seen)
        answer = server.complete(tokens, randomness.choice([0, 1, 2, 9]), **request)
        lease = model.begin(tokens, **request)
        assert lease is not None
        model.finish(lease, answer.generated)
        model.check_integrity()
        seen.append([*tokens, *answer.generated])
        yield Pair((answer.slot, answer.cached_tokens), (lease.slot, lease.cached_tokens))
    while held:
        yield release()


def random_prompt(randomness: random.Random, seen: list[list[int]]) -> list[int]:
    """A new prompt, or an old one continued, cut off, with a piece removed, with a token changed, or as it was."""

    def fresh(length: int) -> list[int]:
        return [randomness.choice([300, 301, randomness.randrange(260, 3000)]) for _ in range(length)]

    kind = randomness.choice(["new", "continue", "continue", "cut", "remove", "change", "same"])
    if kind == "new" or not seen:
        return fresh(randomness.randrange(1, 90))
    base = randomness.choice(seen[-12:])
    start, end = sorted(randomness.sample(range(len(base) + 1), 2))
    changed = {
        "continue": base + fresh(randomness.randrange(20)),
        "cut": base[:end] + fresh(randomness.randrange(20)),
        "remove": base[:start] + base[end:],
        "change": base[:start] + fresh(1) + base[start + 1 :],
        "same": base,
    }[kind]
    return (changed or fresh(1))[:230]


class RecordedServer:
    """Gives the recorded answers in turn."""

    def __init__(self, answers: list[list[Any]]) -> None:
        self._answers = iter(answers)

    def complete(self, tokens: list[int], reply_tokens: int, **request: Any) -> Answer:
        return Answer(*next(self._answers))

    def hold(self, tokens: list[int]) -> None:
        pass

    def release(self) -> Held:
        return Held(*next(self._answers))
