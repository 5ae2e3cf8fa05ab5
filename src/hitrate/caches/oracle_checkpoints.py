"""The slow, obvious answer for `checkpoints.CheckpointCache`. See `oracle`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hitrate.caches.oracle import OracleLease
from hitrate.caches.oracle_slots import SlotOracle


class _Sequence(list[int]):
    """Tokens as the host store has them, with the positions of the state and the checkpoints that were saved along."""

    def __init__(self, tokens: list[int], positions: list[int], checkpoints: list[dict[str, Any]]) -> None:
        super().__init__(tokens)
        self.positions = positions
        self.checkpoints = checkpoints


class CheckpointOracle(SlotOracle):
    """Statement by statement what the server and its context do. `window` None is a recurrent model.

    `cells` are the context's, one list for all slots or one a slot: of each the slot and the position it holds, or
    None. A recurrent model has one cell a slot.
    """

    def __init__(
        self,
        slots: int,
        context: int | None = None,
        *,
        window: int | None = None,
        full: bool = False,
        checkpoints: int = 32,
        step: int = 8192,
        batch: int = 2048,
        micro_batch: int = 512,
        cell_count: int = 0,
        **options: Any,
    ) -> None:
        """`cell_count` is the size of one list of cells."""
        self.window = window
        self.full = full
        self.most = 0 if full else checkpoints
        self.step = step
        self.batch = batch
        self.micro_batch = micro_batch
        self.cell_count = cell_count
        super().__init__(slots, context, **options)

    def reset(self) -> None:
        super().reset()
        lists = 1 if self.unified else self.slots
        self.cells: list[list[tuple[int, int] | None]] = [[None] * self.cell_count for _ in range(lists)]
        self.heads = [0] * lists
        self.states: list[int] = [-1] * self.slots
        self.checkpoints: list[list[dict[str, Any]]] = [[] for _ in range(self.slots)]
        self.calls = 0
        self.users: dict[int, tuple[int, list[int]]] = {}

    def begin(self, tokens: Sequence[int], *, user_starts: Sequence[int] = (), **options: Any) -> OracleLease | None:
        self.whole = list(tokens)
        lease = super().begin(tokens, **options)
        if lease is not None:
            self.users[id(lease)] = (self.calls, list(user_starts))
            self.calls += 1
        return lease

    def _positions(self, slot: int) -> list[int]:
        """What the context has of a slot, in the order of the cells."""
        if self.window is None:
            return [self.states[slot]] if self.states[slot] >= 0 else []
        cells = self.cells[0 if self.unified else slot]
        return [cell[1] for cell in cells if cell is not None and cell[0] == slot]

    def _copied(self, slot: int) -> list[int]:
        positions = self._positions(slot)
        return [at for at in positions if self.window is None or max(positions) - at < self.window]

    def _forget(self, slot: int, start: int, end: int | None = None) -> None:
        if self.window is None:
            if start == 0:
                self.states[slot] = -1
            return
        number = 0 if self.unified else slot
        for index, cell in enumerate(self.cells[number]):
            if cell is not None and cell[0] == slot and start <= cell[1] and (end is None or cell[1] < end):
                self.cells[number][index] = None
                self.heads[number] = min(self.heads[number], index)

    def _write(self, slot: int, positions: Sequence[int]) -> None:
        if not positions:
            return
        if self.window is None:
            self.states[slot] = positions[-1]
            return
        number = 0 if self.unified else slot
        cells = self.cells[number]
        used = sum(cell is not None for cell in cells)
        start = 0 if self.heads[number] > used + 2 * len(positions) else self.heads[number]
        newest = {one: max(self._positions(one), default=-1) for one in range(self.slots)}
        order = [(start + step) % len(cells) for step in range(len(cells))]
        free = []
        for index in order:
            cell = cells[index]
            if cell is None or newest[cell[0]] + 1 - cell[1] >= self.window:
                free.append(index)
        chosen = free[: len(positions)]
        assert len(chosen) == len(positions)
        lost = [cell for index in chosen if (cell := cells[index]) is not None]
        for index, position in zip(chosen, positions, strict=True):
            cells[index] = (slot, position)
        for one in {owner for owner, _ in lost}:
            self._forget(one, 0, 1 + max(position for owner, position in lost if owner == one))
        self.heads[number] = chosen[-1] + 1

    def _save(self, slot: int) -> None:
        """What is stored is the slot's sequence, its state and its checkpoints, as they are now."""
        current = self.tokens[slot]
        if current:
            self.tokens[slot] = _Sequence(current, self._copied(slot), list(self.checkpoints[slot]))
        super()._save(slot)
        self.tokens[slot] = current

    def _load(self, slot: int, namespace: object, prompt: list[int]) -> None:
        super()._load(slot, namespace, prompt)
        self._follow(slot)

    def _follow(self, slot: int) -> None:
        """The memory of a slot that was emptied or filled from the store."""
        tokens = self.tokens[slot]
        if isinstance(tokens, _Sequence):
            self._forget(slot, 0)
            self._write(slot, tokens.positions)
            self.checkpoints[slot] = list(tokens.checkpoints)
            self.tokens[slot] = list(tokens)
        elif not tokens:
            self._forget(slot, 0)
            self.checkpoints[slot] = []

    def _take(self, slot: int, namespace: object, wanted: list[int]) -> int:
        for number in range(self.slots):
            if all(lease.held != number for lease in self.open) and number != slot:
                self._follow(number)
        length = len(self.whole)
        past = place = self._common(slot, namespace, wanted)
        window = 0 if self.window is None or self.full else self.window
        threshold = max(0, past - window - (0 if past < length else 1))
        positions = self._positions(slot)
        if past > 0 and min(positions, default=-1) >= threshold:
            usable = [
                one
                for one in self.checkpoints[slot]
                if one["highest"] <= past and (one["lowest"] < threshold or one["lowest"] == 0)
            ]
            if usable:
                self._forget(slot, 0)
                self._write(slot, usable[-1]["positions"])
                place = min(past, max(usable[-1]["lowest"] + 1, usable[-1]["highest"]))
                past = min(place, usable[-1]["tokens"])
            else:
                past = place = 0
        self.checkpoints[slot] = [one for one in self.checkpoints[slot] if one["highest"] <= place]
        if past == length and past > 0:
            past -= 1
        self._forget(slot, past)
        return past

    def publish(self, lease: OracleLease, *, now: float = 0.0) -> None:
        if lease in self.open and not lease.is_published:
            self._compute(lease)
        super().publish(lease, now=now)

    def _compute(self, lease: OracleLease) -> None:
        """The prompt, token by token into batches, as `pre_decode` fills them."""
        slot, length = lease.held, len(lease.tokens)
        call, users = self.users[id(lease)]
        have = self.checkpoints[slot]
        done = lease.cached_tokens
        while done < length:
            start = done
            while done < length and done - start < self.batch:
                done += 1
                if not self.most:
                    continue
                last = have[-1]["tokens"] if have else None
                if done in users and (done == max(users) or last is None or done > last + self.step):
                    break
                if length - done in (min(self.batch, 4 + self.micro_batch), min(self.batch, 4)):
                    break
            near_end = length < done + self.micro_batch
            wanted = self.most > 0 and start > 0
            if done < length and start not in users and not near_end:
                wanted = False
            if have and not near_end and start != max(users, default=-1) and start <= have[-1]["tokens"] + self.step:
                wanted = False
            if wanted:
                self._checkpoint(slot, start, call)
            for first in range(start, done, self.micro_batch):
                self._write(slot, list(range(first, min(done, first + self.micro_batch))))

    def _checkpoint(self, slot: int, start: int, call: int) -> None:
        have = self.checkpoints[slot]
        before = -1
        index = 0
        while len(have) + 1 >= self.most and index < len(have):
            if have[index]["call"] != call and before >= 0 and have[index]["tokens"] <= before + self.step:
                del have[index]
            else:
                before = have[index]["tokens"]
                index += 1
        while len(have) >= self.most:
            del have[0]
        have[:] = [one for one in have if one["tokens"] != start]
        positions = self._positions(slot)
        have.append(
            {
                "tokens": start,
                "call": call,
                "lowest": min(positions),
                "highest": max(positions),
                "positions": self._copied(slot),
            }
        )

    def _keep(self, lease: OracleLease, tokens: list[int], now: float) -> None:
        super()._keep(lease, tokens, now)
        for slot in range(self.slots):
            if all(other.held != slot for other in self.open):
                self._follow(slot)
        for position in range(max(self._positions(lease.held), default=-1) + 1, len(tokens)):
            self._write(lease.held, [position])
