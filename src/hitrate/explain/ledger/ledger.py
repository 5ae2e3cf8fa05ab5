"""The loss ledger: what calls were served beside what the calls before them left, for logs without prompts.

Less than that is a loss only of a call that goes on with the same conversation; see `ledger_lineage`. The price of a
compaction is told and not counted as lost: the text that takes the history's place was never sent before.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct

from hitrate.core.findings import Finding
from hitrate.core.model import Call, Happening
from hitrate.core.money import Price, in_dollars
from hitrate.explain.evidence import Facts, Recognised
from hitrate.explain.labels import LABEL_OF, Labelled, label_tokens
from hitrate.explain.ledger.causes import LEDGER_CAUSES, LedgerCause, Shortfall
from hitrate.explain.ledger.lineage import (
    Conversation,
    Lane,
    Served,
    compacted,
    continued,
    go_on,
    happened,
    on_other_model,
    read_by,
    remember,
)
from hitrate.explain.paid import Paid, price_labels
from hitrate.explain.waterfall import is_lost

_MOST_CALLS_LISTED = 100


class _Losses(Struct):
    """The losses of one session by one cause."""

    first: int
    against: int
    cause: LedgerCause
    recognised: Recognised
    session: str | None
    count: int = 0
    calls: list[int] = []
    tokens: int = 0
    usd: Decimal | None = Decimal(0)
    cost_tokens: int = 0
    """Of this cause, and not lost: they were never sent before."""
    cost_usd: Decimal | None = Decimal(0)

    def add(self, served: Served, paid: Sequence[Paid]) -> None:
        self.count += 1
        if len(self.calls) < _MOST_CALLS_LISTED:
            self.calls.append(served.index)
        for one in paid:
            if one.cause != self.cause.name:
                continue
            if is_lost(one.label, one.cause):
                self.tokens += one.tokens
                self.usd = _plus(self.usd, one.above_cached_usd)
            else:
                self.cost_tokens += one.tokens
                self.cost_usd = _plus(self.cost_usd, one.above_cached_usd)

    @property
    def cost(self) -> str:
        """What the cause cost beside what it lost, as a sentence; "" where that is nothing."""
        if not self.cost_tokens:
            return ""
        usd = "" if self.cost_usd is None else f", ${in_dollars(float(self.cost_usd))} above the price of cached ones"
        return f" It cost about {self.cost_tokens:,} tokens{usd}: not counted as lost, they were never sent before."


def _plus(total: Decimal | None, more: Decimal | None) -> Decimal | None:
    return None if total is None or more is None else total + more


class Ledger:
    """Takes the calls of a log in order. Memory grows with its sessions, not with its calls."""

    def __init__(self) -> None:
        self._sessions: dict[str, dict[Lane, list[Conversation]]] = {}
        self._losses: dict[tuple[str, str], _Losses] = {}

    def add(self, index: int, call: Call, *, price: Price | None, facts: Facts | None = None) -> tuple[Labelled, ...]:
        """The labels of its prompt tokens; none where those are not known."""
        lanes = self._sessions.setdefault(call.session, {})
        for happening in call.happenings:
            remember(lanes, happening)
        usage, facts = call.usage, facts or Facts()
        if usage.prompt_tokens is None or usage.prompt_tokens <= 0:
            if call.error is not None:
                remember(lanes, Happening(kind="aborted", detail=call.error))
            return ()
        lane = lanes.setdefault((call.label, call.target, call.model), [])
        if usage.accounting_fault:
            return (Labelled("not reported", None, usage.prompt_tokens),)
        served = Served(index, call, usage.prompt_tokens, usage.cached_tokens or 0, facts.granularity)
        if usage.cached_tokens is None:
            labels = _not_reported(served, lane, facts)
            before = lane[-1] if lane else None
        else:
            labels, before = self._judge(served, lanes, lane, price, facts)
        go_on(lane, before, served, facts)
        return labels

    def findings(self) -> tuple[Finding, ...]:
        """One a session and cause, in the order in which they first show."""
        return tuple(_finding(losses) for losses in sorted(self._losses.values(), key=lambda losses: losses.first))

    def _judge(
        self,
        served: Served,
        lanes: dict[Lane, list[Conversation]],
        lane: list[Conversation],
        price: Price | None,
        facts: Facts,
    ) -> tuple[tuple[Labelled, ...], Conversation | None]:
        """Labels, and the conversation that the call goes on with; None when it starts one."""
        before = read_by(served, lane)
        if before is not None:
            before.confirmed = True
            rounded = min(before.left_tokens, served.prompt_tokens)
            return _labels(served, rounded, "below granularity", None), before
        before = compacted(served, lane) or continued(served, lane) or on_other_model(served, lanes)
        if before is None or not before.certain:
            return _labels(served, served.cached_tokens, "new", None), before
        shortfall = _shortfall(served, before)
        cause, recognised = next(
            (cause, found) for cause in LEDGER_CAUSES if (found := cause.recognise(shortfall)) is not None
        )
        # The text that replaced a compacted history was never sent before.
        label = "new" if shortfall.compacted else LABEL_OF[cause.verdict]
        labels = _labels(served, min(before.left_tokens, served.prompt_tokens), label, cause.name)
        key = (served.call.session, cause.name)
        if key not in self._losses:
            session = served.call.session or None
            self._losses[key] = _Losses(served.index, before.index, cause, recognised, session)
        self._losses[key].add(served, price_labels(labels, served.call.usage, price))
        return labels, before


def _shortfall(served: Served, before: Conversation) -> Shortfall:
    model = served.call.model
    settings = [happening.detail or "a setting" for happening in before.since if happening.kind == "setting"]
    # Of the model counts which one answered: one that was chosen and left again is no change.
    settings = [detail for detail in settings if not detail.lower().startswith("model")]
    if before.model != model:
        settings.append(f"model {before.model} -> {model}")
    idle_s = None if served.at is None or before.at is None else max(served.at - before.at, 0.0)
    return Shortfall(
        expected_tokens=before.left_tokens,
        cached_tokens=served.cached_tokens,
        against=before.index,
        idle_s=idle_s,
        lifetime_s=before.lifetime_s,
        compacted=happened(before, "compaction") and not served.call.label,
        settings=tuple(dict.fromkeys(settings)),
        after_failure=happened(before, "aborted"),
    )


def _labels(served: Served, reusable: int, label: str, cause: str | None) -> tuple[Labelled, ...]:
    return label_tokens(
        prompt_tokens=served.prompt_tokens,
        cached_tokens=served.cached_tokens,
        reusable_tokens=reusable,
        label=label,
        cause=cause,
    )


def _not_reported(served: Served, lane: Sequence[Conversation], facts: Facts) -> tuple[Labelled, ...]:
    """Of a call that goes on, what the one before left may have been served; of others nothing can be told apart."""
    if not served.by_itself:
        return (Labelled("not reported", None, served.prompt_tokens),)
    reusable = lane[-1].left_tokens if lane and served.prompt_tokens >= lane[-1].prompt_tokens else 0
    return label_tokens(
        prompt_tokens=served.prompt_tokens,
        cached_tokens=None,
        reusable_tokens=reusable,
        granularity=facts.granularity,
        minimum_tokens=facts.least_tokens,
    )


def _finding(losses: _Losses) -> Finding:
    found, cause = losses.recognised, losses.cause
    more = "" if losses.count == 1 else f" This shows in {losses.count} calls."
    return Finding(
        verdict=cause.verdict,
        cause=cause.name,
        call=losses.first,
        against=losses.against,
        pointer=None,
        offset=None,
        was=None,
        now=None,
        cacheable_chars=None,
        cacheable_share=None,
        lost_tokens=losses.tokens,
        lost_usd=None if losses.usd is None else float(losses.usd),
        voice=found.voice or cause.voice,
        confidence=found.confidence,
        summary=found.summary + more + losses.cost,
        ruled_out=found.ruled_out,
        advice=found.advice,
        calls=tuple(losses.calls),
        occurrences=losses.count,
        session=losses.session,
    )
