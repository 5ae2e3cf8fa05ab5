"""What an agent's log says between its calls: gathered, and handed to the next call that was answered."""

from __future__ import annotations

from hitrate.core.model import Happening


class Happenings:
    """Of one conversation. Of a setting that changed several times between two calls only the outcome counts."""

    def __init__(self) -> None:
        self._pending: list[Happening] = []
        self._values: dict[str, str] = {}
        self._changed: dict[str, tuple[str | None, float | None]] = {}

    def compacted(self, detail: str, at: float | None) -> None:
        """A log can say it more than once, in a boundary and in the summary behind it; the first counts."""
        if all(one.kind != "compaction" for one in self._pending):
            self._pending.append(Happening(kind="compaction", detail=detail, at=at))

    def aborted(self, detail: str, at: float | None) -> None:
        """A call that ended before its usage came."""
        self._pending.append(Happening(kind="aborted", detail=detail, at=at))

    def set(self, name: str, value: str, at: float | None) -> None:
        """A setting has this value from now on. Its first value is no change."""
        before = self._values.get(name)
        self._values[name] = value
        if before is not None and before != value:
            self._changed[name] = (self._changed.get(name, (before, None))[0], at)

    def now(self) -> tuple[Happening, ...]:
        """All since the last call that was answered."""
        changes = [
            Happening(kind="setting", detail=f"{name} {before} -> {self._values[name]}", at=at)
            for name, (before, at) in self._changed.items()
            if before != self._values[name]
        ]
        return (*self._pending, *changes)

    def answered(self) -> None:
        """The call that got them wrote the cache anew: they are past."""
        self._pending = []
        self._changed = {}
