"""The explainer of `hitrate.explain`, made to tell what it found call by call instead of added up.

It hooks into where the explainer labels tokens and counts findings in, and runs its judgement of what waits for the end
of a log without settling it: labels and losses of a call that is judged again take the place of those before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from hitrate.core.findings import Finding
from hitrate.core.model import Call, Usage
from hitrate.core.money import Price
from hitrate.core.prompt import Marker
from hitrate.core.recent import Recent
from hitrate.explain.account import Account
from hitrate.explain.causes.interface import Cause
from hitrate.explain.evidence import Divergence, Pair, Recognised, Relation, Seen
from hitrate.explain.explainer import Explainer, Judged, Sources
from hitrate.explain.grouping import Findings, place_of
from hitrate.explain.labels import Labelled
from hitrate.explain.paid import Paid, price_labels
from hitrate.explain.waterfall import Waterfalls

_OPEN = 20
"""Calls of its conversation after which a loss is judged for the last time."""

_MARKERS = 128
"""Prompts whose cache markers are remembered."""

_FRONT_CHARACTERS = 80


class Loss(Struct, frozen=True, kw_only=True):
    """What one call lost by one cause. `finding` is of this call alone; `place` is what repeats of it are one break
    within, and `conversation` that of the call, None for a break that several conversations share."""

    finding: Finding
    place: str
    conversation: int | None
    front: str
    """Text right in front of the change, which both sides share."""


class Told(Struct):
    """What the explainer said of one call."""

    paid: Sequence[Paid] = ()
    losses: list[Loss] = []


class PerCall(Explainer):
    """Keeps per call what the explainer adds up, and judges what waits without settling it."""

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources)
        self._told: dict[int, Told] = {}
        self._waterfalls = _Labels(self._told)
        self._findings = _Losses(self._told)
        self._waiting: dict[int, deque[int]] = {}
        """Per conversation the newest losses that wait for the end of the log."""
        self._markers_of: Recent[int, Sequence[Marker]] = Recent(_MARKERS)
        self._reporting: set[tuple[str, str | None]] = set()

    def add(self, call: Call) -> Judged:
        judged = super().add(call)
        seen = judged.seen
        if seen.usage.cached_tokens is not None:
            self._reporting.add((seen.target, seen.model))
        if seen.index in self._suspected:
            self._waiting.setdefault(seen.conversation, deque()).append(seen.index)
        return judged

    def seen(self, index: int) -> Seen:
        return self._seen[index]

    def relation(self, index: int) -> Relation:
        return "first" if self._pairs[index] is None else self._pair(index).relation

    def is_settled(self, index: int) -> bool:
        second = self._seconds.get(self._seen[index].conversation)
        waits = index in self._waiting.get(self._seen[index].conversation, ())
        return not waits and (second is None or second[0].index != index)

    def take(self, conversation: int, again: int) -> Iterable[tuple[int, Told]]:
        """What was said since this was last asked, and of the conversation's newest losses once more."""
        waiting = self._waiting.get(conversation)
        old, newest = [], []
        if waiting:
            old = [waiting.popleft() for _ in range(len(waiting) - _OPEN)]
            newest = list(waiting)[-again:] if again else []
        self._judge((*old, *newest), [conversation] if again else ())
        return self._taken()

    def take_all(self) -> Iterable[tuple[int, Told]]:
        self._judge([index for waiting in self._waiting.values() for index in waiting], self._seconds)
        return self._taken()

    def _taken(self) -> Iterable[tuple[int, Told]]:
        told = dict(self._told)
        self._told.clear()
        return told.items()

    def _judge(self, suspected: Iterable[int], conversations: Iterable[int]) -> None:
        for index in suspected:
            seen, pair = self._seen[index], self._pair(index)
            if (seen.target, seen.model) in self._reporting:
                self._fill_in_zero(seen)
            self._settle(seen, pair, self._suspected[index], self._beside_the_text(seen, pair, self._suspected[index]))
        for conversation in conversations:
            if conversation in self._seconds:
                self._settle(*self._seconds[conversation])

    def _markers(self, seen: Seen) -> Sequence[Marker]:
        found = self._markers_of.get(seen.index)
        if found is None:
            found = super()._markers(seen)
            self._markers_of.put(seen.index, found)
        return found

    def _settle(self, seen: Seen, pair: Pair, account: Account, blame: Any) -> None:
        self._told[seen.index] = Told()
        super()._settle(seen, pair, account, blame)


class _Labels(Waterfalls):
    def __init__(self, told: dict[int, Told]) -> None:
        super().__init__()
        self._told = told

    def add(
        self, index: int, usage: Usage, labels: Iterable[Labelled], *, price: Price | None, session: str
    ) -> Sequence[Paid]:
        if usage.prompt_tokens is None:
            return ()
        told = self._told.setdefault(index, Told())
        told.paid = price_labels(labels, usage, price)
        return told.paid

    def count(self, index: int, usage: Usage, labels: Iterable[Labelled], *, price: Price | None, session: str) -> None:
        self.add(index, usage, labels, price=price, session=session)


class _Losses(Findings):
    def __init__(self, told: dict[int, Told]) -> None:
        super().__init__()
        self._told = told

    def add(
        self,
        call: int,
        against: int | None,
        cause: Cause,
        recognised: Recognised,
        divergence: Divergence | None,
        *,
        conversation: object,
        **others: Any,
    ) -> None:
        alone = Findings()
        alone.add(call, against, cause, recognised, divergence, conversation=conversation, **others)
        (finding,) = alone.all()
        self._told.setdefault(call, Told()).losses.append(
            Loss(
                finding=finding,
                place="" if finding.pointer is None else place_of(finding.pointer),
                conversation=conversation if isinstance(conversation, int) else None,
                front="" if divergence is None else divergence.front[-_FRONT_CHARACTERS:],
            )
        )
