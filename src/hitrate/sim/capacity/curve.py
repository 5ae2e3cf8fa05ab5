"""Every capacity at once: the hit rate of a leaf-first LRU cache as a function of its size, from one pass.

LRU has the stack property (Mattson, Gecsei, Slutz, Traiger: Evaluation techniques for storage hierarchies, IBM Systems
Journal 9(2), 1970): a cache of C blocks holds the C blocks used last. So a block is served by exactly those caches that
are at least as large as its place in the order of last use when the request comes, its stack distance. `leaf_lru` says
why leaf-first LRU is LRU. Distances come from a Fenwick tree over the moments of last use (Bennett and Kruskal, LRU
stack processing, IBM J. Res. Dev. 19(4), 1975).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from hitrate.core.trace import Chunk
from hitrate.sim.capacity.definitions import Definition

_SMALLEST = 1 << 16


class LruCurve:
    """Give it the whole trace with `add`, then ask."""

    def __init__(self, definition: Definition, block_tokens: int, first: int = 0) -> None:
        """Requests before number `first` fill the cache and are not counted. ValueError for a definition that counts
        blocks behind a miss."""
        if not definition.consecutive:
            raise ValueError(f"{definition.name} counts blocks behind a miss, which no curve over prefixes holds")
        self.whole = 0.0
        self._definition = definition
        self._block_tokens = block_tokens
        self._skip = first
        self._weights: dict[int, float] = {}
        """What is served at a stack distance."""
        self._moments: list[int] = []
        """When each block was last used, 0: never."""
        self._now = 0
        self._live = 0
        self._tree = [0] * (_SMALLEST + 1)

    def add(self, chunk: Chunk) -> None:
        definition, block_tokens = self._definition, self._block_tokens
        for index, (start, end) in enumerate(pairwise(chunk.starts)):
            tokens = chunk.input_tokens[index]
            asked = chunk.ids[start:end]
            if end > start:
                self._grow(max(asked) + 1)
            known = self._known(asked)
            if self._skip:
                self._skip -= 1
            else:
                self.whole += definition.whole(tokens, end - start, block_tokens)
                if known:
                    self._weigh(known, tokens, end - start)
            self._use(asked, known)

    def hits(self, capacity: int | None) -> float:
        """What a cache of so many blocks serves, in the definition's unit; None: a cache without a limit."""
        return sum(weight for distance, weight in self._weights.items() if capacity is None or distance <= capacity)

    def points(self, capacities: Sequence[int]) -> list[float]:
        """`hits` at each of these, in one go."""
        distances = sorted(self._weights)
        sums = [0.0, *accumulate(self._weights[distance] for distance in distances)]
        return [sums[bisect_right(distances, capacity)] for capacity in capacities]

    def smallest(self, share: float) -> int:
        """The least capacity that serves this share of what a cache without a limit does."""
        distances = sorted(self._weights)
        sums = list(accumulate(self._weights[distance] for distance in distances))
        return distances[bisect_left(sums, share * sums[-1])] if sums else 0

    @property
    def largest(self) -> int:
        """The capacity above which nothing more is served."""
        return max(self._weights, default=0)

    def _grow(self, blocks: int) -> None:
        if blocks > len(self._moments):
            self._moments.extend([0] * (max(blocks, 2 * len(self._moments)) - len(self._moments)))

    def _known(self, asked: Sequence[int]) -> list[int]:
        """Moments of last use of the leading blocks that were used before."""
        known = []
        for block in asked:
            moment = self._moments[block]
            if not moment:
                break
            known.append(moment)
        return known

    def _weigh(self, known: list[int], tokens: int, blocks: int) -> None:
        tree, weights = self._tree, self._weights
        block = self._definition.block(tokens, blocks, self._block_tokens)
        before = distance = 0
        for number, moment in enumerate(known):
            if moment == before - 1:  # the blocks of a request are used at consecutive moments
                distance += 1
            else:
                distance = self._live
                place = moment - 1
                while place > 0:
                    distance -= tree[place]
                    place &= place - 1
            before = moment
            last = number == blocks - 1
            weight = self._definition.last(tokens, blocks, self._block_tokens) if last else block
            weights[distance] = weights.get(distance, 0.0) + weight

    def _use(self, asked: Sequence[int], known: list[int]) -> None:
        """From the last block to the first, each at a moment of its own."""
        if self._now + len(asked) >= len(self._tree):
            self._compact(len(asked))
        tree, moments = self._tree, self._moments
        size = len(tree) - 1
        for block in asked:
            place = moments[block]
            if place:
                self._live -= 1
                while place <= size:
                    tree[place] -= 1
                    place += place & -place
                moments[block] = 0
        for block in reversed(asked):
            self._now += 1
            if moments[block]:  # a block that stands twice in a prompt: its first place counts
                place = moments[block]
                while place <= size:
                    tree[place] -= 1
                    place += place & -place
                self._live -= 1
            moments[block] = place = self._now
            while place <= size:
                tree[place] += 1
                place += place & -place
            self._live += 1

    def _compact(self, more: int) -> None:
        """Moments counted anew from 1, without those at which no block was last used."""
        moments = self._moments
        order = sorted((moment, block) for block, moment in enumerate(moments) if moment)
        for number, (_, block) in enumerate(order, start=1):
            moments[block] = number
        self._now = len(order)
        size = _SMALLEST
        while size < 2 * (len(order) + more):
            size *= 2
        # Node i of a Fenwick tree sums the i & -i places up to i; ones stand at the first `now` places.
        now = self._now
        self._tree = [0, *(max(0, min(place, now) - (place - (place & -place))) for place in range(1, size + 1))]
