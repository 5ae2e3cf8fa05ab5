"""The llama.cpp server's cache: a few slots that each remember one token sequence, and a host store of old ones.

Written from and held against llama.cpp's `tools/server/server-context.cpp` (`get_available_slot`, the idle-slot pass in
`process_single_task`, `update_slots`) and `server-task.cpp` (`server_prompt_cache`), October 2026. It covers models
whose memory can be cut at any token; for sliding-window and recurrent ones see `checkpoints`.

Not modelled, because the server breaks there: a request for a *busy* slot by id runs the store logic on that slot
before it is deferred, and a unified pool that overflows with nothing left to purge ends every request in flight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hitrate.caches.host_store import HeldSequence, HostStore, ratio, single
from hitrate.caches.interface import Lease
from hitrate.caches.prefix import common_prefix_length
from hitrate.errors import ContextTooSmall

DEFAULT_HOST_CACHE_BYTES = 8192 * 1024 * 1024
_SAVE_BELOW = 0.5
"""A slot about to lose more than the rest of its sequence is saved first."""


_NOTHING = HeldSequence()


@dataclass(slots=True)
class _Slot:
    held: HeldSequence = _NOTHING
    last_used: int = -1
    is_busy: bool = False


class SlotLease(Lease):
    __slots__ = ("is_published", "prompt", "slot")

    def __init__(self, prompt: HeldSequence, cached_tokens: int, slot: int) -> None:
        super().__init__(len(prompt.tokens), cached_tokens)
        self.prompt = prompt
        self.slot = slot
        self.is_published = False


class SlotCache:
    """`slots` sequences side by side, `context_per_slot` tokens each (None: no limit).

    `kv_unified`: the slots share one pool of `context_per_slot` tokens instead (`--kv-unified`, the default of
    `llama-server` when it picks the number of slots itself); idle slots are then emptied when a request starts.
    `host_cache_bytes` is `--cache-ram`: 0 turns the store off, None lifts its limit. It binds only where the size of
    a stored sequence is known: `bytes_per_sequence` + `bytes_per_token` for each token.
    `cache_reuse` N > 0 also reuses later runs of at least N tokens by shifting them (`--cache-reuse`).
    """

    def __init__(
        self,
        slots: int = 4,
        context_per_slot: int | None = None,
        *,
        host_cache_bytes: int | None = DEFAULT_HOST_CACHE_BYTES,
        bytes_per_token: int | None = None,
        bytes_per_sequence: int = 0,
        slot_prompt_similarity: float = 0.1,
        cache_reuse: int = 0,
        cache_idle_slots: bool = True,
        kv_unified: bool = False,
    ) -> None:
        if slots < 1:
            raise ValueError(f"slots is {slots}, it has to be at least 1")
        self.slot_count = slots
        self.context_per_slot = context_per_slot
        self.host_cache_bytes = host_cache_bytes
        self.bytes_per_token = bytes_per_token
        self.bytes_per_sequence = bytes_per_sequence
        self.slot_prompt_similarity = single(slot_prompt_similarity)
        self.cache_reuse = cache_reuse
        self.cache_idle_slots = cache_idle_slots and host_cache_bytes != 0
        self.kv_unified = kv_unified
        self.reset()

    def reset(self) -> None:
        self._slots = [_Slot() for _ in range(self.slot_count)]
        self._open: set[SlotLease] = set()
        self._uses = 0
        self._store: HostStore | None = None
        if self.host_cache_bytes != 0:
            context = self.context_per_slot
            total = None if context is None else context * (1 if self.kv_unified else self.slot_count)
            self._store = HostStore(self.host_cache_bytes, total, self.bytes_per_token, self.bytes_per_sequence)

    @property
    def slot_tokens(self) -> list[tuple[int, ...]]:
        """What each slot holds, by slot id."""
        return [slot.held.tokens for slot in self._slots]

    @property
    def host_tokens(self) -> list[tuple[int, ...]]:
        """What the host store holds, oldest first."""
        return [] if self._store is None else [stored.tokens for stored in self._store.sequences]

    def peek(
        self,
        tokens: Sequence[int],
        *,
        now: float = 0.0,
        namespace: object = None,
        id_slot: int | None = None,
        cache_prompt: bool = True,
    ) -> int:
        """0 also when the request would have to wait for a slot."""
        prompt = HeldSequence(tuple(tokens), namespace)
        index = self._choose(prompt, id_slot)
        if index is None:
            return 0
        held, _ = self._exchange(index, prompt, id_slot)
        return self._reusable(held, prompt, cache_prompt)

    def slot_for(self, tokens: Sequence[int], *, namespace: object = None) -> int | None:
        """The slot that `begin` would take now, None when the request would wait. Changes nothing."""
        return self._choose(HeldSequence(tuple(tokens), namespace), None)

    def begin(
        self,
        tokens: Sequence[int],
        *,
        now: float = 0.0,
        namespace: object = None,
        id_slot: int | None = None,
        cache_prompt: bool = True,
    ) -> SlotLease | None:
        """`id_slot` (modulo the number of slots) and `cache_prompt` are the request fields of these names.

        Raises ContextTooSmall when the prompt fills a slot's context; as in the server, its slot has been chosen by
        then and counts as used.
        """
        prompt = HeldSequence(tuple(tokens), namespace)
        index = self._choose(prompt, id_slot)
        if index is None:
            return None
        slot = self._slots[index]
        held, self._store = self._exchange(index, prompt, id_slot)
        self._put(index, held)
        slot.is_busy = True
        self._save_idle_slots()
        if self.context_per_slot is not None and len(prompt.tokens) >= self.context_per_slot:
            self._free(slot)
            raise ContextTooSmall(
                f"a prompt of {len(prompt.tokens)} tokens does not fit a slot of {self.context_per_slot}",
                hint="raise the context size or lower the number of slots: without a unified cache they divide it",
            )
        lease = SlotLease(prompt, self._cut(index, prompt, cache_prompt), index)
        self._open.add(lease)
        return lease

    def publish(self, lease: Lease, *, now: float = 0.0) -> None:
        """Nobody reads a busy slot; the prompt only counts against a unified pool from here on."""
        held = self._held(lease)
        if held is not None and not held.is_published:
            held.is_published = True
            self._fill(held.slot, held.prompt)

    def finish(self, lease: Lease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        """The slot keeps prompt and reply, but for the last generated token: it was sampled, never decoded."""
        held = self._held(lease)
        if held is None:
            return
        self.publish(held)
        self._fill(held.slot, HeldSequence(held.prompt.tokens + tuple(generated[:-1]), held.prompt.namespace))
        self._end(held)

    def abort(self, lease: Lease, *, now: float = 0.0) -> None:
        """Before `publish` the slot keeps what it had reused; a real server also keeps the batches computed so far."""
        if (held := self._held(lease)) is not None:
            self._end(held)

    def _state(self, index: int) -> HeldSequence:
        """What a copy of the slot's state would hold."""
        return self._slots[index].held

    def _put(self, index: int, held: HeldSequence) -> None:
        """`held` is the slot's own, one from the store, or nothing."""
        self._slots[index].held = held

    def _cut(self, index: int, prompt: HeldSequence, cache_prompt: bool) -> int:
        """Leave in the slot what the prompt can go on from, and tell how many tokens that are."""
        slot = self._slots[index]
        cached_tokens = self._reusable(slot.held, prompt, cache_prompt)
        slot.held = HeldSequence(prompt.tokens[:cached_tokens], prompt.namespace)
        return cached_tokens

    def _held(self, lease: Lease) -> SlotLease | None:
        """None for a request that has ended or was in flight at a reset."""
        return lease if isinstance(lease, SlotLease) and lease in self._open else None

    def _end(self, lease: SlotLease) -> None:
        self._open.remove(lease)
        self._free(self._slots[lease.slot])

    def _choose(self, prompt: HeldSequence, id_slot: int | None) -> int | None:
        """The idle slot most similar to the prompt, else the one unused for longest (the last of those never used)."""
        if id_slot is not None:
            index = id_slot % self.slot_count
            return None if self._slots[index].is_busy else index
        idle = [index for index, slot in enumerate(self._slots) if not slot.is_busy]
        best, best_similarity = None, 0.0
        if self.slot_prompt_similarity:
            for index in idle:
                similarity = self._similarity(index, prompt)
                if similarity > best_similarity:
                    best, best_similarity = index, similarity
        if best is not None:
            return best
        return min(idle, key=lambda index: (self._slots[index].last_used, -index), default=None)

    def _similarity(self, index: int, prompt: HeldSequence) -> float:
        """Share of the prompt that the slot holds; 0 where it is not above the threshold."""
        similarity = ratio(self._slots[index].held.common(prompt), len(prompt.tokens))
        return similarity if similarity > self.slot_prompt_similarity else 0.0

    def _exchange(self, index: int, prompt: HeldSequence, id_slot: int | None) -> tuple[HeldSequence, HostStore | None]:
        """What the chosen slot holds after its old sequence was saved and a better one loaded, and the store then."""
        held, store = self._state(index), self._store
        if store is None or not self._must_exchange(index, prompt, id_slot):
            return held, store
        store = store.saved(held)
        best = store.best_for(held, prompt)
        if best is None:
            return held, store.trimmed()
        others = sum(len(slot.held.tokens) for number, slot in enumerate(self._slots) if number != index)
        if self.kv_unified and self.context_per_slot is not None and others + len(best.tokens) > self.context_per_slot:
            # The shared pool has no room: the load fails, the slot is emptied, the stored copy stays.
            return _NOTHING, store.trimmed()
        return best, store.without(best).trimmed()

    def _must_exchange(self, index: int, prompt: HeldSequence, id_slot: int | None) -> bool:
        if not self.slot_prompt_similarity:
            return id_slot is None
        # An id that had to be wrapped chooses the slot, but the server then compares no slot with the prompt.
        similarity = self._similarity(index, prompt) if id_slot in (None, index) else 0.0
        if not similarity and id_slot is None:
            return True
        shared = single(similarity * len(prompt.tokens))
        return ratio(shared, len(self._slots[index].held.tokens)) < _SAVE_BELOW

    def _save_idle_slots(self) -> None:
        if not self.cache_idle_slots:
            return
        for index, slot in enumerate(self._slots):
            if not slot.is_busy:
                assert self._store is not None
                self._store = self._store.saved(self._state(index)).trimmed()
                if self.kv_unified:
                    self._put(index, _NOTHING)

    def _reusable(self, held: HeldSequence, prompt: HeldSequence, cache_prompt: bool) -> int:
        if not cache_prompt:
            return 0
        reusable = held.common(prompt)
        if self.cache_reuse and held.namespace == prompt.namespace:
            reusable = self._with_shifted_runs(held.tokens, prompt.tokens, reusable)
        if reusable == len(prompt.tokens):
            # At least one token is always computed, for its logits.
            reusable -= 1
        return max(0, reusable)

    def _with_shifted_runs(self, held: tuple[int, ...], prompt: tuple[int, ...], reusable: int) -> int:
        """Runs of `cache_reuse` tokens or more further on in the slot that continue the prompt are moved up."""
        start = reusable
        while start < len(held) and reusable < len(prompt):
            run = common_prefix_length(held[start:], prompt, reusable)
            if run >= self.cache_reuse:
                start += run
                reusable += run
            else:
                start += 1
        return reusable

    def _fill(self, index: int, sequence: HeldSequence) -> None:
        self._slots[index].held = sequence
        if not self.kv_unified or self.context_per_slot is None:
            return
        for number, slot in enumerate(self._slots):
            if sum(len(each.held.tokens) for each in self._slots) <= self.context_per_slot:
                break
            if not slot.is_busy:
                self._put(number, _NOTHING)

    def _free(self, slot: _Slot) -> None:
        slot.is_busy = False
        slot.last_used = self._uses
        self._uses += 1

    def check_integrity(self) -> None:
        assert len(self._slots) == self.slot_count, "the number of slots changed"
        held = sorted(lease.slot for lease in self._open)
        busy = [index for index, slot in enumerate(self._slots) if slot.is_busy]
        assert held == busy, "busy slots and requests in flight disagree"
        for lease in self._open:
            slot = self._slots[lease.slot]
            expected = lease.prompt.tokens if lease.is_published else lease.prompt.tokens[: lease.cached_tokens]
            held_now = (slot.held.tokens, slot.held.namespace)
            assert held_now == (expected, lease.prompt.namespace), "a busy slot holds another prompt"
        uses = [slot.last_used for slot in self._slots if slot.last_used >= 0]
        assert len(uses) == len(set(uses)), "two slots were last used at the same moment"
        assert (self._store is None) == (self.host_cache_bytes == 0), "the host store does not match its limit"
        if self._store is not None:
            stored = self._store.sequences
            assert all(sequence.tokens for sequence in stored), "an empty sequence was stored"
            assert not self._store.is_over_limit, "the host store is over its limit"
