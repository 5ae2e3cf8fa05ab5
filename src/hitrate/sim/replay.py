"""What a cache rule would have served to calls that were made: the expectation beside every measured count."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from hitrate.caches.interface import Lease, PrefixCache
from hitrate.caches.slots import SlotCache, SlotLease


class TimedCall(NamedTuple):
    """One call's tokens and moments, in seconds on one clock. `first_token` None: the call gave no token.

    `slot` is the slot the engine says it used; it tells in which order overlapping calls were taken, nothing else.
    """

    sent: float
    first_token: float | None
    done: float
    prompt: Sequence[int]
    generated: Sequence[int] = ()
    namespace: object = None
    slot: int | None = None


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
    """
    replay = _Replay(calls, cache, simultaneous_s)
    replay.run()
    return replay.expected


class _Replay:
    def __init__(self, calls: Sequence[TimedCall], cache: PrefixCache, simultaneous_s: float) -> None:
        self.expected: list[int | None] = [None] * len(calls)
        self._calls = calls
        self._cache = cache
        self._simultaneous_s = simultaneous_s
        self._leases: dict[int, Lease] = {}
        self._waiting: deque[int] = deque()
        self._groups = _groups(calls, simultaneous_s)
        self._events = [(moment, _SENT, number) for number, (moment, _) in enumerate(self._groups)]
        heapq.heapify(self._events)

    def run(self) -> None:
        while self._events:
            now, kind, number = heapq.heappop(self._events)
            if kind == _SENT:
                self._arrive(list(self._groups[number][1]), now)
            elif kind == _FIRST_TOKEN and number in self._leases:
                self._cache.publish(self._leases[number], now=now)
            elif kind == _DONE and number in self._leases:
                self._end(number, now)

    def _arrive(self, group: list[int], now: float) -> None:
        while group:
            index = next((one for one in group if self._fits(one)), None)
            if index is None and self._end_of_user_of(group[0], now):
                continue
            if index is None:
                index = group[0]
            group.remove(index)
            if self._waiting or not self._admit(index, now):
                self._waiting.append(index)

    def _fits(self, index: int) -> bool:
        """Whether the cache would now give the call the slot that it used."""
        call = self._calls[index]
        if call.slot is None or not isinstance(self._cache, SlotCache):
            return False
        return self._cache.slot_for(call.prompt, namespace=call.namespace) == call.slot

    def _end_of_user_of(self, index: int, now: float) -> bool:
        """End the call that holds this call's slot, if the client saw its end within `simultaneous_s` from now."""
        slot = self._calls[index].slot
        for user, lease in self._leases.items():
            if slot is not None and isinstance(lease, SlotLease) and lease.slot == slot:
                if self._calls[user].done > now + self._simultaneous_s:
                    return False
                self._end(user, now)
                return True
        return False

    def _admit(self, index: int, now: float) -> bool:
        call = self._calls[index]
        lease = self._cache.begin(call.prompt, now=now, namespace=call.namespace)
        if lease is None:
            return False
        self._leases[index] = lease
        self.expected[index] = lease.cached_tokens
        heapq.heappush(self._events, (max(now, call.first_token or now), _FIRST_TOKEN, index))
        heapq.heappush(self._events, (max(now, call.done), _DONE, index))
        return True

    def _end(self, index: int, now: float) -> None:
        self._cache.finish(self._leases.pop(index), self._calls[index].generated, now=now)
        while self._waiting and self._admit(self._waiting[0], now):
            self._waiting.popleft()


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
