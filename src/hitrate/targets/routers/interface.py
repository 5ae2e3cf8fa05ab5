"""What a router is configured for, and how its commands are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

SESSION_HEADER = "x-session-id"


class StepLimits(Struct, frozen=True, kw_only=True):
    """Of an engine's scheduler, as it was replayed in virtual time."""

    max_running_requests: int
    max_batched_tokens: int
    """Of a step, prompts and replies together."""
    chunked_prefill: bool = True
    scheduled_ahead: bool = True


class Fleet(Struct, frozen=True, kw_only=True):
    """Replicas behind a router, as they were replayed."""

    replicas: int
    policy: str
    written: str
    """The policy as it was asked for, with its settings."""
    settings: Mapping[str, Any]
    """All of the policy, those left out too."""
    block_tokens: int
    capacity_tokens: int | None
    """Of one replica."""
    capacity_bytes: int | None
    """KV memory of one replica; None where no model was named."""
    gpus_per_replica: int
    steps: StepLimits | None = None
    """None where nothing was replayed in time."""


def urls(fleet: Fleet) -> str:
    """Stand-ins that bash expands."""
    return "http://replica-1:8000" if fleet.replicas == 1 else f"http://replica-{{1..{fleet.replicas}}}:8000"


def command(start: str, options: Sequence[tuple[str, object]]) -> str:
    """One option a line."""
    return " \\\n  ".join([start, *(f"{name} {_text(value)}".rstrip() for name, value in options)])


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
