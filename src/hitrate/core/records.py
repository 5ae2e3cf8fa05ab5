"""What became of the records of a log: used, damaged, repeated; so that nothing is left out in silence."""

from __future__ import annotations

from msgspec import Struct

MOST_LISTED = 1000
"""Damaged records and remarks kept one by one, so that a file full of garbage does not fill the memory."""


class Skipped(Struct, frozen=True, kw_only=True):
    """A record that cannot be used. `line` and `column` count from 1 and are None where a file has no lines.

    `reason` says what was expected or found, and names JSON pointers into the record.
    """

    line: int | None
    column: int | None = None
    reason: str
    counted: bool = False
    """Only its request could not be read: it was compared with nothing, and the token counts reported for it count."""

    @property
    def place(self) -> str:
        """ ", line 4, column 7", as far as known; to be put behind the name of the file."""
        line = "" if self.line is None else f", line {self.line}"
        return line + ("" if self.column is None else f", column {self.column}")


class Remark(Struct, frozen=True, kw_only=True):
    """Something odd about a record that is used all the same: how it was read."""

    line: int | None
    what: str


class Caution(Remark, frozen=True, kw_only=True):
    """A remark on what makes figures doubtful, which is shown as a warning."""


class Records(Struct, frozen=True, kw_only=True):
    """`read` = `used` + `damaged` + `repeated`.

    `read` counts what stands for a call, not headers, user messages or blank lines. `repeated` are further lines of an
    answer that is counted once. Of the damaged ones and the remarks the first `MOST_LISTED` are listed.
    """

    read: int
    used: int
    damaged: int = 0
    repeated: int = 0
    skipped: tuple[Skipped, ...] = ()
    remarks: tuple[Remark, ...] = ()


class RecordCount:
    """Grows while a log is read; `records()` is the state so far."""

    def __init__(self) -> None:
        self.used = self._damaged = self._repeated = 0
        self._skipped: list[Skipped] = []
        self._remarks: list[Remark] = []

    def use(self) -> None:
        self.used += 1

    def repeat(self) -> None:
        self._repeated += 1

    def skip(self, skipped: Skipped) -> None:
        self._damaged += 1
        if len(self._skipped) < MOST_LISTED:
            self._skipped.append(skipped)

    def remark(self, remark: Remark) -> None:
        if len(self._remarks) < MOST_LISTED:
            self._remarks.append(remark)

    def records(self) -> Records:
        return Records(
            read=self.used + self._damaged + self._repeated,
            used=self.used,
            damaged=self._damaged,
            repeated=self._repeated,
            skipped=tuple(self._skipped),
            remarks=tuple(self._remarks),
        )
