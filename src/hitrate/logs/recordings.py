"""What the store keeps of a recording beside its calls: how far its journal is taken in, and what is not there."""

from __future__ import annotations

import sqlite3
from typing import Literal

import msgspec

from hitrate.logs.database import Database
from hitrate.logs.rows import plain, text_or_none

Content = Literal["kept", "hashed"]


class JournalPosition(msgspec.Struct, frozen=True):
    """All before `offset` of this segment has been taken in. The counts are of what came since the position before."""

    segment: int
    offset: int
    other_exchanges: int = 0
    missed_exchanges: int = 0
    missed_reason: str | None = None
    damaged_frames: int = 0


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """As the table `recordings`, see `migrations`."""

    run: str
    content: Content
    segment: int
    offset: int
    ended: bool
    other_exchanges: int
    missed_exchanges: int
    missed_reason: str | None
    damaged_frames: int
    retired_calls: int
    retired_until: float | None


def advance(connection: sqlite3.Connection, run_id: str, journal: JournalPosition) -> None:
    connection.execute(
        "UPDATE recordings SET segment = ?, offset = ?, other_exchanges = other_exchanges + ?, "
        "missed_exchanges = missed_exchanges + ?, missed_reason = coalesce(?, missed_reason), "
        "damaged_frames = damaged_frames + ? WHERE run = ?",
        (
            journal.segment,
            journal.offset,
            journal.other_exchanges,
            journal.missed_exchanges,
            plain(journal.missed_reason),
            journal.damaged_frames,
            run_id,
        ),
    )


def read(database: Database, run_id: str) -> Recording | None:
    found = database.read(
        "SELECT recordings.*, runs.content FROM recordings JOIN runs ON runs.id = recordings.run WHERE run = ?",
        (run_id,),
    )
    if not found:
        return None
    fields = dict(found[0])
    return Recording(
        **{**fields, "ended": bool(fields["ended"]), "missed_reason": text_or_none(fields["missed_reason"])}
    )
