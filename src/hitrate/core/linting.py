"""What `lint` found in request bodies before they were sent.

Field order is the order in the JSON output; unknown is None. `request` and `against` number the requests in the order
they were read, from 0.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hitrate.core.results import SCHEMA_VERSION

Severity = Literal["error", "warning", "note"]
"""The request is refused or a loss is sure; a loss is likely; worth a look."""


class LintFinding(Struct, frozen=True, kw_only=True):
    """One fault at one place. `offset` counts code points inside the string at `pointer`, a JSON pointer into the body;
    `line` counts lines of `file` from 1, where the file is one request."""

    severity: Severity
    cause: str
    """Name of the check: where a cause of `explain` says the same after the fact, its name."""
    file: str
    line: int | None
    request: int
    against: int | None
    """The earlier request it differs from; None for what one request shows by itself."""
    pointer: str | None
    offset: int | None
    excerpt: str
    """The text at the place, what cannot be seen as escapes; where two requests differ, both sides."""
    summary: str
    advice: str
    requests: int = 1
    """How many of the requests show it."""


class LintReport(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    kind: str = "lint"
    files: tuple[str, ...]
    requests: int
    strict: bool
    """Whether notes count against the request, too."""
    passed: bool
    """Nothing above a note was found, and with `strict` nothing at all."""
    findings: tuple[LintFinding, ...]
    """The most severe first, then in the order of the requests."""
    notes: tuple[str, ...] = ()
    """What could not be read or told."""
