"""What a wire format has to provide. One file a dialect beside this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

from hitrate.core.model import Reading, StreamEvent
from hitrate.core.prompt import CanonicalPrompt

Framing = Literal["sse", "aws-eventstream"]
"""How a stream is cut into events: `core.sse.split_events`, or `aws_eventstream.split_events`."""

Markers = Literal["auto", "5m", "1h"]
"""Explicit cache breakpoints with the vendor's own lifetime, or with the one named."""


class Dialect(Protocol):
    """Members with a body here are defaults: a class that names `Dialect` as its base has them."""

    name: str
    path: str
    """Appended to the target's base URL, e.g. "/chat/completions"; see `request_path` for wires that put more there."""
    framing: ClassVar[Framing] = "sse"

    def request_path(self, model: str, stream: bool) -> str:
        """Path and query of a request, to be appended to the target's base URL."""
        return self.path

    def auth_headers(self, key: str) -> dict[str, str]:
        """The headers that carry a key, with those that every request on this wire needs."""
        return {"Authorization": f"Bearer {key}"}

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
        markers: Markers | None = "auto",
    ) -> bytes:
        """The request body as bytes. Messages and tools go out in the key order given; `extra` members last.

        Messages and tools come in the shape of chat completions, and an earlier `Reply.message` of the same dialect
        among them goes back exactly as it came. `markers` sets cache breakpoints on the wires where nothing is cached
        without them, and does nothing on the others; None sets none.
        """
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
