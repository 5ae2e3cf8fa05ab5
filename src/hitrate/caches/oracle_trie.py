"""The slow, obvious answer that `block_trie.BlockTrieCache` is held against; see `oracle`."""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.caches.oracle import BlockOracle, OracleLease


class TrieOracle(BlockOracle):
    def __init__(self, block_size: int, capacity_blocks: int | None, ahead_tokens: int) -> None:
        self.ahead_tokens = ahead_tokens
        super().__init__(block_size, capacity_blocks)

    def _room(self, tokens: Sequence[int]) -> int:
        return -(-(len(tokens) + self.ahead_tokens) // self.block_size)

    def _keep(self, lease: OracleLease, tokens: list[int], now: float) -> None:
        """The blocks of the prompt at once, those of the reply whenever a further block is needed."""
        self._attach(lease, lease.tokens)
        while len(lease.held) * self.block_size <= len(tokens):
            filled = tokens[: len(lease.held) * self.block_size]
            more = self._room(filled) - len(lease.held)
            if self.capacity_blocks is not None:
                in_use = [block for block in self.blocks if self._in_use(block)]
                if len(in_use) + more > self.capacity_blocks:
                    return
            self._add_blocks(lease, more, now)
            self._attach(lease, filled)

    def _attach(self, lease: OracleLease, tokens: list[int]) -> None:
        """Full blocks become known; one that is known already takes the place of the lease's own."""
        for number, block in enumerate(list(lease.held)):
            prefix = (lease.namespace, tokens[: (number + 1) * self.block_size])
            if block.prefix is not None or (number + 1) * self.block_size > len(tokens):
                continue
            known = [one for one in self.blocks if one.prefix == prefix]
            if known:
                lease.held[number] = known[0]
                self.blocks.remove(block)
            else:
                block.prefix = prefix
                block.published = self._next_event()
