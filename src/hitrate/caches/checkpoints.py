"""The llama.cpp server's cache for models whose memory cannot be cut at any token: slots that go back to checkpoints.

Sliding-window layers forget what left the window, recurrent ones (hybrid models have some) keep one state of all they
read. So the server copies that part of a slot's memory now and then, and a prompt that parts from what the slot holds
goes on from the newest copy that is not behind the parting, or from the start. Written from and held against
`tools/server/server-context.cpp` (`pre_decode`, `create_checkpoint`), October 2026:

- copied is before each batch of a prompt that starts with the last user message, lies near the prompt's end (within a
  micro-batch), or starts with a user message and is more than `checkpoint_min_step` tokens from the last copy
- batches end at `batch` tokens, before those user messages, and 4 + `micro_batch` and 4 tokens before the prompt's end,
  so that copies come to lie there
- a full list loses first the copies of earlier calls that lie within the step of the one before them, then its oldest
- what lies behind the place that a prompt goes on from is erased

Not modelled: requests computed at once, which share batches; a host store limited in bytes that is full, as the sizes
of copies are not known; `--cache-reuse`, which the server ignores here as long as a slot has more tokens than the
window has cells; speculative decoding; images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hitrate.caches.host_store import HeldSequence, HostStore
from hitrate.caches.interface import Lease
from hitrate.caches.slot_memory import RecurrentMemory, SlotMemory, WindowMemory, window_cells
from hitrate.caches.slots import SlotCache, SlotLease

DEFAULT_CHECKPOINTS = 32
DEFAULT_MIN_STEP = 8192
DEFAULT_BATCH = 2048
DEFAULT_MICRO_BATCH = 512
_LAST_TOKENS = 4
"""A copy is made this many tokens before a prompt's end, and as many and a micro-batch."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A copy of what the memory held of the first `tokens` tokens; `call` made it."""

    tokens: int
    lowest: int
    """The lowest position that the memory held; the copy itself holds `state`, which may start later."""
    state: tuple[int, ...]
    call: int

    @property
    def highest(self) -> int:
        return self.tokens - 1


@dataclass(frozen=True, slots=True)
class HeldState(HeldSequence):
    """`lowest` and `state` are current in what `_state` gives, and in the host store."""

    checkpoints: tuple[Checkpoint, ...] = ()
    lowest: int = -1
    state: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Restart:
    """Where a prompt goes on: from `checkpoint`, or from what the slot holds where that is None."""

    cached_tokens: int
    checkpoint: Checkpoint | None
    kept: tuple[Checkpoint, ...]


