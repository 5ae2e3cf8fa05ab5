"""CSV: one row a record (a call, a finding, a point) with raw figures; an unknown figure is an empty cell.

Keys are those of the JSON output.
"""

from __future__ import annotations

import csv
from decimal import Decimal
from typing import TextIO

from hitrate.report import kinds
from hitrate.report.escape import escape_csv
from hitrate.report.kinds import Value


def render(value: Value, out: TextIO) -> None:
    sheet = kinds.of(value).records(value)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.key for column in sheet.columns)
    for row in sheet.rows:
        writer.writerow(_cell(column.value(row)) for column in sheet.columns)


def _cell(value: object) -> object:
    if isinstance(value, float) and "e" in repr(value):
        return f"{Decimal(repr(value)):f}"
    return escape_csv(value) if isinstance(value, str) else value
