"""One wrong clock among many: a stamp far ahead that those behind it do not go on from."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator

from hitrate.core.records import Caution, Remark, Skipped
from hitrate.logs.traces.chunks import Request
from hitrate.logs.traces.clock import LEAP_S, duration

_ASKED = 8
"""Lines behind a leap; most of them decide whether it is believed."""


def believed(requests: Iterable[Request | Skipped]) -> Iterator[Request | Skipped | Remark]:
    """The same in their order, where a stamp that leaps ahead of most of those behind it is not believed: the request
    takes the time of the one before it, or of the earliest behind it where it is the first; and it is said."""
    source = iter(requests)
    ahead: deque[Request | Skipped] = deque()
    latest = math.nan
    while (item := ahead.popleft() if ahead else next(source, None)) is not None:
        if not isinstance(item, Request):
            yield item
            continue
        if item.at_s == item.at_s and not item.at_s - latest <= LEAP_S:  # the first, too
            while len(ahead) < _ASKED and (further := next(source, None)) is not None:
                ahead.append(further)
            behind = [one.at_s for one in ahead if isinstance(one, Request) and not math.isnan(one.at_s)]
            earlier = sum(at_s < item.at_s - LEAP_S for at_s in behind)
            if 2 * earlier > len(behind):
                yield _said(item, latest, behind)
                item = item._replace(at_s=min(behind) if math.isnan(latest) else latest)
        if not item.at_s <= latest and not math.isnan(item.at_s):
            latest = item.at_s
        yield item


def _said(item: Request, latest: float, behind: list[float]) -> Caution:
    if math.isnan(latest):
        leap, of, taken = item.at_s - min(behind), "the request behind it", "the earliest time behind it is taken"
    else:
        leap, of, taken = item.at_s - latest, "the one before", "that one's time is taken"
    return Caution(
        line=item.line,
        what=f"stamped {duration(leap)} after {of}, and most of those behind are earlier: the stamp is not believed, "
        f"{taken}; else lifetimes, times to first token and what GPUs cost would go by it",
    )
