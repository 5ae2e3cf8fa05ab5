"""How loud a finding is where a format knows three levels: by whose doing it is, and how sure."""

from __future__ import annotations

from typing import Literal

from hitrate.core.findings import Finding

Level = Literal["error", "warning", "note"]

_LEVELS: dict[tuple[str, str], Level] = {
    ("yours to change", "certain"): "error",
    ("yours to change", "likely"): "warning",
    ("provider suspected", "certain"): "warning",
    ("provider suspected", "likely"): "warning",
}


def level(finding: Finding) -> Level:
    """What may be no fault at all, or nobody's here to mend, is a note."""
    return _LEVELS.get((finding.voice, finding.confidence), "note")
