"""The slow, obvious answers for `marked.MarkedCache` and `exact.ExactCache`. See `oracle`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hitrate.caches.oracle import Oracle, OracleLease


class _Entry:
    def __init__(self, namespace: object, tokens: list[int], since: float, ttl_s: float) -> None:
        self.namespace = namespace
        self.tokens = tokens
        self.since = since
        self.ttl_s = ttl_s


class BreakpointOracle(Oracle):
    """`held` is what is to be written, as (tokens, lifetime), and the request's begin."""

    def __init__(self, minimum_tokens: int, ttls_s: Sequence[float], at_end: bool = False) -> None:
        self.minimum_tokens = minimum_tokens
        self.ttls_s = ttls_s
        self.at_end = at_end
        super().__init__()

    def reset(self) -> None:
        super().reset()
        self.entries: list[_Entry] = []

    def peek(self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None, **request: Any) -> int:
        return max((len(entry.tokens) for entry in self._hits(list(tokens), now, namespace, request)), default=0)

    def begin(
        self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None, **request: Any
    ) -> OracleLease:
        prompt = list(tokens)
        hits = self._hits(prompt, now, namespace, request)
        cached_tokens = max((len(entry.tokens) for entry in hits), default=0)
        for entry in hits:
            entry.since = now
        writes = [(end, ttl_s) for end, ttl_s in self.writes(prompt, request) if end >= self.minimum_tokens]
        lease = OracleLease(prompt, namespace, cached_tokens, (now, writes))
        self.open.append(lease)
        return lease

    def written(self, lease: OracleLease) -> dict[float, int]:
        """Token by token: each behind the hit is billed with the lifetime of the first write that contains it."""
        billed: dict[float, int] = {}
        for number in range(lease.cached_tokens + 1, len(lease.tokens) + 1):
            containing = [(end, ttl_s) for end, ttl_s in lease.held[1] if end >= number]
            if containing:
                ttl_s = min(containing)[1]
                billed[ttl_s] = billed.get(ttl_s, 0) + 1
        return billed

    def publish(self, lease: OracleLease, *, now: float = 0.0) -> None:
        if lease in self.open and not lease.is_published and not self.at_end:
            lease.is_published = True
            self._write(lease, lease.held[0], now)

    def finish(self, lease: OracleLease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        if lease in self.open:
            self.publish(lease, now=now)
            if self.at_end:
                self._write(lease, now, now)
            self.open.remove(lease)

    def _write(self, lease: OracleLease, since: float, now: float) -> None:
        for end, ttl_s in lease.held[1]:
            alive = self._at(lease.tokens[:end], now, lease.namespace)
            if alive is None:
                self.entries.append(_Entry(lease.namespace, lease.tokens[:end], since, ttl_s))
            else:
                alive.since = max(alive.since, since)
                alive.ttl_s = max(alive.ttl_s, ttl_s)

    def _at(self, tokens: list[int], now: float, namespace: object) -> _Entry | None:
        for entry in self.entries:
            if (entry.namespace, entry.tokens) == (namespace, tokens) and entry.since + entry.ttl_s >= now:
                return entry
        return None

    def _hits(self, prompt: list[int], now: float, namespace: object, request: dict[str, Any]) -> list[_Entry]:
        hits: list[_Entry] = []
        for places in self.searches(prompt, request):
            found = [entry for end in places if (entry := self._at(prompt[:end], now, namespace)) is not None]
            if found:
                hits.append(max(found, key=lambda entry: len(entry.tokens)))
        return hits

    def searches(self, prompt: list[int], request: dict[str, Any]) -> list[list[int]]:
        """The places of each search, in any order."""
        raise NotImplementedError

    def writes(self, prompt: list[int], request: dict[str, Any]) -> list[tuple[int, float]]:
        raise NotImplementedError

    def _marks(self, prompt: list[int], request: dict[str, Any]) -> list[tuple[int, float]]:
        """Index and lifetime of each marked block, from the first to the last."""
        default = request.get("ttl_s") or self.ttls_s[0]
        return sorted({(mark.boundary, mark.ttl_s or default) for mark in request.get("marks", ())})


def _ends(prompt: list[int], request: dict[str, Any]) -> list[int]:
    boundaries = request.get("boundaries")
    return ([len(prompt)] if prompt else []) if boundaries is None else list(boundaries)


class MarkedOracle(BreakpointOracle):
    """For requests that the API would not refuse."""

    def __init__(
        self,
        minimum_tokens: int,
        look_back: int,
        ttls_s: Sequence[float],
        *,
        every_block: bool = False,
        at_end: bool = False,
    ) -> None:
        self.look_back = look_back
        self.every_block = every_block
        super().__init__(minimum_tokens, ttls_s, at_end)

    def searches(self, prompt: list[int], request: dict[str, Any]) -> list[list[int]]:
        ends = _ends(prompt, request)
        return [
            [end for index, end in enumerate(ends) if 0 <= marked - index < self.look_back]
            for marked, _ in self._marks(prompt, request)[-4:]
        ]

    def writes(self, prompt: list[int], request: dict[str, Any]) -> list[tuple[int, float]]:
        marks = self._marks(prompt, request)[-4:]
        writes = []
        for index, end in enumerate(_ends(prompt, request)):
            behind = [(marked, ttl_s) for marked, ttl_s in marks if marked >= index]
            if behind and (self.every_block or behind[0][0] == index):
                writes.append((end, behind[0][1]))
        return writes


class ExactOracle(BreakpointOracle):
    def __init__(self, minimum_tokens: int, latest: int, earlier: int | None, ttls_s: Sequence[float]) -> None:
        self.latest = latest
        self.earlier = earlier
        super().__init__(minimum_tokens, ttls_s)

    def searches(self, prompt: list[int], request: dict[str, Any]) -> list[list[int]]:
        ends = _ends(prompt, request)
        places = {ends[index] for index, _ in self._marks(prompt, request)}
        messages = self._messages(ends, request)
        while self.earlier is not None and len(messages) > self.earlier + 1:
            del messages[0]
        return [sorted(places.union(messages))[-self.latest :]]

    def writes(self, prompt: list[int], request: dict[str, Any]) -> list[tuple[int, float]]:
        ends = _ends(prompt, request)
        marks = [(ends[index], ttl_s) for index, ttl_s in self._marks(prompt, request)]
        messages = self._messages(ends, request)
        if not messages:
            return marks[-4:]
        implicit = (messages[-1], request.get("ttl_s") or self.ttls_s[0])
        writes = marks[-3:]
        if messages[-1] not in [end for end, _ in writes]:
            writes.append(implicit)
        return sorted(writes)

    def _messages(self, ends: list[int], request: dict[str, Any]) -> list[int]:
        if request.get("mode") == "explicit":
            return []
        indices = request.get("messages")
        return [end for index, end in enumerate(ends) if indices is None or index in indices]
