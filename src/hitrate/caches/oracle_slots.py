"""The slow, obvious answer for `slots.SlotCache`. See `oracle`."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Sequence
from typing import Any

from hitrate.caches.oracle import Oracle, OracleLease, shared
from hitrate.errors import ContextTooSmall


def _float(value: float) -> float:
    return ctypes.c_float(value).value


class SlotOracle(Oracle):
    """For `slots.SlotCache`, statement by statement what the server does. `held` is the slot's number."""

    def __init__(
        self,
        slots: int,
        context: int | None = None,
        *,
        limit_bytes: int | None = None,
        bytes_per_token: int = 1,
        similarity: float = 0.1,
        reuse: int = 0,
        saves_idle: bool = True,
        unified: bool = False,
    ) -> None:
        self.slots = slots
        self.context = context
        self.limit_bytes = limit_bytes
        self.bytes_per_token = bytes_per_token
        self.similarity = _float(similarity)
        self.reuse = reuse
        self.saves_idle = saves_idle
        self.unified = unified
        self.context_is_checked = True
        super().__init__()

    def reset(self) -> None:
        super().reset()
        self.tokens: list[list[int]] = [[] for _ in range(self.slots)]
        self.names: list[object] = [None] * self.slots
        self.last_used = [-1] * self.slots
        self.stored: list[tuple[object, list[int]]] = []

    def peek(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None, **options: Any) -> int:
        twin = copy.deepcopy(self)
        twin.context_is_checked = False
        lease = twin.begin(tokens, now=now, namespace=namespace, **options)
        return lease.cached_tokens if lease else 0

    def begin(
        self,
        tokens: Sequence[int],
        *,
        now: float = 0.0,
        namespace: object = None,
        id_slot: int | None = None,
        cache_prompt: bool = True,
    ) -> OracleLease | None:
        prompt = list(tokens)
        busy = {lease.held for lease in self.open}
        chosen = None if id_slot is None else id_slot % self.slots
        if chosen in busy:
            return None
        best = 0.0
        if self.similarity:
            for slot in range(self.slots):
                if slot in busy or not self.tokens[slot] or id_slot not in (None, slot) or not prompt:
                    continue
                similarity = _float(self._common(slot, namespace, prompt) / len(prompt))
                if similarity > best and similarity > self.similarity:
                    chosen, best = slot, similarity
        swaps = False
        if chosen is None:
            for slot in range(self.slots):
                if slot not in busy and (chosen is None or self.last_used[slot] <= self.last_used[chosen]):
                    chosen, swaps = slot, True
        elif self.similarity and self.tokens[chosen]:
            swaps = _float(_float(best * len(prompt)) / len(self.tokens[chosen])) < 0.5
        if chosen is None:
            return None
        if swaps and self.limit_bytes != 0:
            self._save(chosen)
            self._load(chosen, namespace, prompt)
            self._trim()
        if self.saves_idle and self.limit_bytes != 0:
            for slot in range(self.slots):
                if slot not in busy and slot != chosen:
                    self._save(slot)
                    self._trim()
                    if self.unified:
                        self.tokens[slot] = []
        if self.context_is_checked and self.context is not None and len(prompt) >= self.context:
            self.last_used[chosen] = self._next_event()
            raise ContextTooSmall("the prompt does not fit the slot")
        past = self._take(chosen, namespace, prompt if cache_prompt else [])
        self.tokens[chosen], self.names[chosen] = prompt[:past], namespace
        self.open.append(OracleLease(prompt, namespace, past, chosen))
        return self.open[-1]

    def _common(self, slot: int, namespace: object, prompt: list[int]) -> int:
        return shared(self.tokens[slot], prompt) if self.names[slot] == namespace else 0

    def _save(self, slot: int) -> None:
        tokens, name = self.tokens[slot], self.names[slot]
        if not tokens or any(n == name and shared(t, tokens) == len(tokens) for n, t in self.stored):
            return
        if self.limit_bytes is not None and len(tokens) * self.bytes_per_token > self.limit_bytes:
            return
        self.stored = [(n, t) for n, t in self.stored if n != name or shared(t, tokens) < len(t)]
        self.stored.append((name, tokens))
        while self.limit_bytes is not None and self._stored_tokens() * self.bytes_per_token > self.limit_bytes:
            self.stored.pop(0)

    def _stored_tokens(self) -> int:
        return sum(len(tokens) for _, tokens in self.stored)

    def _load(self, slot: int, namespace: object, prompt: list[int]) -> None:
        common = self._common(slot, namespace, prompt)
        keeps = _float(common / len(self.tokens[slot])) if self.tokens[slot] else -1.0
        covers = _float(common / len(prompt)) if prompt else 0.0
        best = None
        for entry in self.stored:
            common = shared(entry[1], prompt) if entry[0] == namespace else 0
            if not common or _float(common / len(entry[1])) < 0.25:
                continue
            if _float(common / len(entry[1])) > keeps and _float(common / len(prompt)) > covers:
                best, keeps, covers = entry, _float(common / len(entry[1])), _float(common / len(prompt))
        if best is None:
            return
        others = sum(len(tokens) for number, tokens in enumerate(self.tokens) if number != slot)
        if self.unified and self.context is not None and others + len(best[1]) > self.context:
            self.tokens[slot] = []
            return
        self.names[slot], self.tokens[slot] = best
        self.stored.remove(best)

    def _trim(self) -> None:
        """Every stored token costs the same here, so the limit in bytes is a limit in tokens too."""
        if self.context is None:
            return
        limit = self.context if self.unified else self.context * self.slots
        if self.limit_bytes is not None:
            limit = max(limit, self.limit_bytes // self.bytes_per_token)
        while self._stored_tokens() > limit:
            self.stored.pop(0)

    def _take(self, slot: int, namespace: object, wanted: list[int]) -> int:
        """How much of what the slot holds the prompt goes on from; it may look for `wanted`."""
        return self._past(slot, namespace, wanted)

    def _past(self, slot: int, namespace: object, prompt: list[int]) -> int:
        if self.names[slot] != namespace or not prompt:
            return 0
        held, past = self.tokens[slot], self._common(slot, namespace, prompt)
        at = past
        while self.reuse and at < len(held) and past < len(prompt):
            run = shared(held[at:], prompt[past:])
            if run >= self.reuse:
                past += run
            at += run if run >= self.reuse else 1
        return past - 1 if past == len(prompt) else past

    def _keep(self, lease: OracleLease, tokens: list[int], now: float) -> None:
        self.tokens[lease.held] = tokens
        if self.unified and self.context is not None:
            for slot in range(self.slots):
                idle = all(other.held != slot for other in self.open)
                if idle and sum(map(len, self.tokens)) > self.context:
                    self.tokens[slot] = []

    def _end(self, lease: OracleLease, now: float) -> None:
        super()._end(lease, now)
        self.last_used[lease.held] = self._next_event()
