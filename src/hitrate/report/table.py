"""Tables for a terminal, drawn with rich; plain text when the output is no terminal or NO_COLOR is set."""

from __future__ import annotations

import io
from typing import TextIO

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hitrate.report import kinds
from hitrate.report.columns import Column, Sheet
from hitrate.report.escape import escape_line
from hitrate.report.kinds import Value
from hitrate.report.words import Passage

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

_GAP = 2


def render(value: Value, out: TextIO, *, width: int | None = None) -> None:
    """Draw to `out`. `width` is that of the terminal unless it is given; without a terminal 80."""
    kind = kinds.of(value)
    screen = Console(file=out, highlight=False, markup=False, emoji=False)
    width = width or screen.width
    drawn = io.StringIO()
    console = Console(
        file=drawn,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        force_terminal=screen.is_terminal,
        no_color=screen.no_color,
    )
    console.print(Text(escape_line(kind.title(value)), style="bold"))
    for passage in kinds.passages(value):
        console.print()
        _print_passage(console, passage)
    for sheet in kind.sheets(value):
        console.print()
        _print_sheet(console, sheet, width)
    console.print()
    if folded := kinds.folded_calls(value):
        console.print(Text(f"{folded:,} calls folded to one line a turn; --csv lists every call"))
    for line in kind.lines(value):
        label = "warning: " if line.kind == "warning" else ""
        console.print(Text(label + escape_line(line.text), style=LINE_STYLES.get(line.kind, "")))
    # Rich leaves trailing blanks, and an old terminal may not know every sign.
    text = "\n".join(drawn_line.rstrip() for drawn_line in drawn.getvalue().splitlines()) + "\n"
    encoding = getattr(out, "encoding", None) or "utf-8"
    out.write(text.encode(encoding, "replace").decode(encoding))


def _print_passage(console: Console, passage: Passage) -> None:
    console.print(Text(escape_line(passage.heading), style="bold"))
    for line in passage.lines:
        text = Text(escape_line(line.text), style=LINE_STYLES.get(line.kind, ""))
        console.print(Padding(text, (0, 0, 0, 2)))


def _print_sheet(console: Console, sheet: Sheet, width: int) -> None:
    if sheet.title:
        console.print(Text(escape_line(sheet.title), style="bold"))
    console.print(_drawn(sheet, _fitting(sheet, width)))
    for note in sheet.notes:
        console.print(Text(f"  {escape_line(note)}", style="yellow"))


def _drawn(sheet: Sheet, shown: list[Column]) -> Table:
    table = Table(box=_RULED, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    divided = False
    for column in shown:
        if column.predicted and not divided:
            divided = True
            table.add_column("│\n│", width=1, style="dim", header_style="dim")
        table.add_column(
            column.header,
            justify="right" if column.show else "left",
            vertical="bottom",
            overflow="fold",
            min_width=min(_header_width(column), 12),
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
    while sum(_width(sheet, column) for column in shown) + _GAP * (len(shown) - 1) > width:
        last = max(column.drop_order for column in shown)
        if last == 0:
            break
        shown = [column for column in shown if column.drop_order != last]
    return shown


def _width(sheet: Sheet, column: Column) -> int:
    cells = (len(escape_line(column.text(row))) for row in sheet.rows)
    return max([_header_width(column), *cells]) + (3 if column.predicted else 0)


def _header_width(column: Column) -> int:
    return max(len(line) for line in column.header.split("\n"))
