"""vLLM's rule for its KV blocks: full blocks alone, never the last token, freed tail first, the oldest evicted.

As in vLLM's `BlockPool` and `KVCacheManager` (https://github.com/vllm-project/vllm, vllm/v1/core, 0.32), for requests
one after another and their prompts alone: `hitrate.caches.block_chain` holds what overlapping requests and generated
tokens do. Of a prompt that is cached to the end vLLM computes the last block again and then has it twice; of equal
blocks the one that came first is served.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from functools import partial
from itertools import islice, takewhile
from math import inf

from hitrate.sim.capacity.interface import SteppedCache

Block = int | tuple[int, int]
"""A block by the id of its text; a further one of equal text as (id, how many there were before it)."""


class VllmBlocks(SteppedCache):
    """`capacity` is in blocks that can be used: vLLM's `num_gpu_blocks` less its null block.

    Vendors of this kind credit no hit shorter than `minimum_tokens`, and drop what nobody used for `ttl_s`.
    """

    def __init__(
        self, capacity: int | None, block_tokens: int, *, minimum_tokens: int = 0, ttl_s: float | None = None
    ) -> None:
        self.capacity = capacity
        self.never_fit = 0
        """Requests that need more blocks than there are."""
        self._block_tokens = block_tokens
        self._minimum_blocks = -(-minimum_tokens // block_tokens)
        self._ttl_s = ttl_s
        self._free: OrderedDict[Block, float] = OrderedDict()
        """Blocks with a hash and the time of their last use, the one to evict next in front. Between requests all of
        them are free."""
        self._copies: dict[int, list[Block]] = {}
        """All blocks of a text that is there more than once, in the order they came."""
        self._made = 0

    def serve(self, asked: array[int], input_tokens: int, now: float) -> int:
        """A request that needs more blocks than there are is never served, and leaves nothing behind."""
        free, copies, block_tokens = self._free, self._copies, self._block_tokens
        capacity = self.capacity
        if self._ttl_s is not None:
            self._expire(now - self._ttl_s)
        needed = -(-input_tokens // block_tokens)
        if capacity is not None and needed > capacity:
            self.never_fit += 1
            return 0
        hashed = asked[: input_tokens // block_tokens].tolist()
        most = max(0, input_tokens - 1) // block_tokens
        hits = sum(1 for _ in takewhile(self._holds if copies else free.__contains__, islice(hashed, most)))
        held: list[Block] = [copies[block][0] if block in copies else block for block in hashed[:hits]]
        held.reverse()
        if capacity is not None and len(free) + needed - hits > capacity:
            deque(map(free.move_to_end, held), 0)  # out of the way of eviction
            self._evict(len(free) + needed - hits - capacity)
        self._free_in_reverse(hashed[hits:], now)
        if self._ttl_s is not None:
            free.update(dict.fromkeys(held, now))
        deque(map(free.move_to_end, held), 0)
        return hits if hits >= self._minimum_blocks else 0

    def peek(self, asked: array[int], input_tokens: int, now: float) -> int:
        if self.capacity is not None and -(-input_tokens // self._block_tokens) > self.capacity:
            return 0
        held = self._holds if self._copies else self._free.__contains__
        if self._ttl_s is not None:
            held = partial(self._used_since, now - self._ttl_s)
        hits = 0
        most = (input_tokens - 1) // self._block_tokens
        for block in asked:
            if hits >= most or not held(block):
                break
            hits += 1
        return hits if hits >= self._minimum_blocks else 0

    def _used_since(self, since: float, block: int) -> bool:
        return any(self._free.get(alike, -inf) >= since for alike in self._copies.get(block, [block]))

    def _holds(self, block: int) -> bool:
        return block in self._free or block in self._copies

    def _expire(self, since: float) -> None:
        while self._free and next(iter(self._free.values())) < since:
            self._evict(1)

    def _evict(self, count: int) -> None:
        for _ in range(count):
            block, _ = self._free.popitem(False)
            if self._copies:
                self._forget(block)

    def _forget(self, block: Block) -> None:
        text = block[0] if isinstance(block, tuple) else block
        alike = self._copies.get(text)
        if alike is not None:
            alike.remove(block)
            if alike == [text] or not alike:
                del self._copies[text]

    def _free_in_reverse(self, computed: list[int], now: float) -> None:
        """The last block of a prompt is the first to be evicted of it."""
        if not self._copies and self._free.keys().isdisjoint(computed):
            self._free.update(dict.fromkeys(reversed(computed), now))
            return
        for block in reversed(computed):
            if self._holds(block):
                self._made += 1
                copy: Block = (block, self._made)
                self._copies.setdefault(block, [block]).append(copy)
                self._free[copy] = now
            else:
                self._free[block] = now

    def check_integrity(self) -> None:
        assert self.capacity is None or len(self._free) <= self.capacity, "more blocks than the capacity"
        for text, alike in self._copies.items():
            assert alike, f"text {text} is listed without a block"
            assert len(set(alike)) == len(alike), f"a block of text {text} is listed twice"
            assert all(block in self._free for block in alike), f"a block of text {text} is gone and still listed"
