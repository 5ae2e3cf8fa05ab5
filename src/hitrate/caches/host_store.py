"""The llama.cpp server's store in main memory for token sequences that lost their slot (`--cache-ram`).

Written from `server_prompt_cache` in llama.cpp's `tools/server/server-task.cpp`, October 2026.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from hitrate.caches.prefix import common_prefix_length

_KEEP_AT_LEAST = 0.25
"""A stored sequence of which less would be kept is not worth loading."""


def single(value: float) -> float:
    """Rounded to C's `float`: the server compares in single precision, and ties decide which slot is taken."""
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


def ratio(part: float, whole: int) -> float:
    return single(part / whole) if whole else float("nan")


@dataclass(frozen=True, slots=True)
class HeldSequence:
    """Tokens whose state is held somewhere, and the namespace they belong to."""

    tokens: tuple[int, ...] = ()
    namespace: object = None

    def common(self, other: HeldSequence) -> int:
        return common_prefix_length(self.tokens, other.tokens) if self.namespace == other.namespace else 0


@dataclass(frozen=True, slots=True)
class HostStore:
    """Sequences copied to host memory, oldest first. Every verb gives a new store; the old one is left as it was.

    `limit_bytes` None is no limit, and then `limit_tokens` binds; with a limit in bytes it is only the least that is
    allowed. `bytes_per_token` None (not known) never evicts by size.
    """

    limit_bytes: int | None
    limit_tokens: int | None
    bytes_per_token: int | None
    bytes_per_sequence: int
    sequences: tuple[HeldSequence, ...] = ()

    def saved(self, sequence: HeldSequence) -> HostStore:
        """With `sequence` as the newest; unchanged if it is empty, is contained in another, or is too big.

        The limit in tokens is held by `trimmed` alone: the server does that only after it has looked for a better one.
        """
        length = len(sequence.tokens)
        if not length or any(stored.common(sequence) == length for stored in self.sequences):
            return self
        limit = self._effective_limit_bytes
        if limit is not None and self._size((sequence,)) > limit:
            return self
        kept = tuple(stored for stored in self.sequences if stored.common(sequence) < len(stored.tokens))
        while limit is not None and kept and self._size((*kept, sequence)) > limit:
            kept = kept[1:]
        return self._with((*kept, sequence))

    def best_for(self, current: HeldSequence, wanted: HeldSequence) -> HeldSequence | None:
        """The stored sequence that beats `current` both in what it shares with `wanted` and in what of it is kept."""
        best = None
        shared = current.common(wanted)
        best_kept = ratio(shared, len(current.tokens)) if current.tokens else -1.0
        best_shared = ratio(shared, len(wanted.tokens))
        for stored in self.sequences:
            shared = stored.common(wanted)
            kept_share, wanted_share = ratio(shared, len(stored.tokens)), ratio(shared, len(wanted.tokens))
            if kept_share >= _KEEP_AT_LEAST and kept_share > best_kept and wanted_share > best_shared:
                best, best_kept, best_shared = stored, kept_share, wanted_share
        return best

    def without(self, sequence: HeldSequence) -> HostStore:
        return self._with(tuple(stored for stored in self.sequences if stored is not sequence))

    def trimmed(self) -> HostStore:
        """The oldest are dropped until the limit in tokens holds; it grows to what the limit in bytes has room for."""
        if self.limit_tokens is None:
            return self
        limit: float = self.limit_tokens
        if self.limit_bytes is not None:
            if self.bytes_per_token is None:
                return self
            token_count = sum(len(stored.tokens) for stored in self.sequences)
            per_token = max(1.0, single(single(self._size(self.sequences)) / max(1, token_count)))
            limit = max(limit, int(single(single(self.limit_bytes) / per_token)))
        kept = self.sequences
        while kept and sum(len(stored.tokens) for stored in kept) > limit:
            kept = kept[1:]
        return self._with(kept)

    @property
    def is_over_limit(self) -> bool:
        limit = self._effective_limit_bytes
        return self != self.trimmed() or (limit is not None and self._size(self.sequences) > limit)

    @property
    def _effective_limit_bytes(self) -> int | None:
        return None if self.bytes_per_token is None else self.limit_bytes

    def _size(self, sequences: tuple[HeldSequence, ...]) -> int:
        token_count = sum(len(stored.tokens) for stored in sequences)
        return self.bytes_per_sequence * len(sequences) + (self.bytes_per_token or 0) * token_count

    def _with(self, sequences: tuple[HeldSequence, ...]) -> HostStore:
        return HostStore(self.limit_bytes, self.limit_tokens, self.bytes_per_token, self.bytes_per_sequence, sequences)
