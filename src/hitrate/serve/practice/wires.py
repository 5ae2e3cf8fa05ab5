"""Wire formats by name. A format is imported when a server that speaks it starts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple

from hitrate.serve.practice.vendors import Vendor
from hitrate.serve.practice.wire import Wire

_MODULES = {
    "openai-chat": "wire_openai_chat",
    "openai-responses": "wire_openai_responses",
    "anthropic-messages": "wire_anthropic_messages",
    "gemini-generate": "wire_gemini",
    "bedrock-converse": "wire_bedrock",
    "llamacpp-completion": "wire_llamacpp",
}

OWN_WIRES = ("openai-chat", "openai-responses", "anthropic-messages")
"""What the practice server speaks in its own manner."""

OWN_BASE_PATH = "/v1"


def wire_names() -> tuple[str, ...]:
    return tuple(_MODULES)


def make_wire(name: str, vendor: Vendor | None) -> Wire:
    """The wire in the manner of a vendor, None for the practice server's own."""
    made: Wire = import_module(f"{__package__}.{_MODULES[name]}").make(vendor)
    return made


class Found(NamedTuple):
    wire: Wire
    place: Mapping[str, str]
    """The named groups of the wire's path, such as the model."""


class WireTable:
    """Finds the wire of a path: behind the vendor's base path, behind /v1, or behind none."""

    def __init__(self, vendor: Vendor | None) -> None:
        told = () if vendor is None else (vendor.base_path, *vendor.other_base_paths)
        bases = "|".join(re.escape(path) for path in dict.fromkeys((*told, OWN_BASE_PATH, "")))
        wires = [make_wire(name, vendor) for name in (OWN_WIRES if vendor is None else vendor.wires)]
        self.main = wires[0]
        self._patterns = [(re.compile(f"(?:{bases})(?:{wire.path})"), wire) for wire in wires]
        self._known: dict[str, Found | None] = {}

    def find(self, path: str) -> Found | None:
        # Most paths are asked for again and again; those with odd models in them are not worth keeping.
        if path in self._known:
            return self._known[path]
        found = next(
            (Found(wire, match.groupdict()) for regex, wire in self._patterns if (match := regex.fullmatch(path))), None
        )
        if len(self._known) < 100:
            self._known[path] = found
        return found
