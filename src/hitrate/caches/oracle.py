"""Slow, obvious answers that the cache models are held against.

No hashing, no tree, no queue: whole token sequences in lists, compared element by element, and recency as the number of
the event that last used something. Nothing here shares code with the models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def shared(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the longest common prefix."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


class OracleLease:
    """`held` means what each oracle says it does. `private` is room held outside the cache, for the radix oracle."""

    def __init__(self, tokens: list[int], namespace: object, cached_tokens: int, held: Any) -> None:
        self.tokens = tokens
        self.namespace = namespace
        self.cached_tokens = cached_tokens
        self.held = held
        self.private = 0
        self.is_published = False


class Oracle:
    """What the three have in common: leases, events, and a request's life as `interface.PrefixCache` tells it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.open: list[OracleLease] = []
        self.events = 0

    def publish(self, lease: OracleLease, *, now: float = 0.0) -> None:
        if lease in self.open and not lease.is_published:
            lease.is_published = True
            self._keep(lease, lease.tokens, now)

    def finish(self, lease: OracleLease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        if lease in self.open:
            self.publish(lease, now=now)
            self._keep(lease, lease.tokens + list(generated[:-1]), now)
            self._end(lease, now)

    def abort(self, lease: OracleLease, *, now: float = 0.0) -> None:
        if lease in self.open:
            self._end(lease, now)

    def _end(self, lease: OracleLease, now: float) -> None:
        self.open.remove(lease)

    def _keep(self, lease: OracleLease, tokens: list[int], now: float) -> None:
        raise NotImplementedError

    def _next_event(self) -> int:
        self.events += 1
        return self.events


class _Block:
    def __init__(self) -> None:
        self.prefix: tuple[object, list[int]] | None = None
        """Namespace and all tokens up to the end of this block; None until it is published."""
        self.published = 0
        self.released = 0
        self.idle_since = 0.0


class BlockOracle(Oracle):
    """For `block_chain.BlockChainCache`. `held` is the request's list of blocks."""

    def __init__(
        self,
        block_size: int,
        capacity_blocks: int | None,
        minimum_tokens: int = 0,
        ttl_s: float | None = None,
        whole_prompts: bool = False,
    ) -> None:
        self.block_size = block_size
        self.capacity_blocks = capacity_blocks
        self.minimum_tokens = minimum_tokens
        self.ttl_s = ttl_s
        self.whole_prompts = whole_prompts
        super().__init__()

    def reset(self) -> None:
        super().reset()
        self.blocks: list[_Block] = []
        self.uses: list[tuple[object, list[int], float]] = []
        """Every time that a whole prompt was computed, ended or read whole."""

    def peek(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> int:
        if self._is_whole(tokens, namespace, now):
            return len(tokens)
        cached_tokens = len(self._found(tokens, namespace, now)) * self.block_size
        return cached_tokens if cached_tokens >= self.minimum_tokens else 0

    def begin(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> OracleLease | None:
        cached_tokens = self.peek(tokens, now=now, namespace=namespace)
        held = self._found(tokens, namespace, now)
        fresh = self._room(tokens) - len(held)
        if self.capacity_blocks is not None:
            in_use = [block for block in self.blocks if self._in_use(block) or block in held]
            if len(in_use) + fresh > self.capacity_blocks:
                return None
        if self._is_whole(tokens, namespace, now):
            self.uses.append((namespace, list(tokens), now))
        lease = OracleLease(list(tokens), namespace, cached_tokens, held)
        self.open.append(lease)
        self._add_blocks(lease, fresh, now)
        return lease

    def finish(self, lease: OracleLease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        if lease in self.open:
            self.uses.append((lease.namespace, lease.tokens, now))
        super().finish(lease, generated, now=now)

    def _is_whole(self, tokens: Sequence[int], namespace: object, now: float) -> bool:
        uses = [at for known, whole, at in self.uses if (known, whole) == (namespace, list(tokens))]
        return bool(self.whole_prompts and tokens and uses) and (self.ttl_s is None or now - max(uses) <= self.ttl_s)

    def _found(self, tokens: Sequence[int], namespace: object, now: float) -> list[_Block]:
        found: list[_Block] = []
        for end in range(self.block_size, len(tokens), self.block_size):
            same = [b for b in self.blocks if b.prefix == (namespace, list(tokens[:end])) and not self._dead(b, now)]
            if not same:
                break
            found.append(min(same, key=lambda block: block.published))
        return found

    def _room(self, tokens: Sequence[int]) -> int:
        """Blocks that `tokens` take."""
        return -(-len(tokens) // self.block_size)

    def _in_use(self, block: _Block) -> bool:
        return any(block in lease.held for lease in self.open)

    def _dead(self, block: _Block, now: float) -> bool:
        return self.ttl_s is not None and not self._in_use(block) and now - block.idle_since > self.ttl_s

    def _add_blocks(self, lease: OracleLease, count: int, now: float) -> None:
        self.blocks = [block for block in self.blocks if not self._dead(block, now)]
        for _ in range(count):
            if self.capacity_blocks is not None and len(self.blocks) == self.capacity_blocks:
                idle = [block for block in self.blocks if not self._in_use(block)]
                if not idle:
                    return
                self.blocks.remove(min(idle, key=lambda block: block.released))
            lease.held.append(_Block())
            self.blocks.append(lease.held[-1])

    def _keep(self, lease: OracleLease, tokens: list[int], now: float) -> None:
        if tokens == lease.tokens:
            self.uses.append((lease.namespace, tokens, now))
        self._add_blocks(lease, self._room(tokens) - len(lease.held), now)
        for number, block in enumerate(lease.held, start=1):
            end = number * self.block_size
            if block.prefix is None and end <= len(tokens):
                block.prefix = (lease.namespace, tokens[:end])
                block.published = self._next_event()

    def _end(self, lease: OracleLease, now: float) -> None:
        super()._end(lease, now)
        for block in reversed(lease.held):
            if not self._in_use(block):
                block.released = self._next_event()
                block.idle_since = now
        self.blocks = [block for block in self.blocks if block.prefix is not None or self._in_use(block)]


class _Mark:
    """A place where some stored sequence ends or two part, as the namespace and all tokens up to it."""

    def __init__(self, namespace: object, tokens: list[int]) -> None:
        self.namespace = namespace
        self.tokens = tokens
        self.used = 0
        self.used_at = 0.0

    def leads_to(self, namespace: object, tokens: list[int]) -> bool:
        return self.namespace == namespace and tokens[: len(self.tokens)] == self.tokens


class RadixOracle(Oracle):
    """For `radix.RadixCache`. `held` is how many tokens of the lease's own sequence it keeps from eviction."""

    def __init__(
        self,
        page_size: int,
        capacity_tokens: int | None,
        ttl_s: float | None = None,
        prompts_at_end: bool = False,
    ) -> None:
        self.page_size = page_size
        self.capacity_tokens = None if capacity_tokens is None else capacity_tokens // page_size * page_size
        self.ttl_s = ttl_s
        self.prompts_at_end = prompts_at_end
        super().__init__()

    def reset(self) -> None:
        super().reset()
        self.marks: list[_Mark] = []

    def peek(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> int:
        return self._match(list(tokens[:-1]), namespace, now)

    def begin(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> OracleLease | None:
        cached_tokens = self.peek(tokens, now=now, namespace=namespace)
        lease = OracleLease(list(tokens), namespace, cached_tokens, cached_tokens)
        self.open.append(lease)
        private = self._pages(tokens) - cached_tokens
        if self.capacity_tokens is not None and self._kept_for_good() + private > self.capacity_tokens:
            self.open.remove(lease)
            return None
        self._drop_dead(now)
        self._read(lease.tokens[:cached_tokens], namespace, now)
        self._make_room(len(tokens) - cached_tokens + (self.page_size if self.page_size > 1 else 0))
        lease.private = private
        return lease

    def publish(self, lease: OracleLease, *, now: float = 0.0) -> None:
        if not self.prompts_at_end:
            super().publish(lease, now=now)

    def finish(self, lease: OracleLease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        if not self.prompts_at_end:
            super().finish(lease, generated, now=now)
        elif lease in self.open:
            super().publish(lease, now=now)
            super().finish(lease, now=now)

    def _keep(self, lease: OracleLease, tokens: list[int], now: float) -> None:
        self._drop_dead(now)
        had = self._pages(lease.tokens)
        more = self._pages(tokens) - had
        if self.capacity_tokens is not None:
            room = self.capacity_tokens - self._kept_for_good()
            more = min(more, room - room % self.page_size)
        asks_in_page = self.page_size > 1 and len(tokens) > len(lease.tokens) and len(tokens) % self.page_size != 1
        self._make_room(more + (self.page_size if asks_in_page else 0))
        lease.tokens = tokens[: had + more]
        whole = lease.tokens[: len(lease.tokens) - len(lease.tokens) % self.page_size]
        stored = self._match(whole, lease.namespace, now)
        self._read(whole[:stored], lease.namespace, now)
        if stored < len(whole):
            self.marks.append(_Mark(lease.namespace, whole))
            self.marks[-1].used, self.marks[-1].used_at = self._next_event(), now
        lease.held = len(whole)
        lease.private = self._pages(lease.tokens) - len(whole)

    def _pages(self, tokens: Sequence[int]) -> int:
        """Tokens of room that `tokens` take, in whole pages."""
        return -(-len(tokens) // self.page_size) * self.page_size

    def _match(self, tokens: list[int], namespace: object, now: float) -> int:
        alive = [mark for mark in self.marks if mark.namespace == namespace and not self._dead(mark, now)]
        longest = max((shared(mark.tokens, tokens) for mark in alive), default=0)
        return longest - longest % self.page_size

    def _read(self, tokens: list[int], namespace: object, now: float) -> None:
        """Refresh all marks up to the end of `tokens`; if that lies between two marks, it becomes one of its own."""
        used = [mark for mark in self.marks if mark.leads_to(namespace, tokens)]
        if tokens and not any(mark.tokens == tokens for mark in used):
            behind = [m for m in self.marks if m.namespace == namespace and m.tokens[: len(tokens)] == tokens]
            self.marks.append(_Mark(namespace, tokens))
            used += [min(behind, key=lambda mark: len(mark.tokens)), self.marks[-1]]
        event = self._next_event()
        for mark in used:
            mark.used, mark.used_at = event, now

    def _locked(self, mark: _Mark) -> bool:
        return any(mark.leads_to(lease.namespace, lease.tokens[: lease.held]) for lease in self.open)

    def _dead(self, mark: _Mark, now: float) -> bool:
        return self.ttl_s is not None and not self._locked(mark) and now - mark.used_at > self.ttl_s

    def _drop_dead(self, now: float) -> None:
        self.marks = [mark for mark in self.marks if not self._dead(mark, now)]

    def _stored(self) -> int:
        """Tokens of the distinct pages that lie on some stored sequence."""
        return self._distinct((mark.namespace, mark.tokens) for mark in self.marks)

    def _kept_for_good(self) -> int:
        """What no eviction can free: what requests in flight hold of the stored sequences, and their private pages."""
        held = self._distinct((lease.namespace, lease.tokens[: lease.held]) for lease in self.open)
        return held + sum(lease.private for lease in self.open)

    def _distinct(self, sequences: Iterable[tuple[object, list[int]]]) -> int:
        size = self.page_size
        pages = {
            (name, tuple(tokens[:end])) for name, tokens in sequences for end in range(size, len(tokens) + 1, size)
        }
        return size * len(pages)

    def _make_room(self, count: int) -> None:
        if self.capacity_tokens is None:
            return
        while self._stored() + sum(lease.private for lease in self.open) + count > self.capacity_tokens:
            leaves = [
                mark
                for mark in self.marks
                if not self._locked(mark)
                and not any(mark.leads_to(m.namespace, m.tokens) for m in self.marks if m is not mark)
            ]
            if not leaves:
                return
            self.marks.remove(min(leaves, key=lambda mark: mark.used))
