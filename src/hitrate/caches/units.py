"""Boundary units: what was stored is reused only as a whole, and only some places of a sequence are stored.

This is DeepSeek's rule (https://api-docs.deepseek.com/guides/kv_cache): sliding-window attention leaves no state to cut
back to, so each stored prefix is a unit that a prompt contains whole or not at all. Units end

- where an input ends, once its state is computed
- where the reply to it ends
- where a sequence parts from an earlier one: A+B and then A+C both miss, A is stored by then, and A+D hits
- every `interval_tokens` of a long sequence; DeepSeek does not publish the number

Writing takes some seconds, in which a unit cannot be read yet. Not documented, and chosen here: replies take part when
common prefixes are looked for, and a use of a unit renews the shorter ones within it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from hitrate.caches.interface import Lease
from hitrate.caches.prefix import common_prefix_length


class _Unit:
    """Ends a stored prefix; `tokens` are those behind the unit before it. The root of a namespace has none."""

    __slots__ = ("children", "parent", "readable_at", "tokens", "used_at")

    def __init__(self, tokens: tuple[int, ...], parent: _Unit | None, readable_at: float, used_at: float) -> None:
        self.tokens = tokens
        self.parent = parent
        self.children: dict[int, _Unit] = {}
        self.readable_at = readable_at
        self.used_at = used_at


class UnitLease(Lease):
    __slots__ = ("is_published", "namespace", "tokens")

    def __init__(self, tokens: tuple[int, ...], cached_tokens: int, namespace: object) -> None:
        super().__init__(len(tokens), cached_tokens)
        self.tokens = tokens
        self.namespace = namespace
        self.is_published = False


class UnitCache:
    """`minimum_tokens`: shorter units are not credited. `write_delay_s`: from a unit's end being computed to its first
    possible read. `ttl_s`: a unit expires when it was not used for longer. `interval_tokens` None: no such units.

    Nothing is evicted by size. Namespaces have to be hashable.
    """

    def __init__(
        self,
        minimum_tokens: int = 64,
        write_delay_s: float = 0.0,
        ttl_s: float | None = None,
        interval_tokens: int | None = None,
    ) -> None:
        if write_delay_s < 0:
            raise ValueError(f"write_delay_s is {write_delay_s}, it has to be at least 0")
        if interval_tokens is not None and interval_tokens < 1:
            raise ValueError(f"interval_tokens is {interval_tokens}, it has to be at least 1")
        self.minimum_tokens = minimum_tokens
        self.write_delay_s = write_delay_s
        self.ttl_s = ttl_s
        self.interval_tokens = interval_tokens
        self.reset()

    def reset(self) -> None:
        self._roots: dict[object, _Unit] = {}
        self._open: set[UnitLease] = set()
        self._units = 0
        self._sweep_above = 64

    @property
    def stored_units(self) -> int:
        """Units in store; those still being written and, until they are swept, expired ones included."""
        return self._units

    def peek(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> int:
        return self._find(tuple(tokens), namespace, now)[1]

    def begin(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> UnitLease:
        """Renews the unit that is served. Never has to wait."""
        prompt = tuple(tokens)
        unit, cached_tokens = self._find(prompt, namespace, now)
        while unit is not None:
            unit.used_at = now
            unit = unit.parent
        lease = UnitLease(prompt, cached_tokens, namespace)
        self._open.add(lease)
        return lease

    def publish(self, lease: Lease, *, now: float = 0.0) -> None:
        """Starts to write the unit at the end of the input, and that of what it shares with an earlier sequence."""
        held = self._held(lease)
        if held is not None and not held.is_published:
            held.is_published = True
            self._store(held.namespace, held.tokens, now)

    def finish(self, lease: Lease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        """Starts to write the unit at the end of the reply; its last token was sampled but never computed."""
        held = self._held(lease)
        if held is not None:
            self.publish(held, now=now)
            self._store(held.namespace, held.tokens + tuple(generated[:-1]), now)
            self._open.remove(held)

    def abort(self, lease: Lease, *, now: float = 0.0) -> None:
        if (held := self._held(lease)) is not None:
            self._open.remove(held)

    def _held(self, lease: Lease) -> UnitLease | None:
        """None for a request that has ended or was in flight at a reset."""
        return lease if isinstance(lease, UnitLease) and lease in self._open else None

    def _find(self, tokens: tuple[int, ...], namespace: object, now: float) -> tuple[_Unit | None, int]:
        """The longest readable unit that `tokens` begin with, and its end. Changes nothing."""
        found, found_end = None, 0
        unit, end = self._roots.get(namespace), 0
        while unit is not None and end < len(tokens):
            unit = unit.children.get(tokens[end])
            if unit is None or self._has_expired(unit, now) or tokens[end : end + len(unit.tokens)] != unit.tokens:
                break
            end += len(unit.tokens)
            if end >= self.minimum_tokens and unit.readable_at <= now:
                found, found_end = unit, end
        return found, found_end

    def _store(self, namespace: object, tokens: tuple[int, ...], now: float) -> None:
        """Have a unit at the end of `tokens`, at every interval, and where they part from what is stored."""
        self._sweep(now)
        unit = self._roots.setdefault(namespace, _Unit((), None, now, now))
        unit.used_at = now
        inner = range(self.interval_tokens, len(tokens), self.interval_tokens) if self.interval_tokens else ()
        for start, end in pairwise((0, *inner, len(tokens))):
            while start < end:
                unit = self._step(unit, tokens, start, end, now)
                unit.used_at = now
                start += len(unit.tokens)

    def _step(self, unit: _Unit, tokens: tuple[int, ...], start: int, end: int, now: float) -> _Unit:
        """The next unit behind `unit` along tokens[start:end], made where there is none."""
        following = unit.children.get(tokens[start])
        if following is not None and self._has_expired(following, now):
            self._remove(following)
            following = None
        if following is None:
            following = _Unit(tokens[start:end], unit, now + self.write_delay_s, now)
            unit.children[tokens[start]] = following
            self._units += 1
            return following
        length = min(common_prefix_length(following.tokens, tokens, start), end - start)
        return following if length == len(following.tokens) else self._split(following, length, now)

    def _split(self, unit: _Unit, length: int, now: float) -> _Unit:
        assert unit.parent is not None
        upper = _Unit(unit.tokens[:length], unit.parent, now + self.write_delay_s, now)
        unit.parent.children[upper.tokens[0]] = upper
        unit.tokens = unit.tokens[length:]
        unit.parent = upper
        upper.children[unit.tokens[0]] = unit
        self._units += 1
        return upper

    def _has_expired(self, unit: _Unit, now: float) -> bool:
        return self.ttl_s is not None and now - unit.used_at > self.ttl_s

    def _remove(self, unit: _Unit) -> None:
        """With all behind it: a unit is never used later than the ones before it, so those have expired too."""
        assert unit.parent is not None
        del unit.parent.children[unit.tokens[0]]
        self._units -= sum(1 for _ in _walk(unit))

    def _sweep(self, now: float) -> None:
        if self.ttl_s is None or self._units <= self._sweep_above:
            return
        stack = list(self._roots.values())
        while stack:
            for child in list(stack.pop().children.values()):
                if self._has_expired(child, now):
                    self._remove(child)
                else:
                    stack.append(child)
        self._sweep_above = 2 * self._units + 64

    def check_integrity(self) -> None:
        units = 0
        for root in self._roots.values():
            assert root.parent is None and not root.tokens, "a root is not a root"
            for unit in _walk(root):
                for first, child in unit.children.items():
                    assert child.parent is unit and child.tokens[0] == first, "a unit hangs in the wrong place"
                    assert child.used_at <= unit.used_at, "a unit was used later than one within it"
                    assert child.readable_at <= child.used_at + self.write_delay_s, "a unit is written too late"
                units += 1
            units -= 1
        assert units == self._units, "the count of units has drifted"
        for lease in self._open:
            assert 0 <= lease.cached_tokens <= lease.prompt_tokens, "more was served than asked"


def _walk(unit: _Unit) -> Iterator[_Unit]:
    stack = [unit]
    while stack:
        unit = stack.pop()
        yield unit
        stack.extend(unit.children.values())
