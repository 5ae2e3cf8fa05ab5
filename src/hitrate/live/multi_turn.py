"""The multi-turn test: one session in sequence, then several at once, each growing turn by turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from hitrate.core.model import Call
from hitrate.errors import HitrateError, UsageError
from hitrate.live.asker import WARM_UP, Asker, BudgetSpent
from hitrate.live.conversation import Script


class MultiTurnPlan(Struct, frozen=True, kw_only=True):
    """`sessions` above 1 adds a parallel run beside the sequential one; each is done `repeat` times.

    Of the sessions of a parallel run at most `concurrency` have a call under way (None: all); with 1 they take turns.
    """

    turns: int = 5
    sessions: int = 1
    repeat: int = 1
    concurrency: int | None = None

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
            tasks = []
            places = asyncio.Semaphore(plan.concurrency or sessions)
            async with asyncio.TaskGroup() as group:
                for session in range(1, sessions + 1):
                    name = f"{session_prefix}-{run.replace('#', '-')}-{session}"
                    script = script_for(run, session)
                    session_run = _session(asker, script, plan.turns, places, run=run, name=name, isolation=isolation)
                    tasks.append(group.create_task(session_run))
            warnings += [said for task in tasks if (said := task.result()) is not None]
    except* BudgetSpent as spent:
        warnings.append(stopped_by_budget(_first(spent)))
    except* HitrateError as refused:
        raise _first(refused) from None
    except* asyncio.CancelledError:
        warnings.append(interrupted(asker.calls))
    return warnings


async def until_stopped(asker: Asker, work: Awaitable[Any]) -> list[str]:
    """Do `work`; a spent budget or a cancelled run ends it early, which is said in the warnings."""
    try:
        await work
    except BudgetSpent as spent:
        return [stopped_by_budget(spent)]
    except asyncio.CancelledError:
        return [interrupted(asker.calls)]
    return []


def ended_early(warnings: Sequence[str]) -> bool:
    """Whether no further call should be made: the budget is spent or the run was interrupted."""
    return any(warning.startswith((_STOPPED, INTERRUPTED)) for warning in warnings)


INTERRUPTED, _STOPPED = "interrupted", "stopped by --budget"


def stopped_by_budget(spent: BaseException) -> str:
    return f"{_STOPPED}: {spent}; the calls made so far are shown"


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def interrupted(calls: Sequence[Call]) -> str:
    made = sum(call.label != WARM_UP for call in calls)
    return f"{INTERRUPTED} after {made} call{'s' if made != 1 else ''}; what was measured is shown"


async def _session(
    asker: Asker,
    script: Script,
    turns: int,
    places: asyncio.Semaphore,
    *,
    run: str,
    name: str,
    isolation: str | None,
) -> str | None:
    """Why the session ended before its last turn, where the script could not go on with what was answered."""
    for turn in range(1, turns + 1):
        messages = script.messages(turn)
        if messages is None:
            return None
        async with places:  # first come, first served, so that sessions take turns
            call = await asker.ask(messages, script.tools, session=name, turn=turn, label=run, isolation=isolation)
        try:
            script.answered(call.reply if call.error is None else None)
        except UsageError as error:
            return f"{name.removeprefix('hitrate-')} ended after turn {turn}: {error.message}"
    return None
