"""The diff as sent: where two requests part in what an engine renders of them, and what kind of change it is."""

from hitrate.explain.diff.changes import CHANGES
from hitrate.explain.diff.compare import first_divergence, parted
from hitrate.explain.diff.describe import Parting, described
from hitrate.explain.diff.units import Request

__all__ = [
    "CHANGES",
    "Parting",
    "Request",
    "described",
    "first_divergence",
    "parted",
]
