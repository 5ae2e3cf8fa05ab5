"""What a cache rule would have served to calls that were made: the expectation beside every measured count."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from hitrate.caches.interface import Lease, PrefixCache


class TimedCall(NamedTuple):
    """One call's tokens and moments, in seconds on one clock. `first_token` None: the call gave no token."""

    sent: float
    first_token: float | None
    done: float
    prompt: Sequence[int]
    generated: Sequence[int] = ()
    namespace: object = None


_FIRST_TOKEN, _DONE, _SENT = 0, 1, 2
"""At equal moments a reply ends before another call begins, as it does for a client that sends turn after turn."""


def expected_cached_tokens(
    calls: Sequence[TimedCall], cache: PrefixCache, *, simultaneous_s: float = 0.0
) -> list[int | None]:
    """Per call, the cached tokens that one `cache` shared by all calls would report; None for a call that never
    gave a token.

    A prompt becomes readable when its first token arrives and its reply when the last one does. A call that the
    cache cannot admit waits, first come first served, until another one ends, as it does in an engine's queue.
    Calls sent within `simultaneous_s` of each other may have come in any order: the one answered first is taken first.
    """
    events = [
        (sent, _SENT, place, index)
        for place, (sent, index) in enumerate(_arrivals(calls, simultaneous_s))
        if calls[index].first_token is not None
    ]
    heapq.heapify(events)
    leases: dict[int, Lease] = {}
    waiting: deque[int] = deque()
    expected: list[int | None] = [None] * len(calls)

    def admit(index: int, now: float) -> bool:
        call = calls[index]
        lease = cache.begin(call.prompt, now=now, namespace=call.namespace)
        if lease is None:
            return False
        leases[index] = lease
        expected[index] = lease.cached_tokens
        heapq.heappush(events, (max(now, call.first_token or now), _FIRST_TOKEN, index, index))
        heapq.heappush(events, (max(now, call.done), _DONE, index, index))
        return True

    while events:
        now, kind, _, index = heapq.heappop(events)
        if kind == _SENT:
            if waiting or not admit(index, now):
                waiting.append(index)
        elif kind == _FIRST_TOKEN:
            cache.publish(leases[index], now=now)
        else:
            cache.finish(leases.pop(index), calls[index].generated, now=now)
            while waiting and admit(waiting[0], now):
                waiting.popleft()
    return expected


def _arrivals(calls: Sequence[TimedCall], simultaneous_s: float) -> list[tuple[float, int]]:
    """(moment, index) of every call; a group sent at nearly one moment arrives at its last moment, in the order of its
    first tokens. The last, so that no call arrives before the one it answers to has ended."""
    order = sorted(range(len(calls)), key=lambda index: calls[index].sent)
    arrivals: list[tuple[float, int]] = []
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and calls[order[end]].sent - calls[order[start]].sent < simultaneous_s:
            end += 1
        group = order[start:end]
        last = calls[group[-1]].sent
        firsts = [first for index in group if (first := calls[index].first_token) is not None]
        if firsts and min(firsts) > last:
            group.sort(key=lambda index: calls[index].first_token or float("inf"))
            arrivals.extend((last, index) for index in group)
        else:
            arrivals.extend((calls[index].sent, index) for index in group)
        start = end
    return arrivals
