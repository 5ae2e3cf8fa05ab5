"""An engine that cannot go back inside a sequence: sliding-window, hybrid and recurrent models."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.server import first_line, has_slots
from hitrate.explain.signs import lost_in_conversation, warm_by_time

_SAYS_SO = lazy_pattern(
    r"full (?:prompt )?re-?process|lack of cache data|cannot (?:rewind|trim|be trimmed|shift)|not trimmable|"
    r"n_past\s*=\s*0.*(?:swa|recurrent)|unable to (?:reuse|restore)|checkpoint.*(?:invalid|erased|not found)",
    re.IGNORECASE,
)
_SUCH_A_MODEL = lazy_pattern(r"\bswa\b|n_swa|sliding.?window|recurrent|hybrid|mamba|\bssm\b|rotating", re.IGNORECASE)


class CannotRewind:
    name: ClassVar[str] = "cannot-rewind"
    verdict: ClassVar[Verdict] = "engine"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "The model's state (sliding window, hybrid, recurrent) cannot be cut back, so all is read from the start."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/ml-explore/mlx-lm/issues/980",
        "https://github.com/ggml-org/llama.cpp/issues/14157",
        "https://github.com/ggml-org/llama.cpp/issues/22746",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        facts = evidence.facts
        if lost_in_conversation(evidence) is None or warm_by_time(evidence):
            return None
        line = first_line(facts.server, _SAYS_SO)
        model = _SUCH_A_MODEL.search(" ".join(str(value) for value in facts.server.values()))
        went_back = evidence.pair.relation in ("branch", "rewind")
        if line is None and not (model and went_back):
            return None
        how = (
            f'the engine\'s own log says "{line}"'
            if line
            else f"the engine runs such a model ({model[0] if model else ''})"
        )
        back = "The prompt goes back to an earlier point, and " if went_back else ""
        return Recognised(
            confidence="certain" if line else "likely",
            summary=f"{back}{how[0].upper() + how[1:] if not back else how}: {evidence.reusable_tokens or 0:,} tokens "
            "are the same as before, but this model's state cannot be cut back to where the prompts part.",
            advice=_advice(has_slots(facts)),
            ruled_out=ruled_out(evidence),
        )


def _advice(slots: bool) -> str:
    if slots:
        return (
            "Start llama-server with --swa-full (more memory) or more checkpoints (--ctx-checkpoints, a smaller "
            "--checkpoint-min-step); else avoid editing and regenerating earlier turns on this model."
        )
    return "Keep the history append-only on this model, or use one with full attention where turns are edited."
