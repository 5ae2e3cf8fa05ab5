"""A recording explained while it goes on: `hitrate.explain` fed one call at a time, with an answer after each.

The explainer adds up what it found; here it is kept call by call. A loss that waits for the end of a log, because what
comes later may tell more of it, is judged at once, again with the next calls of its conversation, and for good when
there were enough of them: so what stands here is what `hitrate explain` would say of the recording if it ended now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hitrate.caches.rules import describe
from hitrate.core.findings import ExplainReport, Finding, RecordSums
from hitrate.core.model import Call, Usage
from hitrate.core.money import Price
from hitrate.core.prompt import Sketch
from hitrate.errors import HitrateError
from hitrate.explain.evidence import Facts, Relation, Seen
from hitrate.explain.explainer import Sources
from hitrate.explain.oddities.reporting import Reporting
from hitrate.explain.paid import Paid
from hitrate.explain.waterfall import Waterfalls
from hitrate.explaining import request_of
from hitrate.logs.answered import host_of
from hitrate.report.redact import without_content
from hitrate.targets.dialects.sketch import Sketcher, texts_of_parts
from hitrate.targets.facts_for import facts_for, has_timings
from hitrate.watch.per_call import Loss, PerCall, Told

MOST_CALLS = 4_000
"""Calls that are remembered for pairing; some three kilobytes each."""

CARRIED_CALLS = 800
"""Of those, the newest that are taken along when the others are forgotten."""

_BODY_BYTES = 8 << 20
"""Of the newest bodies that are kept at hand, two at least."""

_JUDGED_AGAIN = 3
"""Losses of one conversation, the newest, that each further call has judged again."""


class NumberedCalls(Protocol):
    """A recording: calls by ascending position, from 1, of which old ones may be gone."""

    def calls_after(self, position: int) -> Iterator[tuple[int, Call]]:
        """Those behind `position`, with their positions. HitrateError where they cannot be read."""
        ...


class Outcome(Struct, frozen=True, kw_only=True):
    """What became of the prompt tokens of the call at `position`. Not `settled`: a later call may change it."""

    position: int
    usage: Usage
    paid: Sequence[Paid]
    losses: tuple[Loss, ...]
    settled: bool


class Added(NamedTuple):
    """A call that was taken in: the conversation it belongs to, numbered from 0 over the whole recording, and all
    outcomes that are new since the call before, its own among them."""

    conversation: int
    relation: Relation
    outcomes: list[Outcome]


class LiveExplainer:
    """Takes the calls of a recording in order. Memory is bounded: at `most_calls` the oldest are forgotten."""

    def __init__(
        self,
        calls: NumberedCalls,
        price: Callable[[Call], Price | None],
        *,
        most_calls: int = MOST_CALLS,
        carried_calls: int = CARRIED_CALLS,
        first_conversation: int = 0,
        content_kept: bool = True,
    ) -> None:
        """Not `content_kept`: the text of the calls stands for another one, and no loss may show it."""
        self._calls = calls
        self._price = price
        self._most_calls = most_calls
        self._carried_calls = carried_calls
        self._content_kept = content_kept
        self._facts: dict[tuple[str, str, str | None, bool | None], Facts] = {}
        self.conversations = first_conversation
        """The number that the next new conversation gets."""
        self._begin()

    def add(self, position: int, call: Call, *, more: bool = False) -> Added:
        """Take in the next call. `more` are there already, so that judging can wait for them or for `judge_open`.

        HitrateError where an earlier call had to be looked at and cannot be read.
        """
        outcomes: list[Outcome] = []
        if len(self._positions) >= self._most_calls:
            outcomes = self.judge_open()
            self._forget()
        index = self._take_in(position, call)
        seen = self._explainer.seen(index)
        local = seen.conversation
        if local not in self._numbers:
            self._numbers[local] = self.conversations
            self.conversations += 1
        self._of_position.append(self._numbers[local])
        outcomes += self._outcomes(self._explainer.take(local, again=0 if more else _JUDGED_AGAIN))
        return Added(self._numbers[local], self._explainer.relation(index), outcomes)

    def judge_open(self) -> list[Outcome]:
        """Every loss that was not judged for the last time, with all that is known now."""
        return self._outcomes(self._explainer.take_all())

    def oddities(self) -> list[Finding]:
        """What is odd about how the calls that are remembered report their tokens. The findings name no call."""
        found = self._reporting.findings(repeated=0, answers=len(self._positions))
        return [replace(one, call=None, against=None, calls=()) for one in found]

    def rule_sets(self) -> str | None:
        """Rule sets, with their dates, that the expectations come from."""
        names = {describe(facts.rule): None for facts in self._facts.values() if facts.rule is not None}
        return ", ".join(names) or None

    def _begin(self) -> None:
        self._positions: list[int] = []
        self._numbers: dict[int, int] = {}
        """Of the explainer's conversations, their numbers in the recording."""
        self._of_position: list[int] = []
        self._told_before = 0
        self._newest: dict[int, bytes] = {}
        self._newest_bytes = 0
        self._sketcher = Sketcher()
        self._requests = lru_cache(maxsize=2)(request_of)
        self._reporting = Reporting()
        self._explainer = PerCall(
            Sources(
                sketch=self._sketch,
                request=self._requests,
                texts=lambda body, dialect: texts_of_parts(self._requests(body, dialect).prompt, dialect),
                host=host_of,
                body=self._body,
                facts=self._facts_of,
                price=self._price,
            )
        )

    def _forget(self) -> None:
        """Begin anew with the newest calls, which keep the numbers of their conversations."""
        carried = list(zip(self._positions, self._of_position, strict=True))[-self._carried_calls :]
        numbers = dict(carried)
        self._begin()
        if not carried:
            return
        for position, call in self._calls.calls_after(carried[0][0] - 1):
            if position > carried[-1][0]:
                break
            if position not in numbers:
                continue
            index = self._take_in(position, call)
            self._numbers.setdefault(self._explainer.seen(index).conversation, numbers[position])
            self._of_position.append(numbers[position])
        self._explainer.take_all()
        self._told_before = len(self._positions)

    def _take_in(self, position: int, call: Call) -> int:
        index = len(self._positions)
        self._positions.append(position)
        self._newest[index] = call.body
        self._newest_bytes += len(call.body)
        while self._newest_bytes > _BODY_BYTES and len(self._newest) > 2:
            self._newest_bytes -= len(self._newest.pop(next(iter(self._newest))))
        try:
            judged = self._explainer.add(call)
        except ValueError:
            judged = self._explainer.leave_out(call)
        self._reporting.add(judged.seen, call.raw_usage, continues=judged.continues)
        return index

    def _outcomes(self, told: Iterable[tuple[int, Told]]) -> list[Outcome]:
        return [self._outcome(index, one) for index, one in told if index >= self._told_before]

    def _outcome(self, index: int, told: Told) -> Outcome:
        return Outcome(
            position=self._positions[index],
            usage=self._explainer.seen(index).usage,
            paid=told.paid,
            losses=tuple(self._numbered(loss) for loss in told.losses),
            settled=self._explainer.is_settled(index),
        )

    def _numbered(self, loss: Loss) -> Loss:
        """With numbers of the recording in place of those of the explainer; calls from 0, as in `hitrate explain`."""
        finding = loss.finding if self._content_kept else without_text(loss.finding)
        call, against = (None if one is None else self._positions[one] - 1 for one in (finding.call, finding.against))
        return replace(
            loss,
            finding=replace(finding, call=call, against=against, calls=() if call is None else (call,)),
            conversation=None if loss.conversation is None else self._numbers[loss.conversation],
            front=loss.front if self._content_kept else "",
        )

    def _sketch(self, call: Call) -> Sketch:
        if not call.dialect:
            raise ValueError("its wire format is not recognised")
        return self._sketcher.sketch(call.body, call.dialect, call.headers)

    def _body(self, index: int) -> bytes:
        found = self._newest.get(index)
        if found is not None:
            return found
        position = self._positions[index]
        at, call = next(self._calls.calls_after(position - 1), (None, None))
        if call is None or at != position:
            raise HitrateError(f"call {position} is not stored any more")
        return call.body

    def _facts_of(self, seen: Seen) -> Facts:
        key = (seen.target, seen.dialect, seen.model, has_timings(seen.usage))
        found = self._facts.get(key)
        if found is None:
            found = self._facts[key] = facts_for(*key[:3], timings=key[3])
        return found


def without_text(finding: Finding) -> Finding:
    """A finding as `hitrate explain` shows it of a recording without content."""
    nothing = Waterfalls().total()
    records = RecordSums(read=0, used=0)
    report = ExplainReport(
        log="",
        format="",
        rule_set=None,
        calls=0,
        sessions=0,
        records=records,
        findings=(finding,),
        waterfall=nothing,
    )
    return without_content(report).findings[0]
