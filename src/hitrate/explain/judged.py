"""What the explainer of a log is given, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct

from hitrate.core.findings import CallRate, Finding, SessionWaterfall, Waterfall
from hitrate.core.model import Call
from hitrate.core.money import Price
from hitrate.core.prompt import Sketch
from hitrate.explain.diff import Request
from hitrate.explain.evidence import Facts, Seen


class Sources(NamedTuple):
    """What the layers above give: the wire formats, the bodies, the rules and the prices.

    `sketch`, `request` and `texts` (of the parts of the sketch) raise ValueError for a body that cannot be read;
    `body` gives that of an earlier call.
    """

    sketch: Callable[[Call], Sketch]
    request: Callable[[bytes, str], Request]
    texts: Callable[[bytes, str], Sequence[str]]
    host: Callable[[Call], str | None]
    body: Callable[[int], bytes]
    facts: Callable[[Seen], Facts]
    price: Callable[[Call], Price | None]


class Judged(Struct, frozen=True, gc=False):
    """What the caller may want to know of a call that was added."""

    seen: Seen
    continues: bool
    """It goes on with an earlier conversation whose text is whole."""
    like: int | None = None
    """The earlier call whose prompt agrees longest with this one's."""


class Explained(NamedTuple):
    """What was found in a log; the findings the dearest first."""

    findings: tuple[Finding, ...]
    waterfall: Waterfall
    by_session: tuple[SessionWaterfall, ...]
    by_call: tuple[CallRate, ...]
    sessions: int  # those without token counts included
