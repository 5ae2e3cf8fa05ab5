"""The slow, obvious answers for `units.UnitCache` and `objects.ObjectCache`. See `oracle`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hitrate.caches.oracle import Oracle, OracleLease, shared
from hitrate.errors import UsageError


class _Unit:
    def __init__(self, namespace: object, tokens: list[int], readable_at: float, used_at: float) -> None:
        self.namespace = namespace
        self.tokens = tokens
        self.readable_at = readable_at
        self.used_at = used_at

    def within(self, namespace: object, tokens: list[int]) -> bool:
        return self.namespace == namespace and tokens[: len(self.tokens)] == self.tokens


class UnitOracle(Oracle):
    """For `units.UnitCache`: a list of whole prefixes. `held` is not used."""

    def __init__(self, minimum_tokens: int, delay_s: float, ttl_s: float | None, interval: int | None) -> None:
        self.minimum_tokens = minimum_tokens
        self.delay_s = delay_s
        self.ttl_s = ttl_s
        self.interval = interval
        super().__init__()

    def reset(self) -> None:
        super().reset()
        self.units: list[_Unit] = []

    def peek(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> int:
        lengths = [
            len(unit.tokens)
            for unit in self._alive(now)
            if unit.within(namespace, list(tokens)) and unit.readable_at <= now
        ]
        return max((length for length in lengths if length >= self.minimum_tokens), default=0)

    def begin(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None) -> OracleLease:
        lease = OracleLease(list(tokens), namespace, self.peek(tokens, now=now, namespace=namespace), None)
        self._use(namespace, lease.tokens[: lease.cached_tokens], now)
        self.open.append(lease)
        return lease

    def _keep(self, lease: OracleLease, tokens: list[int], now: float) -> None:
        self.units = self._alive(now)
        known = [shared(unit.tokens, tokens) for unit in self.units if unit.namespace == lease.namespace]
        ends = {len(tokens), max(known, default=0)}
        if self.interval:
            ends.update(range(self.interval, len(tokens), self.interval))
        for end in ends - {0}:
            if not any((unit.namespace, unit.tokens) == (lease.namespace, tokens[:end]) for unit in self.units):
                self.units.append(_Unit(lease.namespace, tokens[:end], now + self.delay_s, now))
        self._use(lease.namespace, tokens, now)

    def _use(self, namespace: object, tokens: list[int], now: float) -> None:
        for unit in self._alive(now):
            if unit.within(namespace, tokens):
                unit.used_at = now

    def _alive(self, now: float) -> list[_Unit]:
        return [unit for unit in self.units if self.ttl_s is None or unit.used_at + self.ttl_s >= now]


class ObjectOracle:
    """For `objects.ObjectCache`: a log of what was asked, read from its start for every answer."""

    def __init__(self, minimum_tokens: int, default_ttl_s: float) -> None:
        self.minimum_tokens = minimum_tokens
        self.default_ttl_s = default_ttl_s
        self.reset()

    def reset(self) -> None:
        self.log: list[tuple[str, object, list[int], float, float]] = []
        """What was done, to which (namespace, name), tokens, when, and until when it is to last."""

    def create(
        self,
        name: str,
        tokens: Sequence[int],
        *,
        ttl_s: float | None = None,
        now: float = 0.0,
        namespace: object = None,
    ) -> None:
        if len(tokens) < self.minimum_tokens or self.lives((namespace, name), now) is not None:
            raise UsageError("refused")
        self.log.append(("create", (namespace, name), list(tokens), now, now + (ttl_s or self.default_ttl_s)))

    def extend(self, name: str, *, ttl_s: float | None = None, now: float = 0.0, namespace: object = None) -> None:
        tokens = self._tokens((namespace, name), now)
        self.log.append(("extend", (namespace, name), tokens, now, now + (ttl_s or self.default_ttl_s)))

    def delete(self, name: str, *, now: float = 0.0, namespace: object = None) -> None:
        self.log.append(("delete", (namespace, name), self._tokens((namespace, name), now), now, now))

    def peek(
        self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None, name: str | None = None
    ) -> int:
        return 0 if name is None else len(self._tokens((namespace, name), now))

    def lives(self, which: object, now: float) -> list[int] | None:
        """The object's tokens, None when it is not there at `now`."""
        tokens = None
        for verb, key, stored, moment, until in self.log:
            if key == which and moment <= now:
                tokens = None if verb == "delete" or now >= until else stored
        return tokens

    def stored_token_seconds(self, now: float) -> float:
        """Over each stretch between two neighbouring moments of the log, what was there during all of it."""
        moments = sorted({now, *(min(each, now) for _, _, _, start, end in self.log for each in (start, end))})
        total = 0.0
        for start, end in pairwise(moments):
            for key in {entry[1] for entry in self.log}:
                tokens = self.lives(key, start)
                total += len(tokens or ()) * (end - start)
        return total

    def _tokens(self, which: object, now: float) -> list[int]:
        tokens = self.lives(which, now)
        if tokens is None:
            raise UsageError("not there")
        return tokens
