"""How much KV memory requests take that run side by side: prompts that begin alike have their blocks in common."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Protocol


class Memory(Protocol):
    """What an engine asks of prompts that it lets in and out, by their numbers. Amounts are in tokens."""

    def added(self, number: int) -> int:
        """By this prompt, if it came in now. Changes nothing."""
        ...

    def enter(self, number: int) -> int:
        """What is added by it: from now on it is held."""
        ...

    def leave(self, number: int) -> int:
        """What nobody holds any more without it."""
        ...

    def forget(self, number: int) -> None:
        """It will not come in any more."""
        ...


class BlockMemory:
    """Prompts by their blocks. A block takes what its first holder has in it."""

    def __init__(self, block_tokens: int) -> None:
        self._block_tokens = block_tokens
        self._asked: dict[int, tuple[Sequence[int], int]] = {}
        self._held: dict[int, tuple[int, int]] = {}
        """How many hold a block, and its tokens."""

    def expect(self, number: int, asked: Sequence[int], tokens: int) -> None:
        """A request that may come in from now on."""
        self._asked[number] = (asked, tokens)

    def forget(self, number: int) -> None:
        del self._asked[number]

    def added(self, number: int) -> int:
        asked, tokens = self._asked[number]
        there = sum(map(self._held.__contains__, asked))
        return tokens - min(there * self._block_tokens, tokens)

    def enter(self, number: int) -> int:
        asked, tokens = self._asked[number]
        held, size = self._held, self._block_tokens
        added = max(0, tokens - len(asked) * size)
        last = tokens - (len(asked) - 1) * size
        sizes = chain(repeat(size, max(0, len(asked) - 1)), (max(0, min(size, last)),))
        for block, of in zip(asked, sizes, strict=False):
            count, known = held.get(block, (0, of))
            held[block] = (count + 1, known)
            added += 0 if count else of
        return added

    def leave(self, number: int) -> int:
        asked, tokens = self._asked[number]
        held = self._held
        freed = max(0, tokens - len(asked) * self._block_tokens)
        for block in asked:
            count, size = held[block]
            if count == 1:
                del held[block]
                freed += size
            else:
                held[block] = (count - 1, size)
        return freed
