"""`--no-content`: exchanges lose their content before they get to anything that writes."""

from __future__ import annotations

from hitrate.record.exchange import Exchange, Sink
from hitrate.record.no_content import ContentHasher


class HashedSink:
    """Implements `Sink` in front of another one. An exchange whose content cannot be taken out raises, and goes
    nowhere."""

    def __init__(self, sink: Sink, hasher: ContentHasher) -> None:
        self._sink = sink
        self._hasher = hasher

    def record(self, exchange: Exchange) -> bool:
        return self._sink.record(self._hasher.hash_exchange(exchange))
