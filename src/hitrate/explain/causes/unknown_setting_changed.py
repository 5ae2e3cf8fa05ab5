"""A member that is not known to bear on the cache was changed in the very request that lost it."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.key_settings import NAMED, changes, key_change
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import served_nothing, steps, was_hit


class UnknownSettingChanged:
    name: ClassVar[str] = "unknown-setting-changed"
    verdict: ClassVar[Verdict] = "key_change"
    voice: ClassVar[Voice] = "observation"
    about: ClassVar[str] = "A setting of unknown effect was changed in the request that was not served."
    reports: ClassVar[tuple[str, ...]] = ()

    def recognise(self, evidence: Evidence) -> Recognised | None:
        if evidence.call.usage.cached_tokens is None or not served_nothing(evidence.call):
            return None
        found = [
            one for one in key_change(evidence, None, NAMED, among_others=True) if not _harmless(evidence, one.pointer)
        ]
        if not found:
            return None
        first = found[0]
        return Recognised(
            confidence="possible",
            summary=f"Nothing was served in the request in which {first} changed; whether this setting is part of the "
            "cache key is not known.",
            advice="Send the conversation once more with the setting left as it was: if it is served then, the setting "
            "is part of the key.",
            ruled_out=ruled_out(evidence),
            pointer=first.pointer,
            was=first.was,
            now=first.now,
        )


def _harmless(evidence: Evidence, pointer: str) -> bool:
    """Whether another call of the conversation was served although this setting had changed."""
    return any(
        was_hit(before, call, evidence.facts)
        and any(one.pointer == pointer for one in changes((*before.key, *before.others), (*call.key, *call.others)))
        for before, call in steps(evidence)
    )
