"""All checks, in the order in which they are listed."""

from __future__ import annotations

from hitrate.explain.lint.clock_in_prefix import ClockInPrefix
from hitrate.explain.lint.counter_in_prefix import CounterInPrefix
from hitrate.explain.lint.date_rollover import DateRollover
from hitrate.explain.lint.history_not_marked import HistoryNotMarked
from hitrate.explain.lint.interface import Check
from hitrate.explain.lint.lifetimes_out_of_order import LifetimesOutOfOrder
from hitrate.explain.lint.look_back_exceeded import LookBackExceeded
from hitrate.explain.lint.markers_not_read import MarkersNotRead
from hitrate.explain.lint.no_affinity import NoAffinity
from hitrate.explain.lint.no_markers import NoMarkers
from hitrate.explain.lint.nonce_in_prefix import NonceInPrefix
from hitrate.explain.lint.opening_not_marked import OpeningNotMarked
from hitrate.explain.lint.too_many_markers import TooManyMarkers
from hitrate.explain.lint.too_short import TooShort
from hitrate.explain.lint.tool_order import ToolOrder
from hitrate.explain.lint.volatile_block_marked import VolatileBlockMarked

CHECKS: tuple[Check, ...] = (
    ClockInPrefix(),
    DateRollover(),
    NonceInPrefix(),
    CounterInPrefix(),
    MarkersNotRead(),
    TooManyMarkers(),
    LifetimesOutOfOrder(),
    NoMarkers(),
    HistoryNotMarked(),
    OpeningNotMarked(),
    VolatileBlockMarked(),
    LookBackExceeded(),
    TooShort(),
    NoAffinity(),
    ToolOrder(),
)
