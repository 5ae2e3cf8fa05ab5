"""A pool of cache blocks under vLLM's rules of allocation, sharing and eviction.

Keys are any hashable values but None; one key stands for one block *and everything before it*, so equal keys mean
equal prefixes. The pool neither makes nor inspects them: hashed tokens and the block ids of a published trace do
alike.

The rules are those of `vllm/v1/core/block_pool.py` (since 0.24): a free block that holds no key is taken first, the
one released last before the others; then the block that has been free longest. A released request hands back its
last block first, so the tail of a chain goes before its head. A block in use is never taken. Two blocks can carry one
key (an exact resend computes its last block anew); the older copy answers lookups until it is evicted.
vLLM sets one block aside as its null block: `capacity_blocks` here is its `num_gpu_blocks - 1`, and ids start at 1.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Hashable, Iterable, Sequence


class BlockPool:
    """`capacity_blocks` None is a pool that never evicts. `ttl_s` drops a key whose block was free for longer."""

    def __init__(self, capacity_blocks: int | None = None, ttl_s: float | None = None) -> None:
        if capacity_blocks is not None and capacity_blocks < 1:
            raise ValueError(f"capacity_blocks is {capacity_blocks}, it has to be at least 1")
        self.capacity_blocks = capacity_blocks
        self.ttl_s = ttl_s
        self._references = [0] * (1 + (capacity_blocks or 0))
        self._key_of: list[Hashable | None] = [None] * len(self._references)
        self._blank = deque(range(1, len(self._references)))
        self._idle: OrderedDict[int, float] = OrderedDict()
        """Free blocks that hold a key, next to be evicted first, with the time they were released."""
        self._block_of: dict[Hashable, int] = {}
        self._copies: dict[Hashable, dict[int, None]] = {}
        """Further blocks of a key, oldest first; only for keys that have any."""

    def find(self, keys: Iterable[Hashable], now: float) -> list[int]:
        """Blocks of the longest run of present keys, from the first. Changes nothing."""
        found = []
        block_of = self._block_of
        for key in keys:
            block = block_of.get(key)
            if block is None:
                break
            if self.ttl_s is not None and self._has_expired(block, now):
                live = [copy for copy in self._copies.get(key, ()) if not self._has_expired(copy, now)]
                if not live:
                    break
                block = live[0]
            found.append(block)
        return found

    def take(self, found: Sequence[int], fresh: int) -> list[int] | None:
        """Hold the blocks in `found` and `fresh` new ones behind them, evicting if needed.

        None, and nothing changed, when too few blocks are free.
        """
        references = self._references
        if self.capacity_blocks is not None:
            held_anew = sum(1 for block in found if not references[block])
            if fresh > self.free_blocks - held_anew:
                return None
        for block in found:
            if not references[block]:
                del self._idle[block]
            references[block] += 1
        taken = list(found)
        for _ in range(fresh):
            block = self._next_block()
            references[block] = 1
            taken.append(block)
        return taken

    def assign(self, block: int, key: Hashable) -> None:
        """The block's state is computed: lookups for `key` may find it."""
        self._key_of[block] = key
        if self._block_of.setdefault(key, block) != block:
            self._copies.setdefault(key, {})[block] = None

    def release(self, blocks: Sequence[int], now: float) -> None:
        """Let go of the blocks of one request, given in prompt order."""
        blank = []
        for block in reversed(blocks):
            self._references[block] -= 1
            if self._references[block]:
                continue
            key = self._key_of[block]
            if key is not None and self._is_unbounded and self._block_of[key] != block:
                # Where nothing is ever evicted, a second copy can never be needed.
                self._forget(block)
                key = None
            if key is None:
                blank.append(block)
            else:
                self._idle[block] = now
        self._blank.extendleft(reversed(blank))

    def expire(self, now: float) -> None:
        """Drop the keys whose time has run out, so that new blocks do not queue behind dead ones."""
        while self._idle and self._has_expired(next(iter(self._idle)), now):
            block, _ = self._idle.popitem(last=False)
            self._forget(block)
            self._blank.append(block)

    @property
    def free_blocks(self) -> int:
        """Blocks nobody holds, with a key or without. An unbounded pool makes more when these run out."""
        return len(self._blank) + len(self._idle)

    @property
    def eviction_order(self) -> list[int]:
        """Free blocks, next to be taken first."""
        return [*self._blank, *self._idle]

    @property
    def cached_blocks(self) -> int:
        """Distinct keys a lookup can find, expired ones included until `expire` is called."""
        return len(self._block_of)

    @property
    def _is_unbounded(self) -> bool:
        return self.capacity_blocks is None and self.ttl_s is None

    def _has_expired(self, block: int, now: float) -> bool:
        if self.ttl_s is None:
            return False
        released_at = self._idle.get(block)
        return released_at is not None and now - released_at > self.ttl_s

    def _next_block(self) -> int:
        if self._blank:
            return self._blank.popleft()
        if self.capacity_blocks is None:
            self._references.append(0)
            self._key_of.append(None)
            return len(self._references) - 1
        block, _ = self._idle.popitem(last=False)
        self._forget(block)
        return block

    def _forget(self, block: int) -> None:
        key = self._key_of[block]
        self._key_of[block] = None
        copies = self._copies.get(key, {})
        if self._block_of[key] != block:
            del copies[block]
        elif copies:
            self._block_of[key] = next(iter(copies))
            del copies[self._block_of[key]]
        else:
            del self._block_of[key]
        if not copies:
            self._copies.pop(key, None)

    def check_integrity(self, held: Iterable[int]) -> None:
        """`held` are the blocks of all requests in flight, once per request that holds them."""
        expected = Counter(held)
        blank, everything = set(self._blank), range(1, len(self._references))
        assert len(blank) == len(self._blank), "a blank block is listed twice"
        assert not blank & self._idle.keys(), "a block is blank and idle at once"
        for block in everything:
            assert self._references[block] == expected[block], f"block {block}: wrong reference count"
            is_free = block in blank or block in self._idle
            assert is_free == (expected[block] == 0), f"block {block} is neither free nor held, or both"
            assert block not in blank or self._key_of[block] is None, f"blank block {block} holds a key"
            assert block not in self._idle or self._key_of[block] is not None, f"idle block {block} holds no key"
        owners = Counter(self._key_of[block] for block in everything if self._key_of[block] is not None)
        assert owners.keys() == self._block_of.keys(), "the index and the blocks disagree about the keys"
        for key, block in self._block_of.items():
            copies = self._copies.get(key, {})
            assert self._key_of[block] == key and block not in copies, f"block {block} is indexed under a wrong key"
            assert all(self._key_of[copy] == key for copy in copies), f"a copy of block {block} has another key"
            assert owners[key] == 1 + len(copies), f"block {block}: a copy is not indexed"
        assert all(self._copies.values()) and self._copies.keys() <= owners.keys(), "an empty list of copies was kept"
        released = list(self._idle.values())
        assert released == sorted(released), "the eviction order is not the order of release"
        assert self.capacity_blocks in (None, len(everything)), "the pool changed its size"
