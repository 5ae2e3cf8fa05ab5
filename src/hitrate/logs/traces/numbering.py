"""What requests call their blocks, replaced by numbers from 0 in the order of their first occurrence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


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
            if isinstance(names, list) and self._fit(names):
                return names
            self._numbers = Numbers(zip(range(self._own), range(self._own), strict=True))
        return map(self._numbers.__getitem__, names)

    def _fit(self, names: list[Any]) -> bool:
        """Whether they are known or, from one place on, the next ones. They rise then: what stands behind other text
        occurs no sooner than that."""
        if not names:
            return True
        if type(names[0]) is not int or names[0] < 0 or sorted(names) != names:
            return False
        new = names[-1] + 1 - self._own
        if new > 0:
            if names[-new:] != list(range(self._own, self._own + new)):
                return False
            self._own += new
        return True
