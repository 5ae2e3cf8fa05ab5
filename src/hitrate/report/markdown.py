"""Markdown (GitHub flavour), to be pasted into an issue or a pull request."""

from __future__ import annotations

import io
from typing import TextIO

from hitrate.report import kinds
from hitrate.report.columns import Column, Sheet
from hitrate.report.escape import escape_line, escape_markdown, guarded
from hitrate.report.kinds import Value
from hitrate.report.words import Listing


def render(value: Value, out: TextIO) -> None:
    """A heading, passages, one table a sheet, and the sentences as a list. Predicted figures are in italics."""
    written = io.StringIO()
    _write(value, written)
    out.write(guarded(written.getvalue()))


def _write(value: Value, out: TextIO) -> None:
    kind = kinds.of(value)
    out.write(f"### {escape_markdown(kind.title(value))}\n")
    for passage in kinds.passages(value):
        out.write(f"\n#### {escape_markdown(passage.heading)}\n")
        if passage.lines:
            out.write("\n" + "".join(f"- {escape_markdown(line.text)}\n" for line in passage.lines))
    for sheet in kind.sheets(value):
        out.write("\n")
        _write_sheet(sheet, out)
    out.write("\n")
    if folded := kinds.folded_calls(value):
        out.write(f"- {folded:,} calls folded to one line a turn; `--csv` lists every call\n")
    for line in kind.lines(value):
        label = "**Warning:** " if line.kind == "warning" else ""
        out.write(f"- {label}{escape_markdown(line.text)}\n")
    for listing in kinds.listings(value):
        _write_listing(listing, out)


def _write_listing(listing: Listing, out: TextIO) -> None:
    lines = "".join(f"{escape_line(line).replace('```', '` ` `')}\n" for line in listing.text.splitlines())
    out.write(f"\n#### {escape_markdown(listing.title)}\n\n```{listing.language}\n{lines}```\n")
    if listing.note:
        out.write(f"\n{escape_markdown(listing.note)}\n")


def _write_sheet(sheet: Sheet, out: TextIO) -> None:
    if sheet.title:
        out.write(f"**{escape_markdown(sheet.title)}**\n\n")
    out.write(_line([escape_markdown(column.header.replace("\n", " ")) for column in sheet.columns]))
    out.write(_line(["---:" if column.show else ":---" for column in sheet.columns]))
    for row in sheet.rows:
        out.write(_line([_cell(column, row) for column in sheet.columns]))
    if sheet.notes:
        out.write("\n" + "".join(f"- {escape_markdown(note)}\n" for note in sheet.notes))


def _cell(column: Column, row: object) -> str:
    text = escape_markdown(column.text(row))
    return f"*{text}*" if column.predicted or column.is_estimate(row) else text


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"
