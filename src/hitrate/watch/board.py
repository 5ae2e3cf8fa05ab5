"""What the live page shows, kept as calls come in: sessions, turns, breaks and sums, all of it bounded.

Every part carries the number of the change by which it became what it is, so that what a page lacks can be told from
the one number it knows, however long it was away.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from hitrate.core.cost import GrowingSums
from hitrate.core.findings import ExplainReport, Finding
from hitrate.core.model import Call
from hitrate.core.money import Bill, Price, Unpriced, bill
from hitrate.core.recent import Recent
from hitrate.explain.turns.states import state_of
from hitrate.explain.visible import visible
from hitrate.record.warmth import is_warm
from hitrate.watch.breaks import Breaks
from hitrate.watch.explained import Added, Outcome
from hitrate.watch.session import Session, session_report
from hitrate.watch.sums import LabelSums, lost_tokens, lost_usd
from hitrate.watch.views import Break, FirstToken, Lately, Progress, SessionTurns, Turn, Update

MOST_SESSIONS = 50
"""Sessions that are shown, those with the newest calls."""

_MOST_REMEMBERED = 500
"""Sessions whose number and sums are kept beyond that, in case they go on."""

_MOST_FIRST_TOKENS = 200
_LATELY = 20
_MOST_OPEN = 5_000
"""Calls whose outcome may still change."""

_SERVED_OR_NEW = frozenset({"served", "new", "below granularity"})


class _Open(NamedTuple):
    session: Session
    turn: Turn
    outcome: Outcome | None
    """As told before; None at first."""
    breaks: tuple[int, ...]


class Board:
    """One writer; readers call `update` and `report` between its changes."""

    def __init__(self, recording: str, *, content_kept: bool = True) -> None:
        self.recording = recording
        self.content_kept = content_kept
        self.revision = 0
        self.rule_set: str | None = None
        self.behind = True
        self.fault: str | None = None
        self.oddities: tuple[Finding, ...] = ()
        self._sums = GrowingSums()
        self._labels = LabelSums()
        self._sessions: dict[str | int, Session] = {}
        """By session key or number of the conversation, the one with the newest call last."""
        self._older: Recent[str | int, Session] = Recent(_MOST_REMEMBERED)
        self._sessions_seen = 0
        self._breaks = Breaks()
        self._open: dict[int, _Open] = {}
        self._first_tokens: deque[tuple[int, FirstToken]] = deque(maxlen=_MOST_FIRST_TOKENS)
        self._lately: deque[tuple[int, int]] = deque(maxlen=_LATELY)

    def add(self, position: int, call: Call, price: Price | None, added: Added) -> None:
        """Take in a call and what became of it and of earlier ones."""
        self.revision += 1
        session = self._session(call, added.conversation)
        billed = None if price is None else bill(call.usage, price)
        amount = None if isinstance(billed, Unpriced) else billed
        self._sums.add(call.usage, amount)
        session.sums.add(call.usage, amount)
        turn = session.add(_turn(position, call, added, amount), call, self.revision)
        if call.usage.hit_rate is not None:
            self._lately.append((call.usage.cached_tokens or 0, call.usage.prompt_tokens or 0))
        if turn.ttft_ms is not None:
            warm = is_warm(call.usage)
            point = FirstToken(call=turn.call, session=session.id, turn=turn.turn, ttft_ms=turn.ttft_ms, warm=warm)
            self._first_tokens.append((self.revision, point))
        self._open[position] = _Open(session, turn, None, ())
        self.change(added.outcomes)
        while len(self._open) > _MOST_OPEN:
            del self._open[next(iter(self._open))]

    def change(self, outcomes: Iterable[Outcome]) -> None:
        """Put outcomes in the place of those that were told before of the same calls."""
        self.revision += 1
        for outcome in outcomes:
            known = self._open.pop(outcome.position, None)
            if known is not None and known.outcome != outcome:
                known = self._replace(known, outcome)
            if known is not None and not outcome.settled:
                self._open[outcome.position] = known

    def touch(self) -> None:
        """Something beside the calls changed: whether there are more of them, or a fault."""
        self.revision += 1

    def _session(self, call: Call, conversation: int) -> Session:
        key = call.session or conversation
        session = self._sessions.pop(key, None) or self._older.get(key)
        if session is None:
            self._sessions_seen += 1
            named = bool(call.session)
            number = self._sessions_seen if named else conversation + 1
            name = visible(call.session) if named and self.content_kept else f"#{number}"
            session = Session(self._sessions_seen, name, named=named)
        self._sessions[key] = session
        if len(self._sessions) > MOST_SESSIONS:
            oldest = next(iter(self._sessions))
            dropped = self._sessions.pop(oldest)
            dropped.forget_turns()
            self._older.put(oldest, dropped)
        return session

    def _replace(self, known: _Open, outcome: Outcome) -> _Open:
        session, turn, was, shown_in = known
        for labels, sums in ((self._labels, self._sums), (session.labels, session.sums)):
            labels.add(outcome.usage, outcome.paid)
            if was is not None:
                labels.take(was.usage, was.paid)
                sums.replace(was.usage, outcome.usage)
        shows_in = tuple(self._breaks.add(loss, session, turn, self.revision) for loss in outcome.losses)
        for identity, loss in zip(shown_in, () if was is None else was.losses, strict=True):
            self._breaks.take_back(identity, loss, turn, self.revision)
        _fill_in(turn, outcome, self.revision)
        session.revision = self.revision
        session.breaks = self._breaks.of_session(session.id)
        return _Open(session, turn, outcome, shows_in)

    def update(self, since: int | None = None) -> Update:
        """What changed since a revision; all there is for None, or for a revision that was never given out."""
        whole = since is None or not 0 <= since <= self.revision
        after = -1 if whole or since is None else since
        cached, prompt = (sum(numbers) for numbers in zip(*self._lately, strict=True)) if self._lately else (0, 0)
        return Update(
            recording=self.recording,
            content_kept=self.content_kept,
            whole=whole,
            since=0 if whole or since is None else since,
            revision=self.revision,
            progress=Progress(behind=self.behind, fault=self.fault),
            sessions_seen=self._sessions_seen,
            sums=self._sums.sums(),
            lost_tokens=self._labels.lost_tokens,
            lost_usd=self._labels.lost_usd,
            lately=Lately(calls=len(self._lately), hit_rate=cached / prompt if prompt else None),
            waterfall=self._labels.waterfall(),
            rule_set=self.rule_set,
            shown_sessions=tuple(one.id for one in self._sessions.values()),
            sessions=tuple(
                SessionTurns(head=one.head(), turns=one.turns_after(after), revision=one.revision)
                for one in self._sessions.values()
                if one.revision > after
            ),
            shown_breaks=self._breaks.shown(),
            breaks=self._breaks.after(after),
            first_tokens=tuple(point for revision, point in self._first_tokens if revision > after),
            oddities=self.oddities,
        )

    def session(self, identity: int) -> Session | None:
        """The session of that number, if it is still shown."""
        return next((one for one in self._sessions.values() if one.id == identity), None)

    def breaks_of(self, session: Session) -> list[Break]:
        """The one that showed last first."""
        return self._breaks.newest(session.id)

    def report(self, session: Session) -> ExplainReport:
        """A session as `hitrate explain` would report it alone; its calls are those of the recording."""
        return session_report(session, self._breaks.findings(session.id), self.recording, self.rule_set)


def _turn(position: int, call: Call, added: Added, amount: Bill | None) -> Turn:
    usage, timing = call.usage, call.timing
    return Turn(
        call=position - 1,
        turn=0,
        at=None if timing is None else timing.at,
        model=None if call.model is None else visible(call.model),
        relation=added.relation,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        written_tokens=usage.written_tokens,
        output_tokens=usage.output_tokens,
        hit_rate=usage.hit_rate,
        ttft_ms=_ms(None if timing is None else timing.ttft_s),
        total_ms=_ms(None if timing is None else timing.total_s),
        status=call.status,
        error=None if call.error is None else visible(call.error),
        usd=None if amount is None else float(amount.usd),
        state="failed" if call.error is not None or (call.status or 0) >= 400 else "not reported",
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds


def _fill_in(turn: Turn, outcome: Outcome, revision: int) -> None:
    usage, paid = outcome.usage, outcome.paid
    turn.cached_tokens, turn.hit_rate = usage.cached_tokens, usage.hit_rate
    turn.new_tokens = sum(one.tokens for one in paid if one.label == "new") if paid else None
    turn.lost_tokens = lost_tokens(paid) if paid else None
    turn.lost_usd = lost_usd(paid)
    turn.causes = tuple(dict.fromkeys(loss.finding.cause for loss in outcome.losses))
    turn.revision = revision
    if turn.state == "failed":
        return
    missing = sum(one.tokens for one in paid if one.label not in _SERVED_OR_NEW)
    turn.state = state_of(
        prompt_tokens=usage.prompt_tokens if paid else None,
        cached_tokens=usage.cached_tokens,
        expected_cached_tokens=(usage.cached_tokens or 0) + missing,
    )
    if any(loss.finding.verdict == "too_short" for loss in outcome.losses):
        turn.state = "too short"
