"""What is known of a cause beside a finding of it: the sentence in the list of causes, and where it was reported."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hitrate.core.findings import Oddity
    from hitrate.explain.causes.interface import Cause
    from hitrate.explain.ledger.causes import LedgerCause


@cache
def causes() -> dict[str, Cause | LedgerCause | Oddity]:
    """Every cause by its name. Imported when it is asked for: a table does not need it."""
    from hitrate.explain.causes.beside_the_text import OTHER_CAUSES
    from hitrate.explain.causes.text_breaks import TEXT_CAUSES
    from hitrate.explain.ledger.causes import LEDGER_CAUSES
    from hitrate.explain.oddities.pricing import PRICING_ODDITIES
    from hitrate.explain.oddities.reporting import REPORTING_ODDITIES

    known: list[Cause | LedgerCause | Oddity] = [
        *TEXT_CAUSES,
        *OTHER_CAUSES,
        *LEDGER_CAUSES,
        *REPORTING_ODDITIES,
        *PRICING_ODDITIES,
    ]
    return {cause.name: cause for cause in known}


def about(name: str) -> str | None:
    """One sentence that holds for every finding of this cause; None for a cause that is in no list."""
    known = causes().get(name)
    return None if known is None else known.about
