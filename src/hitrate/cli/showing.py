"""Results on standard output and as pages. Light: commands that only read a log import nothing that makes calls."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hitrate.errors import UsageError


def show(value: Any, output: str | None, html_file: str | None) -> None:
    """Write the value to standard output in the wanted format, and a page where one was asked for."""
    from hitrate.report.formats import render

    if html_file is not None:
        with Path(html_file).open("w", encoding="utf-8") as page:
            render(value, "html", page)
        print(f"page written to {html_file}", file=sys.stderr)
    render(value, output or "table", sys.stdout)


def check_writable(file: str | None) -> None:
    """Fail before the run, not after it, when the page cannot be written."""
    if file is None:
        return
    try:
        with Path(file).open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
