"""A radix tree over tokens: the longest common prefix is served, token by token or in pages.

This is SGLang's rule (`python/sglang/srt/mem_cache/radix_cache.py`, 0.5.23), with these of its habits that change
numbers: a match is cut to whole pages and to at most prompt - 1 tokens; whole leaves are evicted, least recently used
first, until what is missing is free (earlier releases evicted as much as was needed, whatever was free before); with
pages, one page more is made free than a prompt takes; and a read that ends inside an edge refreshes that whole edge.
Unlike SGLang, `peek` splits no edge and refreshes nothing, and a request that has to wait is not matched.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Sequence

from hitrate.caches.interface import Lease
from hitrate.caches.prefix import common_prefix_length
from hitrate.errors import ContextTooSmall


class _Node:
    """An edge with its tokens. `locks` counts requests in flight at or below it; `tick` orders by recency."""

    __slots__ = ("children", "locks", "parent", "tick", "tokens", "used_at")

    def __init__(self, tokens: tuple[int, ...], parent: _Node | None, tick: int, used_at: float) -> None:
        self.tokens = tokens
        self.parent = parent
        self.children: dict[Hashable, _Node] = {}
        self.locks = 0
        self.tick = tick
        self.used_at = used_at


class RadixLease(Lease):
    __slots__ = ("is_published", "namespace", "node", "private", "tokens")

    def __init__(
        self, tokens: tuple[int, ...], cached_tokens: int, namespace: object, node: _Node, private: int
    ) -> None:
        super().__init__(len(tokens), cached_tokens)
        self.tokens = tokens
        self.namespace = namespace
        self.node = node
        """The deepest node this request keeps from eviction."""
        self.private = private
        """Tokens of capacity held outside the tree."""
        self.is_published = False


class RadixCache:
    """`capacity_tokens` counts the tree and what requests in flight hold; None evicts nothing.

    `ttl_s`: a leaf expires when it was not used for longer. Namespaces have to be hashable.
    `prompts_at_end`: stored are prompts without their replies, and only when their requests end.
    """

    def __init__(
        self,
        page_size: int = 1,
        capacity_tokens: int | None = None,
        ttl_s: float | None = None,
        prompts_at_end: bool = False,
    ) -> None:
        if page_size < 1:
            raise ValueError(f"page_size is {page_size}, it has to be at least 1")
        if capacity_tokens is not None and capacity_tokens < page_size:
            raise ValueError(f"capacity_tokens is {capacity_tokens}, it has to hold at least one page of {page_size}")
        self.page_size = page_size
        self.capacity_tokens = None if capacity_tokens is None else self._whole_pages(capacity_tokens)
        self.ttl_s = ttl_s
        self.prompts_at_end = prompts_at_end
        self.reset()

    def reset(self) -> None:
        self._roots: dict[object, _Node] = {}
        self._open: set[RadixLease] = set()
        self._tick = 0
        self._nodes = 0
        self._stored = 0
        self._locked = 0
        self._private = 0
        self._leaves: list[tuple[int, int, _Node]] = []
        """Heap of (tick, serial, node). An entry is stale when its node was used, locked, extended or removed since."""

    @property
    def stored_tokens(self) -> int:
        """Tokens in the tree."""
        return self._stored

    def peek(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> int:
        path = self._match(namespace, self._matchable(tuple(tokens)), now)
        return sum(length for _, length in path)

    def begin(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> RadixLease | None:
        """Raises ContextTooSmall for a prompt that the whole capacity could not hold."""
        tokens = tuple(tokens)
        wanted = self._pages_for(len(tokens))
        if self.capacity_tokens is not None and wanted > self.capacity_tokens:
            raise ContextTooSmall(
                f"a prompt of {len(tokens)} tokens does not fit a cache of {self.capacity_tokens}",
                hint=f"raise capacity_tokens to at least {wanted}",
            )
        self._expire(now)
        path = self._match(namespace, self._matchable(tokens), now)
        cached_tokens = sum(length for _, length in path)
        private = wanted - cached_tokens
        if self.capacity_tokens is not None:
            newly_locked = sum(length for node, length in path if not node.locks)
            if private > self.capacity_tokens - self._locked - newly_locked - self._private:
                return None
        node = self._read(namespace, path, now)
        self._lock(node)
        self._make_room(len(tokens) - cached_tokens + self._spare)
        self._private += private
        lease = RadixLease(tokens, cached_tokens, namespace, node, private)
        self._open.add(lease)
        return lease

    def publish(self, lease: Lease, *, now: float = 0.0) -> None:
        held = self._held(lease)
        if held is not None and not self.prompts_at_end:
            self._publish(held, now)

    def _publish(self, held: RadixLease, now: float) -> None:
        if not held.is_published:
            held.is_published = True
            self._store(held, held.tokens, now)

    def finish(self, lease: Lease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        """The last generated token was sampled but never computed, so the tree does not get it.

        Where capacity does not suffice for the whole reply, its end is not stored (SGLang would retract a request).
        """
        held = self._held(lease)
        if held is None:
            return
        self._publish(held, now)
        tokens = held.tokens + (() if self.prompts_at_end else tuple(generated[:-1]))
        had = self._pages_for(len(held.tokens))
        missing = self._pages_for(len(tokens)) - had
        self._expire(now)
        if self.capacity_tokens is not None:
            missing = min(missing, self._whole_pages(self.capacity_tokens - self._locked - self._private))
        is_inside_page = len(tokens) > len(held.tokens) and (len(tokens) - 1) % self.page_size
        self._make_room(missing + (self._spare if is_inside_page else 0))
        held.private += missing
        self._private += missing
        self._store(held, tokens[: had + missing], now)
        self._release(held)

    def abort(self, lease: Lease, *, now: float = 0.0) -> None:
        if (held := self._held(lease)) is not None:
            self._release(held)

    def _held(self, lease: Lease) -> RadixLease | None:
        """None for a request that has ended or was in flight at a reset."""
        return lease if isinstance(lease, RadixLease) and lease in self._open else None

    def _matchable(self, tokens: tuple[int, ...]) -> tuple[int, ...]:
        # The last token is always computed, for its logits.
        return tokens[: self._whole_pages(max(0, len(tokens) - 1))]

    def _whole_pages(self, token_count: int) -> int:
        return token_count - token_count % self.page_size

    def _pages_for(self, token_count: int) -> int:
        return -(-token_count // self.page_size) * self.page_size

    def _branch(self, tokens: tuple[int, ...], start: int = 0) -> Hashable:
        return tokens[start : start + self.page_size]

    def _match(self, namespace: object, tokens: tuple[int, ...], now: float) -> list[tuple[_Node, int]]:
        """The nodes along `tokens`, each with how many of its tokens match (all, but for the last node)."""
        path: list[tuple[_Node, int]] = []
        node = self._roots.get(namespace)
        start = 0
        while node is not None and start < len(tokens):
            node = node.children.get(self._branch(tokens, start))
            if node is None or self._has_expired(node, now):
                break
            length = self._whole_pages(common_prefix_length(node.tokens, tokens, start))
            path.append((node, length))
            start += length
            if length < len(node.tokens):
                break
        return path

    def _read(self, namespace: object, path: list[tuple[_Node, int]], now: float) -> _Node:
        """Refresh the nodes of a match and return its end, split so that it ends with the match."""
        self._tick += 1
        for node, _ in path:
            self._touch(node, self._tick, now)
        if not path:
            if namespace not in self._roots:
                self._roots[namespace] = _Node((), None, 0, now)
            return self._roots[namespace]
        node, length = path[-1]
        return node if length == len(node.tokens) else self._split(node, length)

    def _split(self, node: _Node, length: int) -> _Node:
        assert node.parent is not None
        upper = _Node(node.tokens[:length], node.parent, node.tick, node.used_at)
        upper.locks = node.locks
        upper.parent.children[self._branch(upper.tokens)] = upper  # type: ignore[union-attr]
        node.tokens = node.tokens[length:]
        node.parent = upper
        upper.children[self._branch(node.tokens)] = node
        self._nodes += 1
        return upper

    def _touch(self, node: _Node, tick: int, now: float) -> None:
        node.tick = tick
        node.used_at = now
        self._offer(node)

    def _offer(self, node: _Node) -> None:
        """Put an unlocked leaf where eviction and expiry look for it."""
        if node.children or node.locks or node.parent is None or (self.capacity_tokens is None and self.ttl_s is None):
            return
        if len(self._leaves) > 2 * self._nodes + 64:
            self._leaves = [entry for entry in self._leaves if self._is_current(entry)]
            heapq.heapify(self._leaves)
        heapq.heappush(self._leaves, (node.tick, id(node), node))

    def _is_current(self, entry: tuple[int, int, _Node]) -> bool:
        tick, _, node = entry
        return node.tick == tick and not node.children and not node.locks and node.parent is not None

    def _oldest_leaf(self) -> _Node | None:
        while self._leaves and not self._is_current(self._leaves[0]):
            heapq.heappop(self._leaves)
        return self._leaves[0][2] if self._leaves else None

    def _remove(self, leaf: _Node) -> None:
        parent = leaf.parent
        assert parent is not None
        del parent.children[self._branch(leaf.tokens)]
        leaf.parent = None
        self._nodes -= 1
        self._stored -= len(leaf.tokens)
        self._offer(parent)

    @property
    def _spare(self) -> int:
        """SGLang asks for a page too many with every prompt, and for a whole page at every token of a reply."""
        return self.page_size if self.page_size > 1 else 0

    def _make_room(self, token_count: int) -> None:
        if self.capacity_tokens is None:
            return
        enough = self.capacity_tokens - self._private - token_count
        while self._stored > enough and (leaf := self._oldest_leaf()) is not None:
            self._remove(leaf)

    def _expire(self, now: float) -> None:
        while self.ttl_s is not None and (leaf := self._oldest_leaf()) is not None and self._has_expired(leaf, now):
            self._remove(leaf)

    def _has_expired(self, node: _Node, now: float) -> bool:
        return self.ttl_s is not None and not node.locks and now - node.used_at > self.ttl_s

    def _store(self, lease: RadixLease, tokens: tuple[int, ...], now: float) -> None:
        """Hand the whole pages of `tokens` to the tree; what others put there meanwhile is given back."""
        self._expire(now)
        whole = tokens[: self._whole_pages(len(tokens))]
        path = self._match(lease.namespace, whole, now)
        node = self._read(lease.namespace, path, now)
        start = sum(length for _, length in path)
        if start < len(whole):
            self._tick += 1
            leaf = _Node(whole[start:], node, self._tick, now)
            node.children[self._branch(leaf.tokens)] = leaf
            node = leaf
            self._nodes += 1
            self._stored += len(leaf.tokens)
        self._lock(node)
        self._unlock(lease.node)
        lease.node = node
        tail = self._pages_for(len(tokens)) - len(whole)
        self._private += tail - lease.private
        lease.private = tail

    def _release(self, lease: RadixLease) -> None:
        self._open.remove(lease)
        self._private -= lease.private
        self._unlock(lease.node)

    def _lock(self, node: _Node | None) -> None:
        while node is not None:
            if not node.locks:
                self._locked += len(node.tokens)
            node.locks += 1
            node = node.parent

    def _unlock(self, node: _Node | None) -> None:
        while node is not None:
            node.locks -= 1
            if not node.locks:
                self._locked -= len(node.tokens)
                self._offer(node)
            node = node.parent

    def _walk(self) -> Iterator[_Node]:
        stack = list(self._roots.values())
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children.values())

    def check_integrity(self) -> None:
        locks: dict[int, int] = {}
        for lease in self._open:
            node: _Node | None = lease.node
            while node is not None:
                locks[id(node)] = locks.get(id(node), 0) + 1
                node = node.parent
        offered = {id(entry[2]) for entry in self._leaves if self._is_current(entry)}
        is_bounded = self.capacity_tokens is not None or self.ttl_s is not None
        stored = locked = nodes = 0
        for node in self._walk():
            assert node.locks == locks.pop(id(node), 0), "a lock without a request, or the other way round"
            for branch, child in node.children.items():
                assert child.parent is node and branch == self._branch(child.tokens), "a child hangs in the wrong place"
                assert node.parent is None or child.used_at <= node.used_at, "a node was used before its child"
            if node.parent is None:
                assert node in self._roots.values() and not node.tokens, "a removed node is still reachable"
                continue
            assert node.tokens and len(node.tokens) % self.page_size == 0, "an edge is not whole pages"
            if is_bounded and not node.children and not node.locks:
                assert id(node) in offered, "an evictable leaf is not offered for eviction"
            nodes += 1
            stored += len(node.tokens)
            locked += len(node.tokens) if node.locks else 0
        assert not locks, "a request in flight holds a node outside the tree"
        assert (nodes, stored, locked) == (self._nodes, self._stored, self._locked), "the counts have drifted"
        assert self._private == sum(lease.private for lease in self._open), "private tokens have drifted"
        assert self.capacity_tokens is None or stored + self._private <= self.capacity_tokens, "over capacity"
