"""One session of the live page: its newest turns, and sums over all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from hitrate.core.cost import GrowingSums
from hitrate.core.findings import CallRate, ExplainReport, Finding, RecordSums
from hitrate.core.model import Call
from hitrate.explain.visible import visible
from hitrate.watch.sums import LabelSums
from hitrate.watch.views import SessionHead, Turn

MOST_TURNS = 200
"""Turns of a session that are listed, the newest."""


class Session:
    def __init__(self, identity: int, name: str, *, named: bool) -> None:
        self.id = identity
        self.name = name
        self.named = named
        self.target = ""
        self.model: str | None = None
        self.first_at: float | None = None
        self.last_at: float | None = None
        self.calls = 0
        self.breaks = 0
        self.sums = GrowingSums()
        self.labels = LabelSums()
        self.revision = 0
        self.turns: deque[Turn] = deque(maxlen=MOST_TURNS)

    def add(self, turn: Turn, call: Call, revision: int) -> Turn:
        """Append a turn, which gets its number here."""
        self.calls += 1
        turn.turn, turn.revision = self.calls, revision
        self.turns.append(turn)
        self.revision = revision
        self.target, self.model = visible(call.target), turn.model or self.model
        self.first_at = turn.at if self.first_at is None else self.first_at
        self.last_at = self.last_at if turn.at is None else turn.at
        return turn

    def forget_turns(self) -> None:
        self.turns.clear()

    def turns_after(self, revision: int) -> tuple[Turn, ...]:
        return tuple(turn for turn in self.turns if turn.revision > revision)

    def head(self) -> SessionHead:
        return SessionHead(
            id=self.id,
            name=self.name,
            named=self.named,
            target=self.target,
            model=self.model,
            first_at=self.first_at,
            last_at=self.last_at,
            turns_dropped=self.calls - len(self.turns),
            breaks=self.breaks,
            lost_tokens=self.labels.lost_tokens,
            lost_usd=self.labels.lost_usd,
            sums=self.sums.sums(),
        )


def session_report(
    session: Session, findings: Sequence[Finding], recording: str, rule_set: str | None
) -> ExplainReport:
    """A session as `hitrate explain` reports a log; of its calls the listed ones."""
    notes = []
    if dropped := session.calls - len(session.turns):
        notes.append(f"The first {dropped:,} turns are in the sums and not listed.")
    return ExplainReport(
        log=recording,
        format="run",
        rule_set=rule_set,
        calls=session.calls,
        sessions=1,
        records=RecordSums(read=session.calls, used=session.calls),
        findings=tuple(sorted(findings, key=lambda one: (-(one.lost_usd or 0), -(one.lost_tokens or 0)))),
        waterfall=session.labels.waterfall(),
        by_call=tuple(
            CallRate(call=one.call, session=session.name, prompt_tokens=one.prompt_tokens, hit_rate=one.hit_rate)
            for one in session.turns
        ),
        notes=tuple(notes),
    )
