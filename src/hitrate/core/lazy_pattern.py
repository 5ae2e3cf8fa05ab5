"""Regular expressions that are compiled when they are first used.

A log needs a few dozen of the two hundred in the modules that explain one; to compile them all takes several times as
long as Python's own start.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, AnyStr, cast


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile`, later; an expression that is none raises `re.error` then.

    For its own members only: the functions of `re`, as in `re.sub(pattern, ...)`, take no pattern but a compiled one.
    """
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))


class _Member:
    """A member of the compiled pattern, and from its first use on the pattern's own, as quick as that."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, pattern: LazyPattern | None, owner: type) -> Any:
        if pattern is None:  # asked of the class
            return self
        member = pattern.__dict__[self._name] = getattr(pattern.compiled, self._name)
        return member


class LazyPattern:
    """The members of `re.Pattern`."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[Any]:
        return re.compile(self.pattern, self._flags)

    search, match, fullmatch = _Member(), _Member(), _Member()
    finditer, findall, split, sub, subn = _Member(), _Member(), _Member(), _Member(), _Member()
    flags, groups, groupindex = _Member(), _Member(), _Member()
