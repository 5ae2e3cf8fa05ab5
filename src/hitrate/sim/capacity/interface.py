"""What an eviction rule has to provide. One file a rule beside this one."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import Protocol, runtime_checkable

from hitrate.core.trace import Chunk


class BlockCache(Protocol):
    """A cache of `capacity` blocks, empty at first; None is one that never has to evict."""

    capacity: int | None

    def add(self, chunk: Chunk) -> list[int]:
        """Per request, its leading blocks that were there when it came; it leaves its own blocks behind."""
        ...

    def check_integrity(self) -> None:
        """Raise AssertionError with the first broken invariant. Changes nothing."""
        ...


@runtime_checkable
class SteppedCache(BlockCache, Protocol):
    """A cache that takes its requests one by one: one replica's. A class that names it as its base has `add`."""

    def add(self, chunk: Chunk) -> list[int]:
        ids, serve = chunk.ids, self.serve
        return [
            serve(ids[start:end], tokens, now)
            for (start, end), tokens, now in zip(pairwise(chunk.starts), chunk.input_tokens, chunk.at_s, strict=True)
        ]

    def serve(self, asked: array[int], input_tokens: int, now: float) -> int:
        """The request's leading blocks that were there; it leaves its own blocks behind. `now` as in `Chunk.at_s`."""
        ...

    def peek(self, asked: array[int], input_tokens: int, now: float) -> int:
        """What `serve` would answer. Changes nothing at all, not even recency."""
        ...
