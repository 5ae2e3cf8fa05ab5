"""Tables for a terminal, drawn with rich; plain text when the output is no terminal or NO_COLOR is set."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TextIO

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hitrate.report import kinds
from hitrate.report.columns import Column, Sheet
from hitrate.report.escape import escape_line, guarded
from hitrate.report.kinds import Value
from hitrate.report.words import Listing, Passage

STATE_STYLES = {
    "hit": "green",
    "partial": "yellow",
    "miss": "red",
    "failed": "red",
    "missed reuse": "red",
    "granularity": "green",
    "equal": "green",
    "not reported": "dim",
    "ok": "green",
    "warning": "yellow",
    "skipped": "dim",
    "held": "green",
    "not checked": "yellow",
}
LINE_STYLES = {
    "verdict": "bold",
    "warning": "yellow",
    "expectation": "dim",
    "measurement": "dim",
    "cost": "dim",
    "ruled out": "dim",
    "place": "dim",
}

MOST_LISTINGS = 6
"""That a screen shows; more are in the other formats."""

_GAP = 2
_DIVIDER = 3
_LEAST_TEXT, _LONG_WORD = 12, 24
"""Characters that a column of text keeps when it is folded, and of a word that is broken only where it is longer."""


class _Page(NamedTuple):
    """What is drawn on. Sentences are broken at `width` where people read them on a screen; in a pipe or a file each
    stays one line, to be searched."""

    console: Console
    width: int
    breaks: bool

    def say(self, text: str, style: str = "", indent: int = 0) -> None:
        line = Text(escape_line(text), style=style)
        if self.breaks:
            self.console.print(Padding(line, (0, 0, 0, indent)))
        else:
            self.console.print(Text(" " * indent) + line, soft_wrap=True)


def render(value: Value, out: TextIO, *, width: int | None = None) -> None:
    """Draw to `out`. `width` is that of the terminal unless it is given; without a terminal tables are COLUMNS wide,
    80 where that is not set, and sentences are not broken."""
    kind = kinds.of(value)
    screen = Console(file=out, highlight=False, markup=False, emoji=False)
    drawn = io.StringIO()
    console = Console(
        file=drawn,
        width=width or screen.width,
        height=screen.height,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        force_terminal=screen.is_terminal,
        no_color=screen.no_color,
    )
    page = _Page(console, width or screen.width, width is not None or screen.is_terminal)
    page.say(kind.title(value), "bold")
    for passage in kinds.passages(value):
        console.print()
        _print_passage(page, passage)
    for sheet in kind.sheets(value):
        console.print()
        _print_sheet(page, sheet)
    console.print()
    if folded := kinds.folded_calls(value):
        page.say(f"{folded:,} calls folded to one line a turn; --csv lists every call")
    for line in kind.lines(value):
        label = "warning: " if line.kind == "warning" else ""
        page.say(label + line.text, LINE_STYLES.get(line.kind, ""))
    _print_listings(page, kinds.listings(value))
    # Rich leaves trailing blanks, and an old terminal may not know every sign.
    text = guarded("\n".join(drawn_line.rstrip() for drawn_line in drawn.getvalue().splitlines()) + "\n")
    encoding = getattr(out, "encoding", None) or "utf-8"
    out.write(text.encode(encoding, "replace").decode(encoding))


def _print_passage(page: _Page, passage: Passage) -> None:
    page.say(passage.heading, "bold")
    for line in passage.lines:
        page.say(line.text, LINE_STYLES.get(line.kind, ""), indent=2)


def _print_listings(page: _Page, listings: list[Listing]) -> None:
    """Never broken, so that they can be copied."""
    if len(listings) > MOST_LISTINGS:
        page.say(f"{len(listings)} configurations to copy: --markdown, --html and --json have them")
        return
    for listing in listings:
        page.console.print()
        page.say(listing.title, "bold")
        for line in listing.text.splitlines():
            page.console.print(Text("  " + escape_line(line)), soft_wrap=True)
        if listing.note:
            page.say(listing.note, "dim")


def _print_sheet(page: _Page, sheet: Sheet) -> None:
    if sheet.title:
        page.say(sheet.title, "bold")
    shown = _fitting(sheet, page.width)
    spare = page.width - _total(_least(sheet, column) + _beside(column) for column in shown)
    if spare < 0:
        _print_stacked(page, sheet, shown)
    else:
        page.console.print(_drawn(sheet, shown, spare))
    for note in sheet.notes:
        page.say(note, "yellow", indent=2)


def _print_stacked(page: _Page, sheet: Sheet, shown: list[Column]) -> None:
    """Each row as lines of its own, where the screen is too narrow for the figures beside each other."""
    for row in sheet.rows:
        for place, column in enumerate(shown):
            name, text = column.header.replace("\n", " "), column.text(row)
            if text:
                page.say(f"{name}: {text}", "dim" if column.predicted else "", indent=2 if place else 0)


def _drawn(sheet: Sheet, shown: list[Column], spare: int) -> Table:
    """`spare` characters are left when every column has the least that it needs."""
    table = Table(box=_RULED, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    divided = False
    for column in shown:
        if column.predicted and not divided:
            divided = True
            table.add_column("│\n│", width=1, style="dim", header_style="dim")
        least = _least(sheet, column)
        more = min(spare, _cells(sheet, column) - least)
        spare -= more
        table.add_column(
            column.header,
            justify="right" if column.show else "left",
            vertical="bottom",
            overflow="fold",
            width=least + more,
            style="dim" if column.predicted else "",
        )
    for row in sheet.rows:
        cells: list[Text] = []
        for column in shown:
            if column.predicted and len(cells) == shown.index(column):
                cells.append(Text("│"))
            text = escape_line(column.text(row))
            style = "dim" if column.is_estimate(row) else STATE_STYLES.get(text, "")
            cells.append(Text(text, style=style))
        table.add_row(*cells)
    return table


_RULED = box.Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
"""A rule below the header and nothing else."""


def _fitting(sheet: Sheet, width: int) -> list[Column]:
    """All columns, or as many as fit."""
    shown = list(sheet.columns)
    while _total(_width(sheet, column) for column in shown) > width:
        last = max(column.drop_order for column in shown)
        if last == 0:
            break
        shown = [column for column in shown if column.drop_order != last]
    return shown


def _total(widths: Iterable[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP


def _width(sheet: Sheet, column: Column) -> int:
    return _cells(sheet, column) + _beside(column)


def _beside(column: Column) -> int:
    return _DIVIDER if column.predicted else 0


def _least(sheet: Sheet, column: Column) -> int:
    """Headers are folded between words, and text is; a figure with digits cut off is another figure."""
    words = [*map(len, column.header.split())]
    if column.show is not None:
        return max([*words, *_texts(sheet, column)])
    words += (len(word) for row in sheet.rows for word in escape_line(column.text(row)).split())
    return min(_cells(sheet, column), max(_LEAST_TEXT, min(max(words), _LONG_WORD)))


def _cells(sheet: Sheet, column: Column) -> int:
    return max([*map(len, column.header.split("\n")), *_texts(sheet, column)])


def _texts(sheet: Sheet, column: Column) -> Iterator[int]:
    return (len(escape_line(column.text(row))) for row in sheet.rows)