class CheckpointCache(SlotCache):
    """`window` is the sliding window in tokens, None a recurrent or hybrid model; the rest as in `SlotCache`.

    `full_window` is `--swa-full`: the layers with a window keep all tokens, and no copies are made.
    `checkpoints` is `--ctx-checkpoints` (0: none), `checkpoint_min_step` `--checkpoint-min-step`, `batch` and
    `micro_batch` are `--batch-size` and `--ubatch-size`, in tokens. `cells` are those of the layers with a window, one
    a token, None for as many as llama.cpp makes.
    """

    def __init__(
        self,
        slots: int = 4,
        context_per_slot: int | None = None,
        *,
        window: int | None = None,
        full_window: bool = False,
        checkpoints: int = DEFAULT_CHECKPOINTS,
        checkpoint_min_step: int = DEFAULT_MIN_STEP,
        batch: int = DEFAULT_BATCH,
        micro_batch: int = DEFAULT_MICRO_BATCH,
        cells: int | None = None,
        **options: Any,
    ) -> None:
        if window is not None and window < 1:
            raise ValueError(f"window is {window}, it has to be at least 1, or None for a recurrent model")
        for name, value, least in (
            ("checkpoints", checkpoints, 0),
            ("checkpoint_min_step", checkpoint_min_step, 0),
            ("batch", batch, 1),
            ("micro_batch", micro_batch, 1),
        ):
            if value < least:
                raise ValueError(f"{name} is {value}, it has to be at least {least}")
        self.window = window
        self.full_window = full_window
        self.checkpoints = 0 if full_window and window is not None else checkpoints
        self.checkpoint_min_step = checkpoint_min_step
        self.cells = cells
        unified = bool(options.get("kv_unified"))
        context = None if context_per_slot is None else context_per_slot * (1 if unified else slots)
        self.batch = batch if context is None else min(batch, context)
        self.micro_batch = min(self.batch, micro_batch)
        self._sharing = slots if unified else 1
        """Sequences in one memory."""
        super().__init__(slots, context_per_slot, **options)
        if self.cache_reuse and (window is None or full_window or self._keeps_whole_context()):
            raise ValueError(
                "cache_reuse is not modelled for a recurrent model, or with a window that keeps all tokens"
            )
        self.cache_reuse = 0

    def _keeps_whole_context(self) -> bool:
        assert self.window is not None
        cells = window_cells(self.window, self.micro_batch, self.context_per_slot, self._sharing)
        return self.context_per_slot is not None and cells >= self.context_per_slot

    def reset(self) -> None:
        super().reset()
        self._memories = [self._memory() for _ in range(1 if self._sharing > 1 else self.slot_count)]
        self._running: dict[SlotLease, tuple[int, tuple[int, ...]]] = {}
        """Number of the call, and where user messages start in its prompt."""
        self._calls = 0
        for slot in self._slots:
            slot.held = HeldState()

    def _memory(self) -> SlotMemory:
        if self.window is None:
            return RecurrentMemory()
        if self.cells is not None or self.full_window:
            return WindowMemory(self.window, self.cells or self.context_per_slot)
        made = window_cells(self.window, self.micro_batch, self.context_per_slot, self._sharing)
        return WindowMemory(self.window, made)

    def _memory_of(self, index: int) -> SlotMemory:
        return self._memories[0 if self._sharing > 1 else index]

    def checkpoints_of(self, index: int) -> tuple[Checkpoint, ...]:
        """The copies of a slot, oldest first."""
        held = self._slots[index].held
        assert isinstance(held, HeldState)
        return held.checkpoints

    def begin(
        self,
        tokens: Sequence[int],
        *,
        now: float = 0.0,
        namespace: object = None,
        id_slot: int | None = None,
        cache_prompt: bool = True,
        user_starts: Sequence[int] = (),
    ) -> SlotLease | None:
        """`user_starts`: positions in a chat's prompt at which the template opens a user message."""
        lease = super().begin(tokens, now=now, namespace=namespace, id_slot=id_slot, cache_prompt=cache_prompt)
        if lease is not None:
            self._running[lease] = (self._calls, tuple(user_starts))
            self._calls += 1
        return lease

    def peek(
        self,
        tokens: Sequence[int],
        *,
        now: float = 0.0,
        namespace: object = None,
        id_slot: int | None = None,
        cache_prompt: bool = True,
        user_starts: Sequence[int] = (),
    ) -> int:
        return super().peek(tokens, now=now, namespace=namespace, id_slot=id_slot, cache_prompt=cache_prompt)

    def publish(self, lease: Lease, *, now: float = 0.0) -> None:
        held = self._held(lease)
        if held is not None and not held.is_published:
            self._compute_prompt(held)
            super().publish(held, now=now)

    def _end(self, lease: SlotLease) -> None:
        super()._end(lease)
        del self._running[lease]

    def _state(self, index: int) -> HeldState:
        memory, held = self._memory_of(index), self._slots[index].held
        assert isinstance(held, HeldState)
        return replace(held, lowest=memory.lowest(index), state=memory.saved(index))

    def _exchange(self, index: int, prompt: HeldSequence, id_slot: int | None) -> tuple[HeldState, HostStore | None]:
        held, store = super()._exchange(index, prompt, id_slot)
        if not isinstance(held, HeldState):
            return HeldState(held.tokens, held.namespace), store
        if self._is_another(index, held):
            # Loaded, the memory starts with what was copied of it.
            held = replace(held, lowest=min(held.state, default=-1))
        return held, store

    def _put(self, index: int, held: HeldSequence) -> None:
        state = held if isinstance(held, HeldState) else HeldState(held.tokens, held.namespace)
        if self._is_another(index, state):
            self._memory_of(index).load(index, state.state)
        super()._put(index, state)

    def _is_another(self, index: int, held: HeldSequence) -> bool:
        own = self._slots[index].held
        return (held.tokens, held.namespace) != (own.tokens, own.namespace)

    def _cut(self, index: int, prompt: HeldSequence, cache_prompt: bool) -> int:
        memory = self._memory_of(index)
        restart = self._restart(self._state(index), prompt, cache_prompt)
        if restart.checkpoint is not None:
            memory.load(index, restart.checkpoint.state)
        memory.cut(index, restart.cached_tokens)
        kept = prompt.tokens[: restart.cached_tokens]
        self._slots[index].held = HeldState(kept, prompt.namespace, restart.kept)
        return restart.cached_tokens

    def _reusable(self, held: HeldSequence, prompt: HeldSequence, cache_prompt: bool) -> int:
        if not isinstance(held, HeldState):
            return 0
        return self._restart(held, prompt, cache_prompt).cached_tokens

    def _restart(self, held: HeldState, prompt: HeldSequence, cache_prompt: bool) -> _Restart:
        length = len(prompt.tokens)
        common = held.common(prompt) if cache_prompt else 0
        seen = 0 if self.window is None or self.full_window else self.window
        # The next token's window has to be there; where there is no next token, that of the prompt's last.
        needed = max(0, common - seen - (common == length))
        cached_tokens, place, checkpoint = common, common, None
        if common and held.lowest >= needed:
            usable = (
                copy
                for copy in reversed(held.checkpoints)
                if copy.highest <= common and (copy.lowest < needed or copy.lowest == 0)
            )
            checkpoint = next(usable, None)
            if checkpoint is None:
                cached_tokens = place = 0
            else:
                place = min(common, max(checkpoint.lowest + 1, checkpoint.highest))
                cached_tokens = min(place, checkpoint.tokens)
        kept = tuple(copy for copy in held.checkpoints if copy.highest <= place)
        if cached_tokens == length:
            # At least one token is always computed, for its logits.
            cached_tokens -= 1
        return _Restart(max(0, cached_tokens), checkpoint, kept)

    def _fill(self, index: int, sequence: HeldSequence) -> None:
        held = HeldState(sequence.tokens, sequence.namespace, self.checkpoints_of(index))
        super()._fill(index, held)
        memory = self._memory_of(index)
        memory.compute(index, memory.highest(index) + 1, len(sequence.tokens), 1)

    def _compute_prompt(self, lease: SlotLease) -> None:
        """Batch by batch, with a copy made before those that call for one."""
        index, length = lease.slot, len(lease.prompt.tokens)
        memory = self._memory_of(index)
        call, user_starts = self._running[lease]
        last_user = max(user_starts, default=None)
        copies = list(self.checkpoints_of(index))
        start = lease.cached_tokens
        while start < length:
            end = self._end_of_batch(start, length, user_starts, copies)
            is_near_end = length < end + self.micro_batch
            is_due = start == last_user or is_near_end or self._is_far(start, copies)
            # In the middle of a prompt only before user messages, or near its end.
            is_place = end == length or is_near_end or start in user_starts
            if self.checkpoints and start and is_due and is_place:
                self._make_room(copies, call)
                copies = [copy for copy in copies if copy.tokens != start]
                copies.append(Checkpoint(start, memory.lowest(index), memory.saved(index), call))
            memory.compute(index, start, end, self.micro_batch)
            start = end
        self._slots[index].held = replace(self._state(index), checkpoints=tuple(copies))

    def _is_far(self, place: int, copies: Sequence[Checkpoint]) -> bool:
        return not copies or place > copies[-1].tokens + self.checkpoint_min_step

    def _end_of_batch(self, start: int, length: int, user_starts: Sequence[int], copies: Sequence[Checkpoint]) -> int:
        ends = [start + self.batch, length]
        if self.checkpoints:
            ends += [length - min(self.batch, more + _LAST_TOKENS) for more in (self.micro_batch, 0)]
            last = max(user_starts, default=None)
            ends += [place for place in user_starts if place == last or self._is_far(place, copies)]
        return min(end for end in ends if end > start)

    def _make_room(self, copies: list[Checkpoint], call: int) -> None:
        before: Checkpoint | None = None
        for copy in list(copies):
            if len(copies) + 1 < self.checkpoints:
                break
            is_close = before is not None and copy.tokens <= before.tokens + self.checkpoint_min_step
            if copy.call != call and is_close:
                copies.remove(copy)
            else:
                before = copy
        while len(copies) >= self.checkpoints:
            copies.pop(0)

    def check_integrity(self) -> None:
        super().check_integrity()
        for memory in self._memories:
            memory.check_integrity()
        for index, slot in enumerate(self._slots):
            memory, copies = self._memory_of(index), self.checkpoints_of(index)
            assert memory.highest(index) == len(slot.held.tokens) - 1, "memory and tokens of a slot disagree"
            assert len(copies) <= self.checkpoints, "more checkpoints than are allowed"
            assert len({copy.tokens for copy in copies}) == len(copies), "two checkpoints of one place"
            for copy in copies:
                assert copy.state and max(copy.state) == copy.highest, "a checkpoint ends elsewhere than it says"
                assert 0 <= copy.lowest <= min(copy.state), "a checkpoint that starts before its memory"
