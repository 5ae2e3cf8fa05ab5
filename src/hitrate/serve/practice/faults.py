"""What a practice server can do wrong on purpose, and on which calls.

A fault is `NAME[:SETTING=VALUE,...]`. Without `every` or `probability` it strikes every call; `every=5` strikes calls
5, 10, 15, ... counted from the start or the last reset; `probability=0.1` draws by seed, fault and call number.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from hitrate.errors import UsageError


class FaultKind(NamedTuple):
    summary: str
    settings: Mapping[str, int] = MappingProxyType({})
    """Settings of its own with their defaults, all whole numbers."""


KINDS = MappingProxyType(
    {
        "429": FaultKind("status 429 with Retry-After", {"retry_after": 1}),
        "500": FaultKind("status 500"),
        "cut": FaultKind("the connection is closed in the middle of a reply", {"after": 3}),
        "slow": FaultKind("more time between tokens", {"ms": 50}),
        "malformed": FaultKind("one event that is no JSON", {"after": 1}),
        "error-after-200": FaultKind("an error object in place of the rest of the reply", {"after": 1}),
        "no-usage": FaultKind("usage is left out"),
        "null-details": FaultKind("prompt_tokens_details is null"),
        "no-details": FaultKind("usage has no prompt_tokens_details"),
        "no-done": FaultKind("the stream ends without its end mark"),
        "crlf": FaultKind("lines of the stream end in CR LF"),
        "no-space": FaultKind("no space after `data:`"),
        "comment": FaultKind("comment lines between events, as keep-alive"),
        "split": FaultKind("every event in two TCP segments, parted inside a UTF-8 character if there is one"),
        "merge": FaultKind("two tokens in one TCP segment, sent when the second one is due"),
        "early-role": FaultKind("the empty role chunk at once, ahead of the prefill"),
        "no-role": FaultKind("no role chunk"),
        "reasoning-first": FaultKind("reasoning before the text", {"tokens": 8}),
    }
)


class Fault(Struct, frozen=True):
    name: str
    every: int = 1
    probability: float | None = None
    settings: dict[str, int] = {}

    def strikes(self, call: int, seed: int) -> bool:
        """Whether call number `call` (from 1) has this fault."""
        if self.probability is not None:
            return Random(f"{seed}:{self.name}:{call}").random() < self.probability
        return call % self.every == 0

    def __str__(self) -> str:
        parts = [] if self.probability is None else [f"probability={self.probability:g}"]
        parts += [] if self.every == 1 else [f"every={self.every}"]
        parts += [f"{name}={value}" for name, value in self.settings.items()]
        return self.name + (":" + ",".join(parts) if parts else "")


class ActiveFaults(dict[str, dict[str, int]]):
    """The faults of one call by name, each with its settings, defaults filled in."""

    def __init__(self, faults: tuple[Fault, ...], call: int, seed: int) -> None:
        super().__init__(
            (fault.name, {**KINDS[fault.name].settings, **fault.settings})
            for fault in faults
            if fault.strikes(call, seed)
        )


def parse_fault(text: str) -> Fault:
    """Raises UsageError with the faults or settings that there are."""
    name, _, settings_text = text.partition(":")
    if name not in KINDS:
        raise UsageError(f"fault {name!r} is not known; use one of {', '.join(KINDS)}")
    numbers: dict[str, int] = {}
    probability = None
    for part in filter(None, settings_text.split(",")):
        key, _, value = part.partition("=")
        if key == "probability":
            probability = _probability(name, value)
        elif key in ("every", *KINDS[name].settings) and value.isdecimal() and (int(value) or key != "every"):
            numbers[key] = int(value)
        else:
            known = ["every=K", "probability=P", *(f"{setting}=N" for setting in KINDS[name].settings)]
            raise UsageError(f"fault {name!r} cannot be set to {part!r}; it takes {', '.join(known)}")
    return Fault(name, numbers.pop("every", 1), probability, numbers)


def _probability(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f"fault {name!r}: probability={text} is not between 0 and 1")
    return value
