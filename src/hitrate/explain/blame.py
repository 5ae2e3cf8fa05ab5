"""What a call's loss is blamed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hitrate.explain.causes.interface import Cause
from hitrate.explain.evidence import Divergence, Evidence, Recognised
from hitrate.explain.rebuilt import as_far_as_shown, may_be_said


class Blame(NamedTuple):
    cause: Cause
    recognised: Recognised
    divergence: Divergence | None
    against: int | None
    further: FurtherBlame | None = None


class FurtherBlame(NamedTuple):
    """Another change behind the one that is blamed, and the tokens behind both."""

    blame: Blame
    tokens: int


def first_blame(causes: Sequence[Cause], evidence: Evidence) -> Blame | None:
    """By the first of the causes that recognises the call."""
    before = None if evidence.before is None else evidence.before.index
    for cause in may_be_said(causes, evidence.call, evidence.before):
        if (said := cause.recognise(evidence)) is not None:
            return Blame(cause, as_far_as_shown(said, cause.name, evidence.call), evidence.divergence, before)
    return None
