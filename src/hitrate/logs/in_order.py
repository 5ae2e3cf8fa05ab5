"""The calls of an export in the order they were made. A database gives its rows in any order, often the newest first;
what broke a prefix cache shows only from one call to the next."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Container, Iterator
from itertools import pairwise

from msgspec.structs import replace

from hitrate.core.model import Call
from hitrate.logs.archive import BodyArchive
from hitrate.logs.interface import Item


def in_order(items: Iterator[Item], guessed: Container[str] = ()) -> Iterator[Item]:
    """Everything that is no call at once, then the calls by time; one without a time stays behind the one before it.

    The calls wait in a temporary file; memory grows by some bytes a call. `guessed`, complete once the items are read,
    are sessions that may be no more than an id of a call; one that a single call names is taken for none.
    """
    import pickle

    with BodyArchive() as waiting:
        times = array("d")
        sessions: Counter[str] = Counter()
        for item in items:
            if not isinstance(item, Call):
                yield item
                continue
            # pickle, since a reply may hold text that is no UTF-8; nothing but this function sees the file.
            waiting.append(pickle.dumps(item, pickle.HIGHEST_PROTOCOL))
            before = times[-1] if times else 0.0
            times.append(before if item.timing is None else item.timing.at)
            if item.session in guessed:
                sessions[item.session] += 1
        for index in _order(times):
            call: Call = pickle.loads(waiting[index])
            yield replace(call, session="") if sessions.get(call.session) == 1 else call


def _order(times: array[float]) -> list[int]:
    """By time; calls of one time as in the file, or the other way round where that goes back in time."""
    falls = sum(later < earlier for earlier, later in pairwise(times))
    rises = sum(later > earlier for earlier, later in pairwise(times))
    indices = list(range(len(times)))
    if falls > rises:
        indices.reverse()
    return sorted(indices, key=times.__getitem__)
