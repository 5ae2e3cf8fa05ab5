"""A finished exchange made into the parts of a `Call`: reading, timing, and the error on one line."""

from __future__ import annotations

from hitrate.core.model import Timing
from hitrate.live.response import Response
from hitrate.targets import answers
from hitrate.targets.answers import Outcome, one_line
from hitrate.targets.dialects.interface import Dialect

__all__ = ["Outcome", "one_line", "read_outcome", "refusal_text", "timing_of"]


def read_outcome(response: Response, dialect: Dialect) -> Outcome:
    """What the exchange brought, whatever its state. What came before a fault is kept.

    Servers are asked not to compress. One that does all the same is read, and shows in the kept header
    `content-encoding`: its times include the compressor's wish to fill a block.
    """
    body, reads = answers.joined(response.slices)
    return answers.read_answer(response.status, response.headers, body, reads, response.fault, dialect)


def timing_of(response: Response, outcome: Outcome, *, origin_ns: int, origin_unix: float) -> Timing | None:
    """None when nothing was written. `origin_ns` and `origin_unix` are the run's start on both clocks."""
    written_ns = response.written_ns
    if not written_ns:
        return None

    def seconds(stamp_ns: int | None) -> float | None:
        return None if stamp_ns is None else (stamp_ns - written_ns) / 1e9

    first_ns, first_read_tokens = outcome.first_token() or (None, 0)
    sent_at_s = (written_ns - origin_ns) / 1e9
    return Timing(
        at=origin_unix + sent_at_s,
        sent_at_s=sent_at_s,
        headers_s=seconds(response.headers_ns),
        ttft_s=seconds(first_ns),
        first_content_s=seconds(outcome.first_content_ns()),
        total_s=seconds(response.last_ns) if response.complete else None,
        first_read_tokens=first_read_tokens,
    )


def refusal_text(response: Response, body: bytes) -> str:
    """What a reply with an error status says, without the status itself where there is a message."""
    return answers.refusal_text(response.status or 0, response.headers, body)
