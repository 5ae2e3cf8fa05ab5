"""Every capacity at once: the hit rate of a leaf-first LRU cache as a function of its size, from one pass.

LRU has the stack property (Mattson, Gecsei, Slutz, Traiger: Evaluation techniques for storage hierarchies, IBM Systems
Journal 9(2), 1970): a cache of C blocks holds the C blocks used last. So a block is served by exactly those caches that
are at least as large as its place in the order of last use when the request comes, its stack distance. `leaf_lru` says
why leaf-first LRU is LRU. Distances are counted over the moments of last use (Bennett and Kruskal, LRU stack
processing, IBM J. Res. Dev. 19(4), 1975), by runs of blocks that were used one after another: a prefix is a few.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from hitrate.core.trace import Chunk
from hitrate.sim.capacity.definitions import Definition
from hitrate.sim.capacity.last_uses import LastUses


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
        self._steps = array("d", [0.0, 0.0])
        """By stack distance, what is served at it less what is at the one before; and one place behind the largest."""
        self._moments = array("q")
        """When each block was last used, 0: never."""
        self._last_uses = LastUses()
        self._now = 0

    def add(self, chunk: Chunk) -> None:
        self._make_room(max(chunk.ids, default=-1) + 1)
        for tokens, (start, end) in zip(chunk.input_tokens, pairwise(chunk.starts), strict=True):
            self._request(chunk.ids[start:end], tokens)

    def hits(self, capacity: int | None) -> float:
        """What a cache of so many blocks serves, in the definition's unit; None: a cache without a limit."""
        return self.points([self.largest if capacity is None else capacity])[0]

    def points(self, capacities: Sequence[int]) -> list[float]:
        """`hits` at each of these, in one go."""
        sums = self._sums()
        return [sums[min(capacity, self.largest)] for capacity in capacities]

    def smallest(self, share: float) -> int:
        """The least capacity that serves this share of what a cache without a limit does."""
        sums = self._sums()
        return bisect_left(sums, share * sums[-1])

    @property
    def largest(self) -> int:
        """The capacity above which nothing more is served."""
        return len(self._steps) - 2

    def _sums(self) -> array[float]:
        """`hits` at every capacity up to the largest."""
        return array("d", accumulate(accumulate(self._steps[:-1])))

    def _make_room(self, blocks: int) -> None:
        if blocks > len(self._moments):
            more = max(blocks, 2 * len(self._moments)) - len(self._moments)
            self._moments.extend(array("q", [0]) * more)

    def _request(self, asked: array[int], tokens: int) -> None:
        if self._now + len(asked) >= self._last_uses.room:
            self._moments = self._last_uses.renumber(self._moments, len(asked))
            self._now = self._last_uses.count
        moments = list(map(self._moments.__getitem__, asked))
        known = moments.index(0) if 0 in moments else len(moments)
        runs = list(_runs(moments[:known]))
        if self._skip:
            self._skip -= 1
        else:
            self.whole += self._definition.whole(tokens, len(asked), self._block_tokens)
            self._weigh(runs, known, tokens, len(asked))
        if len(set(asked)) == len(asked):
            self._use(asked, [*runs, *_runs(list(filter(None, moments[known:])))])
        else:  # a block that stands twice in a prompt: its first place counts
            once = array("q", dict.fromkeys(asked))
            self._use(once, list(_runs([moment for moment in map(self._moments.__getitem__, once) if moment])))

    def _weigh(self, runs: Sequence[tuple[int, int]], known: int, tokens: int, blocks: int) -> None:
        if not known:
            return
        steps = self._steps
        block = self._definition.block(tokens, blocks, self._block_tokens)
        for moment, length in runs:
            first = self._last_uses.count_from(moment)
            behind = first + length
            if behind >= len(steps):
                steps.extend(array("d", [0.0]) * (behind + 1 - len(steps)))
            steps[first] += block
            steps[behind] -= block
        if known == blocks:
            more = self._definition.last(tokens, blocks, self._block_tokens) - block
            steps[behind - 1] += more
            steps[behind] -= more

    def _use(self, asked: array[int], runs: Sequence[tuple[int, int]]) -> None:
        """From the last block to the first, each at a moment of its own; `runs` are of their last uses before."""
        uses, moments, now = self._last_uses, self._moments, self._now
        for moment, length in runs:
            uses.clear(moment - length + 1, moment + 1)
        for moment, block in enumerate(reversed(asked), start=now + 1):
            moments[block] = moment
        self._now = now + len(asked)
        uses.set(now + 1, self._now + 1)


def _runs(moments: list[int]) -> Iterator[tuple[int, int]]:
    """The first of moments that fall by one from place to place, and how many there are."""
    if moments and moments == list(range(moments[0], moments[0] - len(moments), -1)):  # as most prompts do
        yield moments[0], len(moments)
        return
    start = 0
    for place in range(1, len(moments) + 1):
        if place == len(moments) or moments[place] != moments[place - 1] - 1:
            yield moments[start], place - start
            start = place
