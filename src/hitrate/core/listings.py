"""Lists that commands print: the models of a target, the targets there are, and what was found wrong with one."""

from __future__ import annotations

from typing import Literal

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


class TargetEntry(Struct, frozen=True, kw_only=True):
    """One target as it would be used. Knobs are in words ("body prompt_cache_key"), None where there is none."""

    name: str
    base_url: str | None
    """None: it is the user's own and has to be given."""
    key_variable: str | None
    key_set: bool | None
    """Whether that variable is set; None where there is none. Its value is never read out."""
    dialect: str
    affinity: tuple[str, ...]
    cold_knob: str | None
    rule_set: str | None
    """None where no rule is published."""
    reports_cached: str
    """Whether and how cached tokens are reported, with the flag that turns it on."""
    start_command: str | None
    source: str
    date: str
    own: bool
    """Whether the user's own file has a part in it."""
    notes: str


class TargetList(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    kind: str = "targets"
    targets: tuple[TargetEntry, ...]
    warnings: tuple[str, ...] = ()


class Check(Struct, frozen=True, kw_only=True):
    """One thing that was looked at. `advice` says what to do, None where nothing is to be done."""

    name: str
    outcome: Literal["ok", "warning", "failed", "skipped"]
    found: str
    advice: str | None = None


class Diagnosis(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    kind: str = "doctor"
    target: str
    base_url: str | None
    model: str | None
    reachable: bool | None
    """None when it was not tried."""
    calls: int
    """Requests for a reply that were sent, refused ones among them."""
    checks: tuple[Check, ...]
