"""Parts of a page."""

from __future__ import annotations

from markupsafe import Markup
from msgspec import Struct


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
