"""A run of a real engine as it was measured: what a model of its times can be fitted to."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from hitrate.core.trace import Chunk


class MeasuredRequest(NamedTuple):
    """Times in seconds; `arrived_s` on the run's own clock, the others since then. None is not known."""

    arrived_s: float
    prompt_tokens: int
    cached_tokens: int | None
    """Of the prompt, those that the engine had already."""
    output_tokens: int
    ttft_s: float | None
    total_s: float | None
    """To the last token."""


class MeasuredRun(Struct, frozen=True, kw_only=True):
    path: str
    format: str
    requests: tuple[MeasuredRequest, ...]
    """In order of arrival."""
    blocks: tuple[Chunk, ...] | None = None
    """The prompts, where they are known as blocks: a cache rule can say what of them was cached."""
    block_tokens: int = 16
    settings: dict[str, int] = {}
    """Limits of the engine that the run's own files name, called as in `hitrate.sim.timing.engine_timing`."""
    left_out: int = 0
    """Records of the run that lack what a fit needs of every request: when it came, and its tokens."""
    notes: tuple[str, ...] = ()
