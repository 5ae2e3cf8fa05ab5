"""One file a kind of value: its title, its sheets of columns, its records for machines, and its sentences.

A kind is found by the name that stands in the value (`kind`), and imported when a value of it is to be shown; growing
means adding a file. Table and Markdown show `sheets`, CSV writes `records`, so the formats cannot disagree about what a
figure is called, how it is rounded, or what is said when it is not known.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, cast

from msgspec import Struct

from hitrate.report.columns import Sheet
from hitrate.report.words import Line, Listing, Passage


class Value(Protocol):
    """What a command found: a struct of `hitrate.core`, mostly."""

    @property
    def kind(self) -> str: ...


class Kind(Protocol):
    """What a module beside this one has to provide."""

    TYPE: type[Struct]

    def title(self, value: Any, /) -> str:
        """One line: what it is about."""
        ...

    def sheets(self, value: Any, /) -> list[Sheet]:
        """What people are shown."""
        ...

    def records(self, value: Any, /) -> Sheet:
        """What machines read: unfolded, in one sheet, with the same columns whatever the value holds."""
        ...

    def lines(self, value: Any, /) -> list[Line]:
        """The sentences below the sheets, in the order they are read."""
        ...


def names() -> list[str]:
    return sorted(module.name for module in iter_modules(__path__))


def named(name: str) -> Kind:
    return cast(Kind, import_module(f"{__name__}.{name}"))


def of(value: Value) -> Kind:
    return named(value.kind)


def passages(value: Value) -> list[Passage]:
    """Where a kind has `passages(value)`, what stands between its title and its sheets."""
    found: list[Passage] = getattr(of(value), "passages", lambda _: [])(value)
    return found


def listings(value: Value) -> list[Listing]:
    """Where a kind has `listings(value)`, what stands behind its sentences to be copied."""
    found: list[Listing] = getattr(of(value), "listings", lambda _: [])(value)
    return found


def folded_calls(value: Value) -> int:
    """Where a kind has `folded_calls(value)`, how many calls its sheets show folded."""
    folded: int = getattr(of(value), "folded_calls", lambda _: 0)(value)
    return folded
