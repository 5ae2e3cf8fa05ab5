"""The engine, or the request, has prefix caching switched off."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.evidence import Evidence, Recognised, Seen
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.server import arguments
from hitrate.explain.signs import WHOLE_TEXT, lost, served_nothing, warm_by_time, was_ever_served

_ARGUMENTS = lazy_pattern(
    r"--no-enable-prefix-caching|--disable-radix-cache|--no-cache-prompt|--disable-prefix-cach\w*|--no-prefix-cach\w*"
)
_REQUEST = lazy_pattern(r"/cache_prompt$")


class CachingSwitchedOff:
    name: ClassVar[str] = "caching-switched-off"
    verdict: ClassVar[Verdict] = "engine"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The engine was started, or the request was sent, with prefix caching switched off."
    reports: ClassVar[tuple[str, ...]] = ("https://github.com/vllm-project/vllm/issues/53749",)

    def recognise(self, evidence: Evidence) -> Recognised | None:
        if evidence.before is None or evidence.divergence is not None or evidence.pair.relation not in WHOLE_TEXT:
            return None
        if lost(evidence) is None or not served_nothing(evidence.call) or warm_by_time(evidence):
            return None
        asked = _refused_by(evidence.call)
        words = " ".join(arguments(evidence.facts.server))
        flag = _ARGUMENTS.search(words)
        if asked is None and (flag is None or was_ever_served(evidence)):
            return None
        what = (
            f"the request sets {asked} to false" if asked else f"the engine was started with {flag[0] if flag else ''}"
        )
        return Recognised(
            confidence="certain",
            summary=f"Nothing is reused because {what}.",
            advice="Leave it out: prefix caching is on by default.",
            ruled_out=ruled_out(evidence),
        )


def _refused_by(call: Seen) -> str | None:
    settings = (*call.key, *call.others)
    return next((one.pointer for one in settings if _REQUEST.search(one.pointer) and one.value == "false"), None)
