"""One self-contained page: opens offline, asks the network for nothing, light and dark, wide and narrow.

A page holds any number of results, each with its plots, its numbers and how it was measured, and sections in plain
words around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import jinja2
from markupsafe import Markup
from msgspec import Struct

from hitrate import __version__
from hitrate.report import kinds, pages
from hitrate.report.columns import Sheet
from hitrate.report.escape import escape_line
from hitrate.report.kinds import Value
from hitrate.report.pages.parts import Chapter, Figure, Headline
from hitrate.report.words import Line, Listing, Passage


class Section(Struct, frozen=True, kw_only=True):
    """Plain words. With `result` (a position in the page's results) it is that result's heading and introduction,
    otherwise a section of its own behind the results. `commands` are shown as they are to be typed."""

    title: str
    text: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    result: int | None = None


class Block(Struct, frozen=True, kw_only=True):
    """What the template lays out for one result or section."""

    title: str
    text: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    verdict: str = ""
    verdict_word: str = ""
    figures: tuple[Figure, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    facts: tuple[Line, ...] = ()
    listings: tuple[Listing, ...] = ()
    heading: str = ""
    points: tuple[tuple[str, str], ...] = ()
    is_chapter: bool = False


def render(
    results: Sequence[Value],
    out: TextIO,
    *,
    title: str | None = None,
    intro: str | None = None,
    sections: Sequence[Section] = (),
) -> None:
    """Write the page. UsageError for a value that has no page of its own (a list of runs or models)."""
    leads = {section.result: section for section in sections if section.result is not None}
    blocks = [block for number, result in enumerate(results) for block in _blocks(result, number, leads.get(number))]
    page = environment("hitrate.report").get_template("page.html.j2")
    document = page.render(
        title=title or _title(results),
        intro=intro,
        headline=headline(results),
        tiles=pages.tiles(results[0]) if len(results) == 1 else (),
        blocks=blocks,
        sections=[section for section in sections if section.result is None],
        version=__version__,
    )
    # Lone surrogates cannot be written as UTF-8; everything else hidden was escaped where it was filled in.
    out.write(document.encode("utf-8", "replace").decode())


def _title(results: Sequence[Value]) -> str:
    if len(results) == 1 and (given := getattr(results[0], "title", None)):
        return str(given)
    subjects = [pages.of(result).subject(result) for result in results]
    what = " and ".join(dict.fromkeys(kind for kind, _ in subjects))
    of = " and ".join(dict.fromkeys(name for _, names in subjects for name in names))
    return f"{what.capitalize()} of {of}" if results else "hitrate"


def headline(results: Sequence[Value]) -> Headline | None:
    """The one figure the page is about: the speed-up of the first bench, else that of the first result with one."""
    for result in sorted(results, key=lambda result: result.kind != "bench"):
        if found := pages.of(result).headline(result):
            return found
    return None


def _blocks(result: Value, number: int, lead: Section | None) -> list[Block]:
    found = pages.chapters(result, f"figure-{number}")
    return [_of_chapter(chapter) for chapter in found] or [_block(result, number, lead)]


def _of_chapter(chapter: Chapter) -> Block:
    return Block(
        title=chapter.title,
        points=chapter.points,
        text=chapter.text,
        passages=chapter.passages,
        figures=chapter.figures,
        sheets=chapter.sheets,
        facts=chapter.facts,
        listings=chapter.listings,
        is_chapter=True,
    )


def _block(result: Value, number: int, lead: Section | None) -> Block:
    kind, page = kinds.of(result), pages.of(result)
    lines = kind.lines(result)
    title, text = page.own_words(result)
    verdict = next((line.text for line in lines if line.kind == "verdict"), "")
    word = page.verdict_word(result)
    return Block(
        title=lead.title if lead else title,
        text=lead.text if lead else text,
        commands=lead.commands if lead else (),
        passages=tuple(kinds.passages(result)),
        verdict=verdict,
        verdict_word="" if verdict.lower().startswith(word) else word,
        figures=tuple(page.figures(result, f"figure-{number}")),
        sheets=tuple(kind.sheets(result)),
        facts=tuple(line for line in lines if line.text != verdict),
        listings=tuple(kinds.listings(result)),
        heading=kind.title(result),
    )


def environment(package: str) -> jinja2.Environment:
    """For the templates of a package: all that is filled in is escaped, and what cannot be seen is shown first."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: (
            escape_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value
        ),
    )
    made.filters["paragraph"] = lambda text: " ".join(text.split())
    return made
