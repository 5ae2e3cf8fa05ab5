"""Parts of a page."""

from __future__ import annotations

from markupsafe import Markup
from msgspec import Struct

from hitrate.report.columns import Sheet
from hitrate.report.words import Line, Listing, Passage


class Figure(Struct, frozen=True, kw_only=True):
    """`key` are the signs used in the plot: (class, sign, meaning)."""

    title: str
    plot: Markup
    caption: str = ""
    key: tuple[tuple[str, str, str], ...] = ()


class Headline(Struct, frozen=True):
    figure: str
    words: str
    detail: str


class Tile(Struct, frozen=True):
    """A figure beside the headline; `basis` says how it is known."""

    figure: str
    words: str
    basis: str


class Chapter(Struct, frozen=True, kw_only=True):
    """A section of a result that has several. `points` are (name, what is said of it); `passages` stand behind the
    figures, `sheets` are folded away, `facts` come last."""

    title: str
    points: tuple[tuple[str, str], ...] = ()
    text: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    passages: tuple[Passage, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    facts: tuple[Line, ...] = ()
    listings: tuple[Listing, ...] = ()
