"""A trie of blocks that is filled when a sequence grows: a reply's blocks are found later than a prompt's.

This is the rule of LMDeploy's PyTorch engine (`lmdeploy/pytorch/paging/{scheduler.py,block_trie,block_manager}`, 0.18),
which differs from vLLM's block chain in three things that change numbers:

- room is taken for `ahead_tokens` more than there are, so that a prompt needs more blocks than it fills
- blocks that a reply has filled enter the trie when the sequence asks for a further block, not when they are full: of a
  reply that ends before, the last ones are never found
- a block that is in the trie already takes the place of the sequence's own copy, which is free again at once
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from hitrate.caches.block_chain import BlockChainCache, BlockLease
from hitrate.caches.interface import Lease


class BlockTrieCache(BlockChainCache):
    """`ahead_tokens`: room taken beyond a prompt, and beyond a full block when a sequence grows."""

    def __init__(self, block_size: int = 64, capacity_blocks: int | None = None, ahead_tokens: int = 16) -> None:
        if ahead_tokens < 1:
            raise ValueError(f"ahead_tokens is {ahead_tokens}, it has to be at least 1")
        self.ahead_tokens = ahead_tokens
        super().__init__(block_size, capacity_blocks)

    def finish_keys(self, lease: Lease, keys: Sequence[Hashable], computed_tokens: int, *, now: float = 0.0) -> None:
        """Where no block is free for a reply to grow, its end is not stored (LMDeploy would preempt the request)."""
        held = self._held(lease)
        if held is None:
            return
        self._publish(held)
        known = [*held.keys, *keys]
        while (filled := len(held.blocks)) * self.block_size <= computed_tokens:
            grown = self.pool.take((), self._blocks_for(filled * self.block_size) - filled)
            if grown is None:
                break
            held.blocks += grown
            held.keys = known[:filled]
            self._publish(held)
        self._release(held, now)

    def _blocks_for(self, token_count: int) -> int:
        return super()._blocks_for(token_count + self.ahead_tokens)

    def _publish(self, lease: BlockLease) -> None:
        full_blocks = min(len(lease.keys), len(lease.blocks))
        for index in range(lease.published_blocks, full_blocks):
            if known := self.pool.find([lease.keys[index]], 0.0):
                self.pool.take(known, 0)
                self.pool.release([lease.blocks[index]], 0.0)
                lease.blocks[index] = known[0]
            else:
                self.pool.assign(lease.blocks[index], lease.keys[index])
        lease.published_blocks = max(lease.published_blocks, full_blocks)
