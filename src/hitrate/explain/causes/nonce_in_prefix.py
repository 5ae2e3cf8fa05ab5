"""A hash, a trace or session id or another random value that is new in each request or process."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.shapes import labelled_id, random_kind
from hitrate.explain.causes.spot import spot_of
from hitrate.explain.causes.wording import place, quoted, repeats
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_HEADER_LINE = lazy_pattern(r"\s*(x-[a-z0-9-]+)\s*:\s*\S", re.IGNORECASE)
"""A line in the form of an HTTP header, as a client writes it into the prompt to attribute or bill the request."""

_COMMIT = lazy_pattern(r"\b(?:commit|HEAD|revision|rev|git)\b", re.IGNORECASE)


class NonceInPrefix:
    name: ClassVar[str] = "nonce-in-prefix"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "A hash, a trace, request or session id, or another random value stands in front of stable text."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/anthropics/claude-code/issues/68900",
        "https://github.com/vllm-project/vllm/issues/36829",
        "https://github.com/ollama/ollama/issues/14918",
        "https://github.com/sgl-project/sglang/issues/21064",
        "https://github.com/waybarrios/vllm-mlx/issues/277",
        "https://github.com/musistudio/claude-code-router/issues/1217",
        "https://github.com/bman654/clodex/issues/93",
        "https://github.com/EasyMetaAu/helm-api/issues/208",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        if divergence is None or spot is None:
            return None
        was, now = spot.tokens
        kind = random_kind(was)
        if kind == "hash" and _COMMIT.search(spot.label(was)[-40:]):
            return None  # the state of a repository, not a value made up for a request
        shaped = kind is not None and random_kind(now) is not None
        header = _HEADER_LINE.match(spot.lead) if shaped or "=" in spot.lead else None
        labelled = labelled_id(spot.label(was), was) and labelled_id(spot.label(now), now)
        if was == now or not (shaped or labelled or header):
            return None
        what = f"The {kind}" if shaped and kind in ("UUID", "ULID", "hash", "trace context") else "A value like an id"
        advice = (
            "Leave ids out of the prompt, or put them behind the history, into metadata or a header; what the model "
            "must know belongs into the newest message."
        )
        if header:
            what = f"A value of the line {quoted(header[1])} that a client wrote into the prompt"
            advice = (
                "Switch that line off in the client, or strip lines that begin with it at the gateway before the "
                "prompt is rendered."
            )
        confidence: Literal["certain", "likely", "possible"] = "likely" if shaped else "possible"
        if header or ((shaped or labelled) and (repeats(evidence) or kind in ("UUID", "ULID", "trace context"))):
            confidence = "certain"
        elif shaped and labelled:
            confidence = "certain" if spot.goes_on_alike(was, now) else "likely"
        return Recognised(
            confidence=confidence,
            summary=f"{what} changed in {place(divergence)} from {quoted(was)} to {quoted(now)}.",
            advice=advice,
            ruled_out=(*ruled_out(evidence), "a clock or a date: the value is no time"),
        )
