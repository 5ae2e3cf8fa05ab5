"""The calls of a log that can be rewritten and replayed, each with its conversation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from hitrate.core.model import Call
from hitrate.core.prompt import CanonicalPrompt
from hitrate.explain.evidence import Facts
from hitrate.explain.pairs.pairing import Pairing
from hitrate.explain.seeing import seen_of
from hitrate.logs.interface import OwnRules
from hitrate.targets.dialects import dialect as dialect_named
from hitrate.targets.dialects.sketch import Sketcher, texts_of_parts
from hitrate.targets.facts_for import facts_for, has_timings

_SESSION_HEADERS = ("session", "affinity", "conv-id")


class Read(NamedTuple):
    """A call whose prompt can be replayed; `position` is its index in the log."""

    position: int
    call: Call
    conversation: int
    key: object
    facts: Facts

    @property
    def affinity(self) -> str | None:
        """The session that the request names, in its body or in a header."""
        prompt = canonical(self.call.body, self.call.dialect)
        named = (value for name, value in self.call.headers.items() if any(word in name for word in _SESSION_HEADERS))
        return prompt.affinity or next(named, None)


class ReadLog:
    def __init__(self, source: Any) -> None:
        self.path, self.format = source.path, source.format
        self.calls: list[Call] = []
        self.read: list[Read] = []
        self.unread: list[str] = []
        self.unanswered = 0
        self._facts: dict[tuple[str, str, str | None, bool | None], Facts] = {}
        sketcher = Sketcher()
        pairing = Pairing(self._texts)
        for call in source:
            self.calls.append(call)
            self._add(call, sketcher, pairing, source.own_rules)
        self.conversations = len({one.conversation for one in self.read})

    def _texts(self, index: int) -> Sequence[str]:
        call = self.calls[index]
        return texts_of_parts(canonical(call.body, call.dialect), call.dialect)

    def _add(self, call: Call, sketcher: Sketcher, pairing: Pairing, own: OwnRules) -> None:
        index = len(self.calls) - 1
        if not call.body or not call.dialect:
            return
        try:
            sketch = sketcher.sketch(call.body, call.dialect, call.headers)
            canonical(call.body, call.dialect)
        except ValueError as error:
            self.unread.append(f"call {index}: {error}")
            return
        seen = seen_of(call, index, sketch)
        pairing.add(seen, sketch)
        if not seen.answered:
            self.unanswered += 1
            return
        key = tuple((one.pointer, one.value) for one in sketch.key)
        self.read.append(Read(index, call, seen.conversation, key, self._facts_of(call, own)))

    def _facts_of(self, call: Call, own: OwnRules) -> Facts:
        """Looked up once for calls of one kind."""
        timings = has_timings(call.usage)
        key = (call.target, call.dialect, call.model, timings)
        if key not in self._facts:
            self._facts[key] = facts_for(*key[:3], own.rules, own.server, timings=timings)
        return self._facts[key]


@lru_cache(maxsize=256)
def canonical(body: bytes, dialect: str) -> CanonicalPrompt:
    """ValueError for a body that its wire cannot read."""
    return dialect_named(dialect).canonical(body)
