"""Finds probes by name: `write-delay` is the module `write_delay`."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import cast

from hitrate.core.probe_results import PROBES
from hitrate.errors import UsageError
from hitrate.live.probes.interface import Probe


def probe_called(name: str) -> Probe:
    return cast(Probe, import_module(f"hitrate.live.probes.{name.replace('-', '_')}").PROBE)


def chosen(names: Sequence[str]) -> list[str]:
    """The probes to make for the names given (none: all), in the order they are made. `hidden` is always among them,
    because it shows how calls of the target are read; a knob means nothing without the number of replicas. Raises
    UsageError for an unknown name."""
    for name in names:
        if name not in PROBES:
            near = get_close_matches(name, PROBES, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise UsageError(f"--only {name}: there is no such probe{hint}; known: {', '.join(PROBES)}")
    needed = {"hidden", *names} | ({"replicas"} if "affinity" in names else set())
    return [name for name in PROBES if not names or name in needed]
