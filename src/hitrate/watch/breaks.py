"""The breaks of the live page: the same cause at the same place of a conversation is one, however often it shows."""

from __future__ import annotations

from collections import deque
from decimal import Decimal

from msgspec.structs import replace

from hitrate.core.findings import Finding
from hitrate.explain.grouping import MOST_CALLS_LISTED
from hitrate.explain.visible import visible
from hitrate.report.escape import escape_line
from hitrate.report.kinds.explain import VOICES, change, cost, place
from hitrate.watch.per_call import Loss
from hitrate.watch.session import Session
from hitrate.watch.views import Break, Turn

MOST_BREAKS = 100
"""Breaks that are shown, those that showed last."""

_MOST_TURNS = 20
_CHANGE_CHARACTERS = 60
_SIDE_CHARACTERS = 400

_Key = tuple[int | None, str, str]


class _Growing:
    """A break with what was added to it. Of each amount the number of calls of which it is known is counted, so that
    an amount of which nothing is known any more is not known either."""

    def __init__(self, identity: int, key: _Key, loss: Loss, session: Session) -> None:
        self.id = identity
        self.key = key
        self.first = loss.finding
        self.newest = loss
        self.session = session
        self.at: float | None = None
        self.calls: list[int] = []
        self.turns: deque[int] = deque(maxlen=_MOST_TURNS)
        self.occurrences = self.tokens = self.tokens_known = self.usd_known = 0
        self.usd = Decimal(0)
        self.revision = 0

    def count(self, finding: Finding, sign: int) -> None:
        self.occurrences += sign
        if finding.lost_tokens is not None:
            self.tokens += sign * finding.lost_tokens
            self.tokens_known += sign
        if finding.lost_usd is not None:
            self.usd += sign * Decimal(str(finding.lost_usd))
            self.usd_known += sign

    def finding(self) -> Finding:
        return replace(
            self.first,
            calls=tuple(sorted(self.calls)),
            occurrences=self.occurrences,
            session=self.session.name,
            lost_tokens=self.tokens if self.tokens_known else None,
            lost_usd=float(self.usd) if self.usd_known else None,
        )

    def view(self) -> Break:
        finding, newest = self.finding(), self.newest.finding
        return Break(
            id=self.id,
            session=self.session.id,
            session_name=self.session.name,
            turn=max(self.turns, default=0),
            turns=tuple(sorted(self.turns)),
            at=self.at,
            voice=VOICES[newest.voice],
            cost=cost(finding),
            place=place(newest),
            change=change(newest, _CHANGE_CHARACTERS),
            front=visible(self.newest.front, at_end=False),
            was=_side(newest.was),
            now=_side(newest.now),
            summary=escape_line(newest.summary),
            advice=escape_line(newest.advice),
            finding=finding,
            revision=self.revision,
        )


def _side(text: str | None) -> str:
    more = "…" if text and len(text) > _SIDE_CHARACTERS else ""
    return visible(text[:_SIDE_CHARACTERS], at_end=not more) + more if text else ""


class Breaks:
    def __init__(self) -> None:
        self._growing: dict[int, _Growing] = {}
        """By number, the one that showed last at the end."""
        self._by_key: dict[_Key, int] = {}
        self._numbered = 0

    def add(self, loss: Loss, session: Session, turn: Turn, revision: int) -> int:
        """Count a loss in; the number of its break."""
        key = (loss.conversation, loss.finding.cause, loss.place)
        identity = self._by_key.get(key)
        if identity is None:
            self._numbered += 1
            identity = self._by_key[key] = self._numbered
            self._growing[identity] = _Growing(identity, key, loss, session)
        growing = self._growing[identity] = self._growing.pop(identity)
        growing.count(loss.finding, 1)
        growing.revision = revision
        if loss.finding.call is not None and len(growing.calls) < MOST_CALLS_LISTED:
            growing.calls.append(loss.finding.call)
        growing.turns.append(turn.turn)
        if turn.turn >= max(growing.turns):
            growing.newest, growing.at = loss, turn.at
        while len(self._growing) > MOST_BREAKS:
            oldest = self._growing.pop(next(iter(self._growing)))
            del self._by_key[oldest.key]
        return identity

    def take_back(self, identity: int, loss: Loss, turn: Turn, revision: int) -> None:
        """A loss that turned out otherwise. Nothing happens where its break is not kept any more."""
        growing = self._growing.get(identity)
        if growing is None:
            return
        growing.count(loss.finding, -1)
        growing.revision = revision
        for listed, one in ((growing.calls, loss.finding.call), (growing.turns, turn.turn)):
            if one in listed:
                listed.remove(one)  # type: ignore[arg-type]
        if not growing.occurrences:
            del self._growing[identity], self._by_key[growing.key]

    def of_session(self, session: int) -> int:
        return sum(one.session.id == session for one in self._growing.values())

    def findings(self, session: int) -> list[Finding]:
        return [one.finding() for one in self._growing.values() if one.session.id == session]

    def newest(self, session: int) -> list[Break]:
        """The breaks of a session, the one that showed last first."""
        return [one.view() for one in reversed(self._growing.values()) if one.session.id == session]

    def after(self, revision: int) -> tuple[Break, ...]:
        """Those that changed since a revision, the one that showed last at the end."""
        return tuple(one.view() for one in self._growing.values() if one.revision > revision)

    def shown(self) -> tuple[int, ...]:
        return tuple(self._growing)
