"""What a cause has to provide. One file a cause beside this one, with one test file."""

from __future__ import annotations

from typing import ClassVar, Protocol

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised


class Cause(Protocol):
    name: ClassVar[str]
    """Kebab case, as printed and as in the docs, e.g. "clock-in-prefix"."""
    verdict: ClassVar[Verdict]
    voice: ClassVar[Voice]
    about: ClassVar[str]
    """One sentence for the list of causes."""
    reports: ClassVar[tuple[str, ...]]
    """Public threads in which this was the cause."""

    def recognise(self, evidence: Evidence) -> Recognised | None:
        """What it says when it explains this call, else None. Pure; never raises on odd evidence."""
        ...
