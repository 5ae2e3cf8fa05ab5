"""The multi-turn test: one session in sequence, then several at once, each growing turn by turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct

from hitrate.core.model import Call
from hitrate.errors import HitrateError
from hitrate.live.asker import Asker, BudgetSpent
from hitrate.live.conversation import Script


class MultiTurnPlan(Struct, frozen=True, kw_only=True):
    """`sessions` above 1 adds a parallel run beside the sequential one; each is done `repeat` times."""

    turns: int = 5
    sessions: int = 1
    repeat: int = 1

    @property
    def calls(self) -> int:
        sessions = 1 + (self.sessions if self.sessions > 1 else 0)
        return self.turns * sessions * self.repeat

    def runs(self) -> list[tuple[str, int]]:
        """Names and session counts of the runs, in the order they are made."""
        named = []
        for number in range(1, self.repeat + 1):
            suffix = f"#{number}" if self.repeat > 1 else ""
            named.append((f"sequential{suffix}", 1))
            if self.sessions > 1:
                named.append((f"parallel{suffix}", self.sessions))
        return named


ScriptFor = Callable[[str, int], Script]
"""Gives the script for a run's name and a session's number (from 1)."""

IsolationFor = Callable[[str], str | None]
"""Gives the value for the target's cold knob, one a run: sessions of a run share their opening, runs do not."""


async def run_multi_turn(
    asker: Asker, plan: MultiTurnPlan, script_for: ScriptFor, isolation_for: IsolationFor, session_prefix: str
) -> list[str]:
    """Make all calls; they stand in `asker.calls`, labelled with the run's name. Gives warnings.

    Stops early, with a warning, when the budget is spent or the run is cancelled; raises HitrateError when the
    target refuses.
    """
    warnings: list[str] = []
    try:
        for run, sessions in plan.runs():
            isolation = isolation_for(run)
            async with asyncio.TaskGroup() as group:
                for session in range(1, sessions + 1):
                    name = f"{session_prefix}-{run.replace('#', '-')}-{session}"
                    script = script_for(run, session)
                    group.create_task(_session(asker, script, plan.turns, run=run, name=name, isolation=isolation))
    except* BudgetSpent as stopped:
        warnings.append(f"stopped by --budget: {_first(stopped)}; the calls made so far are shown")
    except* HitrateError as refused:
        raise _first(refused) from None
    except* asyncio.CancelledError:
        warnings.append(interrupted(asker.calls))
    return warnings


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def interrupted(calls: Sequence[Call]) -> str:
    return f"interrupted after {len(calls)} call{'s' if len(calls) != 1 else ''}; what was measured is shown"


async def _session(asker: Asker, script: Script, turns: int, *, run: str, name: str, isolation: str | None) -> None:
    for turn in range(1, turns + 1):
        messages = script.messages(turn)
        if messages is None:
            return
        call = await asker.ask(messages, script.tools, session=name, turn=turn, label=run, isolation=isolation)
        script.answered(call.reply if call.error is None else None)
