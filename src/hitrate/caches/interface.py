"""What every cache model can do, and per verb what it may change.

A request's life is `begin` → `publish` → `finish` (or `abort` at any point). Tokens are ints in any sequence;
time is a parameter in seconds that never runs backwards; entries of different namespaces never match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Lease:
    """A request in flight. `cached_tokens` is what it was served; models subclass it to keep their own state."""

    __slots__ = ("cached_tokens", "prompt_tokens")

    def __init__(self, prompt_tokens: int, cached_tokens: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.cached_tokens = cached_tokens


class PrefixCache(Protocol):
    """One engine's cache, or one replica's."""

    def peek(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> int:
        """Tokens that `begin` would serve from cache now. Changes nothing at all, not even recency."""
        ...

    def begin(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> Lease | None:
        """Look up, take what is needed and hold it. May evict, refresh recency, choose a slot.

        None when the request has to wait (no free slot, or all capacity is held); nothing changed then.
        """
        ...

    def publish(self, lease: Lease, *, now: float = 0.0) -> None:
        """The prompt's state is computed: from here on others may read it. At most once a lease."""
        ...

    def finish(self, lease: Lease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        """The reply ended: store what the engine keeps of prompt and reply (publishes first if that was not done)
        and release what was held."""
        ...

    def abort(self, lease: Lease, *, now: float = 0.0) -> None:
        """The request died: release what it held and keep only what was already published."""
        ...

    def reset(self) -> None:
        """Forget everything. Leases still in flight end without effect."""
        ...

    def check_integrity(self) -> None:
        """Walk the whole structure and raise AssertionError with the first broken invariant. Changes nothing."""
        ...
