"""The causes of a call that was not served although its text is whole, the most particular first."""

from __future__ import annotations

from hitrate.explain.causes.adapter_switched import AdapterSwitched
from hitrate.explain.causes.affinity_changes import AffinityChanges
from hitrate.explain.causes.affinity_ignored import AffinityIgnored
from hitrate.explain.causes.beta_header_changed import BetaHeaderChanged
from hitrate.explain.causes.caching_switched_off import CachingSwitchedOff
from hitrate.explain.causes.cannot_rewind import CannotRewind
from hitrate.explain.causes.effort_switched import EffortSwitched
from hitrate.explain.causes.engine_restarted import EngineRestarted
from hitrate.explain.causes.evicted import Evicted
from hitrate.explain.causes.exact_breakpoint import ExactBreakpoint
from hitrate.explain.causes.expired import Expired
from hitrate.explain.causes.history_not_marked import HistoryNotMarked
from hitrate.explain.causes.host_changed import HostChanged
from hitrate.explain.causes.interface import Cause
from hitrate.explain.causes.key_setting_changed import KeySettingChanged
from hitrate.explain.causes.lifetimes_out_of_order import LifetimesOutOfOrder
from hitrate.explain.causes.look_back_exceeded import LookBackExceeded
from hitrate.explain.causes.marker_lifetime_changed import MarkerLifetimeChanged
from hitrate.explain.causes.markers_dropped import MarkersDropped
from hitrate.explain.causes.markers_not_read import MarkersNotRead
from hitrate.explain.causes.model_switched import ModelSwitched
from hitrate.explain.causes.never_served import NeverServed
from hitrate.explain.causes.no_affinity import NoAffinity
from hitrate.explain.causes.no_markers import NoMarkers
from hitrate.explain.causes.opening_not_marked import OpeningNotMarked
from hitrate.explain.causes.parallel_start import ParallelStart
from hitrate.explain.causes.provider_missed import ProviderMissed
from hitrate.explain.causes.salt_changed import SaltChanged
from hitrate.explain.causes.slot_taken import SlotTaken
from hitrate.explain.causes.too_many_markers import TooManyMarkers
from hitrate.explain.causes.too_short import TooShort
from hitrate.explain.causes.tool_choice_changed import ToolChoiceChanged
from hitrate.explain.causes.unknown_setting_changed import UnknownSettingChanged
from hitrate.explain.causes.write_delay import WriteDelay

OTHER_CAUSES: tuple[Cause, ...] = (
    # refused, or never cached at all
    TooManyMarkers(),
    LifetimesOutOfOrder(),
    CachingSwitchedOff(),
    # entries under another key
    ModelSwitched(),
    SaltChanged(),
    AdapterSwitched(),
    EffortSwitched(),
    ToolChoiceChanged(),
    BetaHeaderChanged(),
    KeySettingChanged(),
    # nothing was written that could be read
    MarkersNotRead(),
    MarkersDropped(),
    NoMarkers(),
    TooShort(),
    ParallelStart(),
    MarkerLifetimeChanged(),
    # written, and gone or out of reach
    Expired(),
    LookBackExceeded(),
    HistoryNotMarked(),
    OpeningNotMarked(),
    ExactBreakpoint(),
    CannotRewind(),
    EngineRestarted(),
    SlotTaken(),
    Evicted(),
    # there, but somewhere else or not yet
    AffinityChanges(),
    HostChanged(),
    WriteDelay(),
    NoAffinity(),
    AffinityIgnored(),
    # what is left
    UnknownSettingChanged(),
    NeverServed(),
    ProviderMissed(),
)
