"""The one door to all output formats; each is imported only when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from hitrate.errors import UsageError

if TYPE_CHECKING:
    from hitrate.report.kinds import Value

FORMATS = ("table", "json", "csv", "markdown", "html")


def render(value: Value, format: str, out: TextIO, **options: Any) -> None:
    """Write `value` to `out`. Options: `width` for "table"; `title`, `intro` and `sections` for "html".

    Raises UsageError for an unknown format, and for a list of runs, models or targets as HTML.
    """
    if format not in FORMATS:
        raise UsageError(f"no output format {format!r}: one of {', '.join(FORMATS)}")
    module = import_module(f"hitrate.report.{format}")
    if format == "html":
        module.render([value], out, **options)
    else:
        module.render(value, out, **options)
