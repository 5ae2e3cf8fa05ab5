"""How many conversations a trace is of, told by its prompts alone: as many as it takes to say that they are enough."""

from __future__ import annotations

from collections import Counter

from hitrate.core.trace import Chunk


class Conversations:
    """A prompt goes on from an earlier one when it begins with all full blocks of that, has more of its own, and no
    other has gone on from it yet. Every other begins a conversation: so does one that only opens as others do, and one
    that repeats another.

    Counting ends at `enough`, since a long trace reaches that soon.
    """

    def __init__(self, block_tokens: int, enough: int) -> None:
        self.number = 0
        self._block_tokens = block_tokens
        self._enough = enough
        self._ends: Counter[int] = Counter()
        """Of prompts that none has gone on from yet: the last full block."""

    def add(self, chunk: Chunk) -> None:
        for place, tokens in enumerate(chunk.input_tokens):
            if self.number >= self._enough:
                return
            start, end = chunk.starts[place : place + 2]
            self._see(chunk.ids[start : min(end, start + tokens // self._block_tokens)].tolist())

    def _see(self, full: list[int]) -> None:
        earlier = next((block for block in reversed(full[:-1]) if self._ends.get(block)), None) if full else None
        if earlier is None:
            self.number += 1
        else:
            self._ends[earlier] -= 1
        if full:
            self._ends[full[-1]] += 1
