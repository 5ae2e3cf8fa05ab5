"""Lists that commands print: the models of a target."""

from __future__ import annotations

from msgspec import Struct

from hitrate.core.results import SCHEMA_VERSION


class ModelEntry(Struct, frozen=True, kw_only=True):
    """One model as the target lists it. Prices are as in `core.money.Price`, None where none is known."""

    id: str
    context_tokens: int | None = None
    input_usd_per_mtok: float | None = None
    cached_usd_per_mtok: float | None = None
    written_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None
    source: str | None = None
    """Where the prices come from: the target's own list or a named price source."""


class ModelList(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    kind: str = "models"
    target: str
    models: tuple[ModelEntry, ...]
    warnings: tuple[str, ...] = ()
