"""Block-chain caching: a prefix is served in whole blocks, each found by a key over everything before it.

This is vLLM's rule (`vllm/v1/core/kv_cache_manager.py`: `max_cache_hit_length = num_tokens - 1`, full blocks only) and,
with other block sizes, that of most engines and of hosted APIs that credit in steps.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from hashlib import blake2b

from hitrate.caches.block_pool import BlockPool
from hitrate.caches.interface import Lease
from hitrate.errors import ContextTooSmall

_KEY_BYTES = 16
_TOKEN_BYTES = array("q").itemsize


def chain_keys(
    tokens: Sequence[int], block_size: int, namespace: object = None, *, parent: bytes | None = None
) -> list[bytes]:
    """One key per full block; each covers its block, all before it and the namespace (by its `repr`).

    `parent` is the key of the block before `tokens[0]`, to continue a chain; the namespace is then already in it.
    Tokens have to fit 64 bits, signed (OverflowError).
    """
    data = array("q", tokens).tobytes()
    width = block_size * _TOKEN_BYTES
    key = parent or blake2b(repr(namespace).encode(), digest_size=_KEY_BYTES).digest()
    keys = []
    for start in range(0, len(data) - width + 1, width):
        key = blake2b(key + data[start : start + width], digest_size=_KEY_BYTES).digest()
        keys.append(key)
    return keys


class BlockLease(Lease):
    __slots__ = ("blocks", "keys", "namespace", "published_blocks", "tail", "whole_key")

    def __init__(self, prompt_tokens: int, cached_tokens: int, keys: list[Hashable], blocks: list[int]) -> None:
        super().__init__(prompt_tokens, cached_tokens)
        self.keys = keys
        self.blocks = blocks
        self.published_blocks = 0
        self.namespace: object = None
        self.tail: tuple[int, ...] | None = None
        """Prompt tokens behind the last full block; None when the request came as keys."""
        self.whole_key: bytes | None = None
        """Of the prompt to its last token, in a cache that knows whole prompts."""


class BlockChainCache:
    """`minimum_tokens`: shorter hits are not credited (the blocks are still shared and refreshed).

    `ttl_s`: a block expires when no request has held it for longer; a read starts its time anew.
    `capacity_blocks` None: nothing is evicted. See `block_pool` for the order of eviction.
    `whole_prompts`: a second layer knows every prompt that was asked before and serves the very same one whole, its
    last token and a prompt below the minimum included. It has the same lifetime and is never evicted for room.
    """

    def __init__(
        self,
        block_size: int = 16,
        capacity_blocks: int | None = None,
        minimum_tokens: int = 0,
        ttl_s: float | None = None,
        whole_prompts: bool = False,
    ) -> None:
        if block_size < 1:
            raise ValueError(f"block_size is {block_size}, it has to be at least 1")
        self.block_size = block_size
        self.capacity_blocks = capacity_blocks
        self.minimum_tokens = minimum_tokens
        self.ttl_s = ttl_s
        self.whole_prompts = whole_prompts
        self.reset()

    def reset(self) -> None:
        self.pool = BlockPool(self.capacity_blocks, self.ttl_s)
        self._open: set[BlockLease] = set()
        self._whole: dict[bytes, float] = {}
        """Keys of whole prompts with the time of their last use, the longest unused first."""

    def peek(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> int:
        if self._is_whole(self._whole_key(tokens, namespace), now):
            return len(tokens)
        return self.peek_keys(chain_keys(tokens, self.block_size, namespace), len(tokens), now=now)

    def peek_keys(self, keys: Sequence[Hashable], prompt_tokens: int, *, now: float = 0.0) -> int:
        """`peek` for a prompt whose block keys are known; see `begin_keys`."""
        return self._credit(len(self.pool.find(keys[: self._most_blocks(prompt_tokens)], now)))

    def begin(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> BlockLease | None:
        """Raises ContextTooSmall for a prompt that the whole capacity could not hold."""
        lease = self.begin_keys(chain_keys(tokens, self.block_size, namespace), len(tokens), now=now)
        if lease is not None:
            lease.namespace = namespace
            lease.tail = tuple(tokens[len(lease.keys) * self.block_size :])
            lease.whole_key = self._whole_key(tokens, namespace)
            if self._is_whole(lease.whole_key, now):
                lease.cached_tokens = len(tokens)
                self._use_whole(lease, now)
        return lease

    def begin_keys(self, keys: Sequence[Hashable], prompt_tokens: int, *, now: float = 0.0) -> BlockLease | None:
        """`begin` for a prompt whose block keys are known: hashed before, or the block ids of a trace.

        One key per full block is needed; a further one, for a last block that is not full, is ignored.
        """
        full_blocks = prompt_tokens // self.block_size
        if len(keys) < full_blocks:
            raise ValueError(f"{len(keys)} block keys for {full_blocks} full blocks ({prompt_tokens} tokens)")
        wanted = self._blocks_for(prompt_tokens)
        if self.capacity_blocks is not None and wanted > self.capacity_blocks:
            raise ContextTooSmall(
                f"a prompt of {prompt_tokens} tokens needs {wanted} blocks of {self.block_size},"
                f" the cache has {self.capacity_blocks}",
                hint=f"raise capacity_blocks to at least {wanted}",
            )
        self.pool.expire(now)
        found = self.pool.find(keys[: self._most_blocks(prompt_tokens)], now)
        blocks = self.pool.take(found, wanted - len(found))
        if blocks is None:
            return None
        lease = BlockLease(prompt_tokens, self._credit(len(found)), list(keys[:full_blocks]), blocks)
        lease.published_blocks = len(found)
        self._open.add(lease)
        return lease

    def publish(self, lease: Lease, *, now: float = 0.0) -> None:
        """vLLM does this as soon as the prompt is scheduled, so requests of one step already share."""
        if (held := self._held(lease)) is not None:
            self._publish(held)
            self._use_whole(held, now)

    def finish(self, lease: Lease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        """The last generated token was sampled but never computed, so no block holds it.

        Where capacity does not suffice for the whole reply, its end is not stored (vLLM would preempt the request).
        Raises ValueError for generated tokens on a lease from `begin_keys`; use `finish_keys` there.
        """
        held = self._held(lease)
        if held is None:
            return
        if held.tail is None:
            if generated:
                raise ValueError("this request came as block keys: end it with finish_keys")
            self.finish_keys(held, (), held.prompt_tokens, now=now)
            return
        computed = tuple(generated[:-1])
        parent = held.keys[-1] if held.keys else None
        assert parent is None or isinstance(parent, bytes)
        keys = chain_keys(held.tail + computed, self.block_size, held.namespace, parent=parent)
        self.finish_keys(held, keys, held.prompt_tokens + len(computed), now=now)

    def finish_keys(self, lease: Lease, keys: Sequence[Hashable], computed_tokens: int, *, now: float = 0.0) -> None:
        """`finish` with the keys of the blocks that the reply filled; `computed_tokens` counts prompt and reply."""
        held = self._held(lease)
        if held is None:
            return
        self._publish(held)
        self._use_whole(held, now)
        missing = self._blocks_for(computed_tokens) - len(held.blocks)
        if self.capacity_blocks is not None:
            self.pool.expire(now)
            missing = min(missing, self.pool.free_blocks)
        held.blocks += self.pool.take((), max(0, missing)) or ()
        held.keys += keys[: max(0, computed_tokens // self.block_size - len(held.keys))]
        self._publish(held)
        self._release(held, now)

    def abort(self, lease: Lease, *, now: float = 0.0) -> None:
        if (held := self._held(lease)) is not None:
            self._release(held, now)

    def check_integrity(self) -> None:
        self.pool.check_integrity([block for lease in self._open for block in lease.blocks])
        assert self.whole_prompts or not self._whole, "whole prompts are kept in a cache that does not know them"
        used_at = list(self._whole.values())
        assert used_at == sorted(used_at), "the whole prompts are not in the order of their last use"

    def _held(self, lease: Lease) -> BlockLease | None:
        """None for a request that has ended or was in flight at a reset."""
        return lease if isinstance(lease, BlockLease) and lease in self._open else None

    def _whole_key(self, tokens: Sequence[int], namespace: object) -> bytes | None:
        if not self.whole_prompts or not len(tokens):
            return None
        return chain_keys(tokens, len(tokens), namespace)[0]

    def _is_whole(self, key: bytes | None, now: float) -> bool:
        used_at = None if key is None else self._whole.get(key)
        return used_at is not None and (self.ttl_s is None or now - used_at <= self.ttl_s)

    def _use_whole(self, lease: BlockLease, now: float) -> None:
        """Start the time of the lease's whole prompt anew, and drop those whose time has run out."""
        if lease.whole_key is None:
            return
        self._whole.pop(lease.whole_key, None)
        self._whole[lease.whole_key] = now
        while not self._is_whole(oldest := next(iter(self._whole)), now):
            del self._whole[oldest]

    def _most_blocks(self, prompt_tokens: int) -> int:
        # The last token is always computed, for its logits; an exact resend of k full blocks is served k-1.
        return max(0, prompt_tokens - 1) // self.block_size

    def _blocks_for(self, token_count: int) -> int:
        return -(-token_count // self.block_size)

    def _credit(self, blocks: int) -> int:
        cached_tokens = blocks * self.block_size
        return cached_tokens if cached_tokens >= self.minimum_tokens else 0

    def _publish(self, lease: BlockLease) -> None:
        full_blocks = min(len(lease.keys), len(lease.blocks))
        for index in range(lease.published_blocks, full_blocks):
            self.pool.assign(lease.blocks[index], lease.keys[index])
        lease.published_blocks = max(lease.published_blocks, full_blocks)

    def _release(self, lease: BlockLease, now: float) -> None:
        self._open.remove(lease)
        self.pool.release(lease.blocks, now)
