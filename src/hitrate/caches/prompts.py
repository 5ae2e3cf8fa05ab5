"""MLX-LM's server: whole computed sequences are kept, and the longest beginning of one is served, token by token.

Written from and held against `LRUPromptCache` in `mlx_lm/models/cache.py` and its use in `mlx_lm/server.py`, 0.32.2:

- served is the longest common prefix with any stored sequence, and at most prompt - 1 tokens
- a sequence is stored when a segment of the prompt ends (the opening system messages; then all of the prompt but its
  last token) and when the reply ends, with all of its tokens, the last one too
- a stored sequence replaces those that it begins with
- reading refreshes nothing: the order of eviction is the order of storing
- above `sequences` one goes: the oldest reply, unless fewer replies than user segments are kept; then of those

`trims` False is for models of which no state can be cut (rotating windows, state space): only whole stored sequences
are found then, and none is replaced. The limit in bytes (`--prompt-cache-bytes`) is not modelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hitrate.caches.interface import Lease
from hitrate.caches.prefix import common_prefix_length

REPLY, USER, SYSTEM = "assistant", "user", "system"
_EVICTION_ORDER = (REPLY, USER, SYSTEM)

Segment = tuple[int, str]
"""Where a segment of a prompt ends, in tokens, and its kind: `SYSTEM`, `USER` or `REPLY`."""


class PromptLease(Lease):
    __slots__ = ("is_published", "namespace", "segments", "tokens")

    def __init__(
        self, tokens: tuple[int, ...], cached_tokens: int, namespace: object, segments: tuple[Segment, ...]
    ) -> None:
        super().__init__(len(tokens), cached_tokens)
        self.tokens = tokens
        self.namespace = namespace
        self.segments = segments
        self.is_published = False


class PromptCache:
    """`sequences` is `--prompt-cache-size`; None keeps all. Namespaces (the model, its adapter) have to be hashable."""

    def __init__(self, sequences: int | None = 10, trims: bool = True) -> None:
        if sequences is not None and sequences < 1:
            raise ValueError(f"sequences is {sequences}, it has to be at least 1")
        self.sequences = sequences
        self.trims = trims
        self.reset()

    def reset(self) -> None:
        self._stored: dict[tuple[object, tuple[int, ...]], str] = {}
        """(namespace, tokens) → kind, in the order of storing."""
        self._open: set[PromptLease] = set()

    @property
    def stored_tokens(self) -> list[tuple[int, ...]]:
        """The sequences kept, oldest first."""
        return [tokens for _, tokens in self._stored]

    def peek(
        self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None, segments: Sequence[Segment] = ()
    ) -> int:
        prompt = tuple(tokens)
        common = [
            (common_prefix_length(stored, prompt), len(stored)) for space, stored in self._stored if space == namespace
        ]
        if not self.trims:
            # The server does not take a single token for a find.
            common = [(length, whole) for length, whole in common if length == whole > 1]
        return max(0, min(len(prompt) - 1, max((length for length, _ in common), default=0)))

    def begin(
        self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None, segments: Sequence[Segment] = ()
    ) -> PromptLease:
        """`segments` as the server cuts a chat request that ends with a user message: behind the opening system
        messages, then at the prompt's end (or before the opening of a thought, and at the end). Without any, the prompt
        is one segment of the kind `REPLY`, as for completions and chats that end with another message.

        A prompt that equals a stored sequence is served all but its last token here; the real server breaks on it.
        """
        prompt = tuple(tokens)
        ends = tuple(segments) or ((len(prompt), REPLY),)
        if ends[-1][0] != len(prompt) or any(left >= right for (left, _), (right, _) in pairwise(ends)):
            raise ValueError(f"segments have to ascend to the prompt's end at {len(prompt)}: {ends}")
        lease = PromptLease(prompt, self.peek(prompt, namespace=namespace), namespace, ends)
        self._open.add(lease)
        return lease

    def publish(self, lease: Lease, *, now: float = 0.0) -> None:
        held = self._held(lease)
        if held is None or held.is_published:
            return
        held.is_published = True
        start = 0
        for end, kind in held.segments:
            # The prompt's last token is computed with the first of the reply.
            stop = end - 1 if end == len(held.tokens) else end
            if stop > max(start, held.cached_tokens):
                self._store(held.namespace, held.tokens[:stop], kind)
            start = end

    def finish(self, lease: Lease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        """`generated` are all tokens of the reply, a stop token that the text leaves out too."""
        held = self._held(lease)
        if held is None:
            return
        self.publish(held)
        self._store(held.namespace, held.tokens + tuple(generated), REPLY)
        self._open.remove(held)

    def abort(self, lease: Lease, *, now: float = 0.0) -> None:
        """What was stored of the prompt stays."""
        if (held := self._held(lease)) is not None:
            self._open.remove(held)

    def _held(self, lease: Lease) -> PromptLease | None:
        """None for a request that has ended or was in flight at a reset."""
        return lease if isinstance(lease, PromptLease) and lease in self._open else None

    def _store(self, namespace: object, tokens: tuple[int, ...], kind: str) -> None:
        if not tokens:
            return
        self._stored.pop((namespace, tokens), None)
        self._stored[namespace, tokens] = kind
        if self.trims:
            for space, stored in list(self._stored):
                if space == namespace and len(stored) < len(tokens) and tokens[: len(stored)] == stored:
                    del self._stored[space, stored]
        if self.sequences is not None and len(self._stored) > self.sequences:
            kind = self._kind_to_evict()
            del self._stored[next(key for key, one in self._stored.items() if one == kind)]

    def _kind_to_evict(self) -> str:
        kinds = list(self._stored.values())
        for kind, next_kind in pairwise(_EVICTION_ORDER):
            if kinds.count(kind) >= max(1, kinds.count(next_kind)):
                return kind
        return _EVICTION_ORDER[-1]

    def check_integrity(self) -> None:
        assert self.sequences is None or len(self._stored) <= self.sequences, "more sequences than are allowed"
        assert all(tokens for _, tokens in self._stored), "an empty sequence was stored"
        assert set(self._stored.values()) <= set(_EVICTION_ORDER), "a sequence of an unknown kind"
        for lease in self._open:
            assert 0 <= lease.cached_tokens <= max(0, lease.prompt_tokens - 1), "more served than can be"
