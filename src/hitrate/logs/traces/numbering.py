"""What requests call their blocks, replaced by numbers from 0 in the order of their first occurrence."""

from __future__ import annotations

from collections.abc import Iterable


class Numbers(dict[object, int]):
    """Numbers by name; a name that is new gets the next."""

    def __missing__(self, key: object) -> int:
        self[key] = number = len(self)
        return number


class BlockNumbers:
    """Files that are numbered so already, as Mooncake's, keep their own numbers: no table of them is made until a
    request comes that they do not fit."""

    def __init__(self) -> None:
        self._own = 0
        """How many of the file's own numbers are known to fit."""
        self._numbers: Numbers | None = None

    def of(self, names: Iterable[object]) -> Iterable[int]:
        """In the order of the names, which are all of one type."""
        if self._numbers is None:
            if isinstance(names, list) and (not names or type(names[0]) is int) and self._fit(names):
                return names
            self._numbers = Numbers(zip(range(self._own), range(self._own), strict=True))
        return map(self._numbers.__getitem__, names)

    def _fit(self, names: list[int]) -> bool:
        """Whether they are known or, from one place on, the next ones."""
        highest = max(names, default=-1)
        new = highest + 1 - self._own
        if new > 0:
            known = len(names) - new
            if (
                known < 0
                or names[known:] != list(range(self._own, highest + 1))
                or max(names[:known], default=-1) >= self._own
            ):
                return False
        if min(names, default=0) < 0:
            return False
        self._own = max(self._own, highest + 1)
        return True
