"""What pairing finds of a prompt, before it is a `Pair` of calls of the log."""

from __future__ import annotations

from typing import NamedTuple

from hitrate.explain.evidence import Relation
from hitrate.explain.pairs.prompt_shape import Kept


class Found(NamedTuple):
    """What a prompt was found to be. Calls are numbers of `KnownCalls`; a `conversation` of None is a new one."""

    relation: Relation
    against: int | None = None
    conversation: int | None = None
    shared: int = 0
    kept: Kept = Kept(0, 0.0, 0)
    near: int | None = None
    retry_of: int | None = None
    denied: int | None = None
    grown: bool = False
