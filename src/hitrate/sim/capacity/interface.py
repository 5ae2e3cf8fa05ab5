"""What an eviction rule has to provide. One file a rule beside this one."""

from __future__ import annotations

from typing import Protocol

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
