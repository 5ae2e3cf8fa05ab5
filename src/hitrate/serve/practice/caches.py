"""The cache models a practice server can follow, made from its options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from hitrate.caches.block_chain import BlockChainCache
from hitrate.caches.interface import Lease, PrefixCache
from hitrate.serve.practice.options import PracticeOptions


class NoCache:
    """Implements `PrefixCache` and keeps nothing."""

    def peek(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> int:
        return 0

    def begin(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> Lease | None:
        return Lease(len(tokens), 0)

    def publish(self, lease: Lease, *, now: float = 0.0) -> None: ...

    def finish(self, lease: Lease, generated: Sequence[int] = (), *, now: float = 0.0) -> None: ...

    def abort(self, lease: Lease, *, now: float = 0.0) -> None: ...

    def reset(self) -> None: ...

    def check_integrity(self) -> None:
        """Nothing is stored, so nothing can be broken."""


def cache_maker(options: PracticeOptions) -> Callable[[], PrefixCache]:
    if options.rule == "none":
        return NoCache
    # A model takes only its own leases back, which a protocol cannot say.
    return cast(
        Callable[[], PrefixCache],
        lambda: BlockChainCache(options.block_size, None, options.minimum_tokens, options.ttl_s),
    )
