"""What caches with breakpoints share: entries that each hold one whole prefix, and how a request reads and writes them.

An entry is found only at the very place where it ends, and only by a request that looks at that place. Which places
those are, and where a request writes, is its `Plan`; `marked` and `exact` differ in how they make one.

Nothing is ever evicted here: no vendor publishes how much it keeps. What a vendor calls cached may reach the end of
the prompt; the few tokens it renders behind the last block (the header of the reply) belong to no boundary.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from hitrate.caches.interface import Lease
from hitrate.errors import UsageError

_KEY_BYTES = 16


class Mark(NamedTuple):
    """A breakpoint at the end of a block: `boundary` is an index, from 0, into the request's `boundaries`.

    `ttl_s` is the lifetime asked for, None the rule's default.
    """

    boundary: int
    ttl_s: float | None = None


class Plan(NamedTuple):
    """Where one request looks and where it writes; all places are token positions.

    Each of `lookups` is a separate search that ends with its first find. `writes` gives the lifetime of the entry
    that is to end at a position.
    """

    lookups: Sequence[Sequence[int]]
    writes: Mapping[int, float]


class _Entry:
    """A stored prefix of `position` tokens, `since` the start of its current life."""

    __slots__ = ("position", "since", "ttl_s")

    def __init__(self, position: int, since: float, ttl_s: float) -> None:
        self.position = position
        self.since = since
        self.ttl_s = ttl_s

    def is_alive(self, now: float) -> bool:
        return now - self.since <= self.ttl_s


class BreakpointLease(Lease):
    """`written_by_ttl` are the tokens that this request is billed as written, by lifetime in seconds."""

    __slots__ = ("began_at", "pending", "written_by_ttl")

    def __init__(self, prompt_tokens: int, cached_tokens: int, began_at: float) -> None:
        super().__init__(prompt_tokens, cached_tokens)
        self.began_at = began_at
        self.written_by_ttl: dict[float, int] = {}
        self.pending: list[tuple[bytes, int, float]] = []
        """Key, position and lifetime of entries still to be written."""

    @property
    def written_tokens(self) -> int:
        return sum(self.written_by_ttl.values())


def block_ends(prompt_tokens: int, boundaries: Sequence[int] | None) -> tuple[int, ...]:
    """`boundaries` checked; None is a prompt of one block. Raises ValueError."""
    if boundaries is None:
        return (prompt_tokens,) if prompt_tokens else ()
    ends = tuple(boundaries)
    if any(left >= right for left, right in zip((0, *ends), (*ends, prompt_tokens + 1), strict=True)):
        raise ValueError(f"boundaries have to ascend from above 0 to at most {prompt_tokens}: {list(ends)[:10]}")
    return ends


def marked_ends(
    ends: Sequence[int], marks: Sequence[Mark], ttls_s: Sequence[float], default_ttl_s: float
) -> dict[int, float]:
    """Position and lifetime of every mark, ascending by position; two equal marks are one.

    Raises ValueError for a mark at no boundary, UsageError for a lifetime outside `ttls_s` and for two marks of
    different lifetimes at one place.
    """
    places: dict[int, float] = {}
    for mark in sorted(marks, key=lambda mark: mark.boundary):
        if not 0 <= mark.boundary < len(ends):
            raise ValueError(f"a mark at boundary {mark.boundary}, the prompt has {len(ends)}")
        ttl_s = default_ttl_s if mark.ttl_s is None else mark.ttl_s
        if ttl_s not in ttls_s:
            raise UsageError(f"a cache lifetime of {ttl_s:g} s; this rule has {', '.join(f'{t:g} s' for t in ttls_s)}")
        if places.setdefault(ends[mark.boundary], ttl_s) != ttl_s:
            raise UsageError(f"two markers of different lifetimes on block {mark.boundary + 1}: keep one of them")
    return places


class BreakpointCache:
    """The life of a request over entries; `marked.MarkedCache` and `exact.ExactCache` add what a plan is made from.

    `minimum_tokens`: no shorter entry is ever written, so none is read. `readable_at_end`: entries appear when the
    reply has ended, not at its first token.
    """

    def __init__(self, minimum_tokens: int, readable_at_end: bool) -> None:
        self.minimum_tokens = minimum_tokens
        self.readable_at_end = readable_at_end
        self.reset()

    def reset(self) -> None:
        self._entries: dict[bytes, _Entry] = {}
        self._open: set[BreakpointLease] = set()
        self._sweep_above = 64

    @property
    def entry_positions(self) -> list[int]:
        """Lengths of the stored prefixes, ascending; expired ones may be among them."""
        return sorted(entry.position for entry in self._entries.values())

    def publish(self, lease: Lease, *, now: float = 0.0) -> None:
        held = self._held(lease)
        if held is not None and not self.readable_at_end:
            # Anthropic counts a lifetime from the start of the request, not from its first token.
            self._write(held, held.began_at, now)

    def finish(self, lease: Lease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        """Nothing of the reply is stored: a later prompt that contains it has to mark it."""
        held = self._held(lease)
        if held is not None:
            self._write(held, now if self.readable_at_end else held.began_at, now)
            self._open.remove(held)

    def abort(self, lease: Lease, *, now: float = 0.0) -> None:
        if (held := self._held(lease)) is not None:
            self._open.remove(held)

    def check_integrity(self) -> None:
        for entry in self._entries.values():
            assert entry.position >= max(1, self.minimum_tokens), "an entry is shorter than the minimum"
        assert len(self._entries) <= self._sweep_above, "entries were not swept"
        for lease in self._open:
            assert 0 <= lease.cached_tokens <= lease.prompt_tokens, "more was served than asked"
            assert lease.cached_tokens + lease.written_tokens <= lease.prompt_tokens, "more was written than asked"
            for _, position, _ in lease.pending:
                assert position <= lease.prompt_tokens, "an entry would end behind its prompt"

    def _peek(self, tokens: Sequence[int], plan: Plan, now: float, namespace: object) -> int:
        keys = _prefix_keys(tokens, _places(plan), namespace)
        return max((entry.position for entry in self._find(plan, keys, now)), default=0)

    def _begin(self, tokens: Sequence[int], plan: Plan, now: float, namespace: object) -> BreakpointLease:
        keys = _prefix_keys(tokens, _places(plan), namespace)
        found = self._find(plan, keys, now)
        for entry in found:
            entry.since = now
        lease = BreakpointLease(len(tokens), max((entry.position for entry in found), default=0), now)
        billed_to = lease.cached_tokens
        for position, ttl_s in sorted(plan.writes.items()):
            if position < self.minimum_tokens:
                continue
            lease.pending.append((keys[position], position, ttl_s))
            if position > billed_to:
                lease.written_by_ttl[ttl_s] = lease.written_by_ttl.get(ttl_s, 0) + position - billed_to
                billed_to = position
        self._open.add(lease)
        return lease

    def _held(self, lease: Lease) -> BreakpointLease | None:
        """None for a request that has ended or was in flight at a reset."""
        return lease if isinstance(lease, BreakpointLease) and lease in self._open else None

    def _find(self, plan: Plan, keys: Mapping[int, bytes], now: float) -> list[_Entry]:
        found = []
        for places in plan.lookups:
            for position in places:
                entry = self._entries.get(keys[position])
                if entry is not None and entry.is_alive(now):
                    found.append(entry)
                    break
        return found

    def _write(self, lease: BreakpointLease, since: float, now: float) -> None:
        """An entry that is still alive keeps the longer lifetime; it starts anew either way."""
        for key, position, ttl_s in lease.pending:
            entry = self._entries.get(key)
            if entry is None or not entry.is_alive(now):
                self._entries[key] = _Entry(position, since, ttl_s)
            else:
                entry.since = max(entry.since, since)
                entry.ttl_s = max(entry.ttl_s, ttl_s)
        lease.pending.clear()
        if len(self._entries) > self._sweep_above:
            self._entries = {key: entry for key, entry in self._entries.items() if entry.is_alive(now)}
            self._sweep_above = 2 * len(self._entries) + 64


def _places(plan: Plan) -> set[int]:
    return {position for places in plan.lookups for position in places}.union(plan.writes)


def _prefix_keys(tokens: Sequence[int], positions: Collection[int], namespace: object) -> dict[int, bytes]:
    """A key per position, over the namespace (by its `repr`) and all tokens before the position.

    How the tokens are cut into blocks is not part of it: a string and a list of one text block are the same prompt.
    """
    data = memoryview(array("q", tokens)).cast("B")
    width = array("q").itemsize
    hasher = blake2b(blake2b(repr(namespace).encode()).digest(), digest_size=_KEY_BYTES)
    keys, start = {}, 0
    for position in sorted(positions):
        hasher.update(data[start * width : position * width])
        keys[position] = hasher.copy().digest()
        start = position
    return keys
