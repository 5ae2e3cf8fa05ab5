"""What a cache rule would have served to calls that were made: the expectation beside every measured count."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from hitrate.caches.interface import Lease, PrefixCache
from hitrate.caches.slots import SlotCache, SlotLease


class TimedCall(NamedTuple):
    """One call's tokens and moments, in seconds on one clock. `first_token` None: the call gave no token.

    `slot` is the slot the engine says it used; it tells in which order overlapping calls were taken, nothing else.
    Calls of one `session` never overlap. `places` are further keywords of the cache's `begin`.
    """

    sent: float
    first_token: float | None
    done: float
    prompt: Sequence[int]
    generated: Sequence[int] = ()
    namespace: object = None
    slot: int | None = None
    session: str = ""
    places: Mapping[str, Any] = MappingProxyType({})


LATEST_OVERTAKING_S = 0.02
"""A busy server reads requests in another order than they were written, and a busy client the ends of replies, by up
to about this."""

_FIRST_TOKEN, _DONE, _SENT = 0, 1, 2
"""At equal moments a reply ends before another call begins, as it does for a client that sends turn after turn."""


def expected_cached_tokens(
    calls: Sequence[TimedCall], cache: PrefixCache, *, simultaneous_s: float = 0.0
) -> list[int | None]:
    """Per call, the cached tokens that one `cache` shared by all calls would report; None for a call that never
    gave a token.

    A prompt becomes readable when its first token arrives and its reply when the last one does. A call that the
    cache cannot admit waits, first come first served, until another one ends, as it does in an engine's queue.

    Moments are a client's, so those within `simultaneous_s` of each other may have come in any order at the engine:
    calls sent together are taken in the order that fits the slots they used, else in the order they were answered.
    Where the slots say so, a call also overtakes others that were sent up to `LATEST_OVERTAKING_S` before it.
    """
    replay = _Replay(calls, cache, simultaneous_s)
    replay.run()
    return replay.expected


class _Replay:
    def __init__(self, calls: Sequence[TimedCall], cache: PrefixCache, simultaneous_s: float) -> None:
        self.expected: list[int | None] = [None] * len(calls)
        self._calls = calls
        self._cache = cache
        self._leases: dict[int, Lease] = {}
        self._numbered: dict[int, int] = {}
        """The model's number of a slot by the engine's: they differ where the engine had been used before."""
        self._waiting: deque[int] = deque()
        self._groups = _groups(calls, simultaneous_s)
        self._events = [(moment, _SENT, number) for number, (moment, _) in enumerate(self._groups)]
        heapq.heapify(self._events)

    def run(self) -> None:
        while self._events:
            now, kind, number = heapq.heappop(self._events)
            if kind == _SENT:
                self._arrive(self._groups[number][1], now)
            elif kind == _FIRST_TOKEN and number in self._leases:
                self._cache.publish(self._leases[number], now=now)
            elif kind == _DONE and number in self._leases:
                self._done(number, now)

    def _done(self, index: int, now: float) -> None:
        """End a call; before it another one that ended as good as together, if that one's slot went to who waits."""
        if self._waiting:
            wanted = self._calls[self._waiting[0]].slot
            lease = self._leases[index]
            if wanted is not None and isinstance(lease, SlotLease) and self._numbered.get(wanted) != lease.slot:
                self._end_of_user_of(self._waiting[0], now)
        self._end(index, now)

    def _arrive(self, group: list[int], now: float) -> None:
        while group:
            index = next((one for one in group if self._fits(one)), None)
            if index is None and self._end_of_user_of(group[0], now):
                continue
            if index is None:
                index = self._overtaking(now)
            if index is None:
                index = group[0]
            if index in group:
                group.remove(index)
            if self._waiting or not self._admit(index, now):
                self._waiting.append(index)

    def _overtaking(self, now: float) -> int | None:
        """A call written a little later that fits the slot it used now, taken out of its group; None if none does."""
        if self._waiting:
            return None
        busy = {self._calls[index].session for index in self._leases}
        for _, later in self._groups:
            for index in later:
                call = self._calls[index]
                if now < call.sent <= now + LATEST_OVERTAKING_S and call.session not in busy and self._fits(index):
                    later.remove(index)
                    return index
        return None

    def _fits(self, index: int) -> bool:
        """Whether the cache would now give the call the slot that it used."""
        call = self._calls[index]
        if call.slot is None or not isinstance(self._cache, SlotCache):
            return False
        chosen = self._cache.slot_for(call.prompt, namespace=call.namespace)
        if call.slot in self._numbered:
            return chosen == self._numbered[call.slot]
        return chosen is not None and chosen not in self._numbered.values()

    def _end_of_user_of(self, index: int, now: float) -> bool:
        """End the call that holds this call's slot, if the client saw its end within `LATEST_OVERTAKING_S` from now."""
        slot = self._numbered.get(-1 if (used := self._calls[index].slot) is None else used)
        for user, lease in self._leases.items():
            if slot is not None and isinstance(lease, SlotLease) and lease.slot == slot:
                if self._calls[user].done > now + LATEST_OVERTAKING_S:
                    return False
                self._end(user, now)
                return True
        return False

    def _admit(self, index: int, now: float) -> bool:
        call = self._calls[index]
        lease = self._cache.begin(call.prompt, now=now, namespace=call.namespace, **call.places)
        if lease is None:
            return False
        self._leases[index] = lease
        self.expected[index] = lease.cached_tokens
        if call.slot is not None and isinstance(lease, SlotLease) and lease.slot not in self._numbered.values():
            self._numbered.setdefault(call.slot, lease.slot)
        heapq.heappush(self._events, (max(now, call.first_token or now), _FIRST_TOKEN, index))
        heapq.heappush(self._events, (max(now, call.done), _DONE, index))
        return True

    def _end(self, index: int, now: float) -> None:
        self._cache.finish(self._leases.pop(index), self._calls[index].generated, now=now)
        while self._waiting:
            index = next((one for one in self._waiting if self._fits(one)), self._waiting[0])
            if not self._admit(index, now):
                break
            self._waiting.remove(index)


def _groups(calls: Sequence[TimedCall], simultaneous_s: float) -> list[tuple[float, list[int]]]:
    """(moment, indices) of calls that gave a token, those sent at nearly one moment together, at its last moment and in
    the order of their first tokens. The last, so that no call arrives before the one it answers to has ended."""
    order = sorted(
        (index for index, call in enumerate(calls) if call.first_token is not None), key=lambda index: calls[index].sent
    )
    groups: list[tuple[float, list[int]]] = []
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and calls[order[end]].sent - calls[order[start]].sent < simultaneous_s:
            end += 1
        group = order[start:end]
        last = calls[group[-1]].sent
        if min(calls[index].first_token or last for index in group) > last:
            groups.append((last, sorted(group, key=lambda index: calls[index].first_token or last)))
        else:
            groups.extend((calls[index].sent, [index]) for index in group)
        start = end
    return groups
