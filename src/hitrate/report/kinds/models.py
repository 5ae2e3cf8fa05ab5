"""`models`: the ids that a target lists, with their prices."""

from __future__ import annotations

from hitrate.core.listings import ModelList
from hitrate.report.columns import CACHED_PRICE, INPUT_PRICE, WRITTEN_PRICE, Column, Sheet, count, dollars
from hitrate.report.words import Line

TYPE = ModelList

MODELS = (
    Column(key="id", header="model"),
    Column(key="context_tokens", header="context\ntokens", show=count, drop_order=1),
    INPUT_PRICE,
    CACHED_PRICE,
    WRITTEN_PRICE,
    Column(key="output_usd_per_mtok", header="output\n$/M tokens", show=dollars, drop_order=1),
    Column(key="source", header="prices\nfrom", drop_order=1),
)


def title(listed: ModelList) -> str:
    return f"models · {listed.target} · {len(listed.models)}"


def sheets(listed: ModelList) -> list[Sheet]:
    return [records(listed)]


def records(listed: ModelList) -> Sheet:
    return Sheet(columns=MODELS, rows=listed.models)


def lines(listed: ModelList) -> list[Line]:
    return [Line("warning", text) for text in listed.warnings]
