"""What only an HTML page shows: words, plots, and the one figure it is about. One file a kind that has a page."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, cast

from hitrate.errors import UsageError
from hitrate.report.kinds import Value
from hitrate.report.pages.parts import Chapter, Figure, Headline, Tile


class Page(Protocol):
    """What a module beside this one has to provide."""

    def subject(self, value: Any, /) -> tuple[str, list[str]]:
        """For the title of the page: what it is, and of what."""
        ...

    def own_words(self, value: Any, /) -> tuple[str, tuple[str, ...]]:
        """Heading and introduction."""
        ...

    def verdict_word(self, value: Any, /) -> str:
        """The verdict in one word, "" where there is none."""
        ...

    def headline(self, value: Any, /) -> Headline | None:
        """The one figure it is about."""
        ...

    def figures(self, value: Any, identity: str, /) -> list[Figure]:
        """Its plots; their ids in the page start with `identity`."""
        ...


def of(value: Value) -> Page:
    """UsageError for a value that has no page of its own (a list of runs or models)."""
    if value.kind not in {module.name for module in iter_modules(__path__)}:
        raise UsageError("this list has no HTML page: use --json, --csv or --markdown")
    return cast(Page, import_module(f"{__name__}.{value.kind}"))


def tiles(value: Value) -> tuple[Tile, ...]:
    """Where a page has `tiles(value)`, the figures below its headline."""
    found: tuple[Tile, ...] = getattr(of(value), "tiles", lambda _: ())(value)
    return found


def chapters(value: Value, identity: str) -> tuple[Chapter, ...]:
    """Where a page has `chapters(value, identity)`, the sections that stand in the place of its one."""
    found: tuple[Chapter, ...] = getattr(of(value), "chapters", lambda *_: ())(value, identity)
    return found
