"""What a router believes that its replicas hold, from its own choices: no policy, the memory of several."""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from itertools import filterfalse


class RouterIndex:
    """Blocks by the replicas they were sent to. `capacity` blocks a replica are kept, those used longest ago go first:
    of one request its last block with `leaves_first`, as in a tree, else its first, as in a flat table.
    """

    def __init__(self, replicas: int, *, leaves_first: bool) -> None:
        self.replicas = replicas
        self.first_holder: dict[int, int] = {}
        """Of each block, the replica it was sent to first, of those that still hold it."""
        self._holders: dict[int, int] = {}
        """Of each block, a bit for each replica."""
        self._recent: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(replicas)]
        self._leaves_first = leaves_first

    def sizes(self) -> list[int]:
        """Blocks of each replica."""
        return [len(recent) for recent in self._recent]

    def insert(self, replica: int, asked: array[int]) -> None:
        recent, holders, first_holder = self._recent[replica], self._holders, self.first_holder
        bit = 1 << replica
        unknown = list(filterfalse(recent.__contains__, asked))
        new = list(filterfalse(holders.__contains__, unknown))
        if len(new) < len(unknown):
            for block in filter(holders.__contains__, unknown):
                holders[block] |= bit
        holders.update(dict.fromkeys(new, bit))
        first_holder.update(dict.fromkeys(new, replica))
        recent.update(dict.fromkeys(unknown))
        deque(map(recent.move_to_end, asked[::-1] if self._leaves_first else asked), 0)

    def trim(self, replica: int, capacity: int) -> None:
        """Forget what is beyond so many blocks of a replica."""
        recent = self._recent[replica]
        while len(recent) > capacity:
            block, _ = recent.popitem(False)
            left = self._holders[block] & ~(1 << replica)
            if not left:
                del self._holders[block], self.first_holder[block]
                continue
            self._holders[block] = left
            if self.first_holder[block] == replica:
                self.first_holder[block] = (left & -left).bit_length() - 1

    def holders(self, block: int) -> int:
        """A bit for each replica that has it."""
        return self._holders.get(block, 0)

    def matched(self, asked: Sequence[int]) -> tuple[int, int]:
        """How many leading blocks anybody holds, and a bit for each replica that holds the last of them."""
        holders = self._holders
        matched = 0
        last = 0
        for block in asked:
            found = holders.get(block)
            if found is None:
                break
            last = found
            matched += 1
        return matched, last

    def counts(self, asked: Iterable[int]) -> list[int]:
        """Per replica, its blocks among the leading ones that anybody holds, whatever of its own stands before them."""
        counts = [0] * self.replicas
        for block in asked:
            held = self._holders.get(block)
            if held is None:
                break
            for replica in bits(held):
                counts[replica] += 1
        return counts

    def leading(self, asked: Iterable[int]) -> list[int]:
        """Per replica, the leading blocks that it holds itself."""
        counts = [0] * self.replicas
        left = (1 << self.replicas) - 1
        matched = 0
        for block in asked:
            still = left & self._holders.get(block, 0)
            for replica in bits(left & ~still):
                counts[replica] = matched
            left = still
            if not left:
                return counts
            matched += 1
        for replica in bits(left):
            counts[replica] = matched
        return counts

    def check_integrity(self) -> None:
        """Raise AssertionError with the first broken invariant. Changes nothing."""
        holders: dict[int, int] = {}
        for replica, recent in enumerate(self._recent):
            for block in recent:
                holders[block] = holders.get(block, 0) | 1 << replica
        assert holders == self._holders, "the holders are not those whose tables have the block"
        assert self.first_holder.keys() == holders.keys(), "a block has no first holder, or one that nobody holds has"
        assert all(holders[block] >> first & 1 for block, first in self.first_holder.items()), (
            "a first holder does not hold the block"
        )


def bits(mask: int) -> list[int]:
    """The places of its ones, from the lowest."""
    places = []
    while mask:
        lowest = mask & -mask
        places.append(lowest.bit_length() - 1)
        mask ^= lowest
    return places
