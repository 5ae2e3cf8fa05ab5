"""What the commands that find faults write beside their table: files, and annotations that a runner reads."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_file(file: str, write: Callable[[Any], None]) -> None:
    with Path(file).open("w", encoding="utf-8") as out:
        write(out)
    print(f"written: {file}", file=sys.stderr)


def show_guarded(value: Any, output: str | None, github: bool) -> None:
    """To standard output; under a runner without a line that it takes for a command."""
    from hitrate.report.formats import render

    if not github:
        render(value, output or "table", sys.stdout)
        return
    from hitrate.report.github import guarded

    drawn = io.StringIO()
    render(value, output or "table", drawn)
    sys.stdout.write(guarded(drawn.getvalue()))
