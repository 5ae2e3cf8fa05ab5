"""Seeded traffic for the differential tests: conversations as an engine's cache sees them, one step after the other.

The same steps go to a real engine (`tests/differential`) and, with the answers it gave, to the models of the fast
suite. `fingerprint` says whether recorded answers still belong to the steps.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hitrate.caches.interface import Lease, PrefixCache


class Step(NamedTuple):
    """`tokens` are the prompt of a "begin" and the reply of a "finish"; "abort" and "reset" have none.

    A request that the cache makes wait is given up: later steps that name it do nothing.
    """

    verb: str
    request: int = 0
    tokens: tuple[int, ...] = ()
    salt: str | None = None
    adapter: str | None = None

    @property
    def namespace(self) -> tuple[str | None, str | None] | None:
        return (self.salt, self.adapter) if self.salt or self.adapter else None


@dataclass
class _Conversation:
    history: tuple[int, ...]
    salt: str | None
    adapter: str | None
    turns: int
    in_flight: int | None = None


@dataclass
class Traffic:
    """Conversations that share openings, branch off each other, are edited, resent, salted and aborted.

    Up to `parallel` requests are in flight at once, and no prompt is longer than `longest_prompt` tokens.
    """

    seed: int
    conversations: int
    longest_prompt: int
    parallel: int = 4
    vocabulary: int = 32000
    _steps: list[Step] = field(default_factory=list, init=False)

    def steps(self) -> list[Step]:
        self._random = random.Random(self.seed)
        self._steps, self._requests = [], 0
        self._openings = [self._fresh(self.longest_prompt // 4) for _ in range(4)]
        self._ended: list[_Conversation] = []
        active: list[_Conversation] = []
        started = 0
        while active or started < self.conversations:
            if started < self.conversations and (not active or (self._chance(0.15) and len(active) < self.parallel)):
                active.append(self._start())
                started += 1
                continue
            conversation = self._random.choice(active)
            self._go_on(conversation)
            if not conversation.turns and conversation.in_flight is None:
                active.remove(conversation)
                self._ended = [*self._ended[-30:], conversation]
            if self._chance(0.004) and all(one.in_flight is None for one in active):
                self._steps.append(Step("reset"))
        return self._steps

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _fresh(self, longest: int) -> tuple[int, ...]:
        return tuple(self._random.randrange(self.vocabulary) for _ in range(self._random.randint(1, max(1, longest))))

    def _start(self) -> _Conversation:
        salt = self._random.choice(["tenant-a", "tenant-b"]) if self._chance(0.15) else None
        adapter = self._random.choice(["support", "legal"]) if self._chance(0.15) else None
        turns = self._random.randint(1, 7)
        if self._ended and self._chance(0.3):
            origin = self._random.choice(self._ended)
            cut = self._random.randint(0, len(origin.history))
            if self._chance(0.7):
                salt, adapter = origin.salt, origin.adapter
            return _Conversation(origin.history[:cut], salt, adapter, turns)
        return _Conversation(self._random.choice(self._openings), salt, adapter, turns)

    def _go_on(self, conversation: _Conversation) -> None:
        if conversation.in_flight is not None:
            self._end(conversation)
            return
        conversation.turns -= 1
        if not self._chance(0.1):  # Else the very prompt before, with the reply to it, is sent as it is.
            conversation.history += self._fresh(self.longest_prompt // 6)
        if conversation.history and self._chance(0.08):
            place = self._random.randrange(len(conversation.history))
            edited = (*conversation.history[:place], *self._fresh(2), *conversation.history[place + 1 :])
            conversation.history = edited
        conversation.history = conversation.history[: self.longest_prompt] or self._fresh(2)
        self._requests += 1
        conversation.in_flight = self._requests
        step = Step("begin", self._requests, conversation.history, conversation.salt, conversation.adapter)
        self._steps.append(step)

    def _end(self, conversation: _Conversation) -> None:
        assert conversation.in_flight is not None
        if self._chance(0.07):
            self._steps.append(Step("abort", conversation.in_flight))
        else:
            reply = self._fresh(self.longest_prompt // 8) if self._chance(0.9) else ()
            self._steps.append(Step("finish", conversation.in_flight, reply))
            conversation.history += reply
        conversation.in_flight = None


def fingerprint(steps: Sequence[Step]) -> str:
    return hashlib.sha256(json.dumps(steps).encode()).hexdigest()


def answers_of(cache: PrefixCache, steps: Sequence[Step]) -> list[int | None]:
    """Cached tokens of every "begin" by a model, None where it has to wait. A prompt is readable once admitted."""
    held: dict[int, Lease] = {}
    answers: list[int | None] = []
    for step in steps:
        if step.verb == "begin":
            lease = cache.begin(step.tokens, namespace=step.namespace)
            answers.append(None if lease is None else lease.cached_tokens)
            if lease is not None:
                cache.publish(lease)
                held[step.request] = lease
        elif step.verb == "reset":
            held.clear()
            cache.reset()
        elif (ended := held.pop(step.request, None)) is None:
            continue
        elif step.verb == "finish":
            cache.finish(ended, step.tokens)
        else:
            cache.abort(ended)
    cache.check_integrity()
    return answers


def lines_of(steps: Sequence[Step]) -> list[list[object]]:
    """The steps as the drivers of `tests/differential` read them."""
    lines: list[list[object]] = []
    for step in steps:
        members: dict[str, list[object]] = {
            "begin": [step.tokens, step.salt, step.adapter],
            "finish": [step.tokens],
        }
        number: list[object] = [] if step.verb == "reset" else [step.request]
        lines.append([step.verb, *number, *members.get(step.verb, [])])
    return lines
