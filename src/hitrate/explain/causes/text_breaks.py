"""The causes of a changed text, the most particular first: the first that recognises a break names it."""

from __future__ import annotations

from hitrate.explain.causes.arguments_reserialised import ArgumentsReserialised
from hitrate.explain.causes.block_not_persisted import BlockNotPersisted
from hitrate.explain.causes.clock_in_prefix import ClockInPrefix
from hitrate.explain.causes.counter_in_prefix import CounterInPrefix
from hitrate.explain.causes.date_rollover import DateRollover
from hitrate.explain.causes.history_compacted import HistoryCompacted
from hitrate.explain.causes.history_edited import HistoryEdited
from hitrate.explain.causes.ids_regenerated import IdsRegenerated
from hitrate.explain.causes.image_changed import ImageChanged
from hitrate.explain.causes.interface import Cause
from hitrate.explain.causes.name_on_top import NameOnTop
from hitrate.explain.causes.nonce_in_prefix import NonceInPrefix
from hitrate.explain.causes.order_not_kept import OrderNotKept
from hitrate.explain.causes.prompt_changed import PromptChanged
from hitrate.explain.causes.re_tokenisation import ReTokenisation
from hitrate.explain.causes.reasoning_not_replayed import ReasoningNotReplayed
from hitrate.explain.causes.response_schema_changed import ResponseSchemaChanged
from hitrate.explain.causes.retrieved_text_in_system import RetrievedTextInSystem
from hitrate.explain.causes.schema_key_order import SchemaKeyOrder
from hitrate.explain.causes.sliding_window import SlidingWindow
from hitrate.explain.causes.state_in_system import StateInSystem
from hitrate.explain.causes.summary_without_prefix import SummaryWithoutPrefix
from hitrate.explain.causes.system_text_changed import SystemTextChanged
from hitrate.explain.causes.template_drift import TemplateDrift
from hitrate.explain.causes.text_form_changed import TextFormChanged
from hitrate.explain.causes.tool_order import ToolOrder
from hitrate.explain.causes.tool_output_pruned import ToolOutputPruned
from hitrate.explain.causes.tool_set_changed import ToolSetChanged
from hitrate.explain.causes.tool_text_changed import ToolTextChanged

TEXT_CAUSES: tuple[Cause, ...] = (
    ReTokenisation(),
    SummaryWithoutPrefix(),
    SlidingWindow(),
    HistoryCompacted(),
    ToolOrder(),
    SchemaKeyOrder(),
    ToolSetChanged(),
    ArgumentsReserialised(),
    OrderNotKept(),
    IdsRegenerated(),
    ImageChanged(),
    ReasoningNotReplayed(),
    TextFormChanged(),
    ClockInPrefix(),
    DateRollover(),
    TemplateDrift(),
    ToolOutputPruned(),
    NonceInPrefix(),
    StateInSystem(),
    RetrievedTextInSystem(),
    BlockNotPersisted(),
    NameOnTop(),
    CounterInPrefix(),
    ToolTextChanged(),
    ResponseSchemaChanged(),
    SystemTextChanged(),
    HistoryEdited(),
    PromptChanged(),
)
