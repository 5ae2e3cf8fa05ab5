"""What a wire format has to provide. One file a dialect beside this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from hitrate.core.model import Reading, StreamEvent
from hitrate.core.prompt import CanonicalPrompt


class Dialect(Protocol):
    name: str
    path: str
    """Appended to the target's base URL, e.g. "/chat/completions"."""

    def build(
        self,
        *,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] = (),
        stream: bool = True,
        max_tokens: int | None = None,
        temperature: float | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The request body as bytes. Messages and tools go out in the key order given; `extra` members last."""
        ...

    def canonical(self, body: bytes) -> CanonicalPrompt:
        """The prompt in the order the engine renders it. Raises ValueError, one line, on a body it cannot read."""
        ...

    def read_body(self, body: bytes) -> Reading:
        """A reply that came as one JSON body. Never raises on bad input: the fault goes into the Reading."""
        ...

    def read_stream(self, events: Sequence[StreamEvent]) -> Reading:
        """A reply that came as events. Keeps what came before a fault. Never raises on bad input."""
        ...
