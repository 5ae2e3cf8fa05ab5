"""A cache salt or isolation key that changes inside a conversation, or from request to request."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.key_settings import SALT, Change, changes, key_change, switched
from hitrate.explain.evidence import Evidence, Recognised, Seen
from hitrate.explain.signs import lost_in_reach


class SaltChanged:
    name: ClassVar[str] = "cache-salt-changed"
    verdict: ClassVar[Verdict] = "key_change"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "A cache salt or isolation key differs from request to request, so each one has a cache of its own."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/vllm-project/vllm/issues/44701",
        "https://github.com/NVIDIA/TensorRT-LLM/pull/14333",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        found = key_change(evidence, SALT) or _new_each_time(evidence)
        if not found:
            return None
        return switched(
            evidence,
            found,
            "The cache salt",
            f"Use one value of {found[0].pointer.rsplit('/', 1)[-1]} per tenant or trust boundary, not one per "
            "request.",
        )


def _new_each_time(evidence: Evidence) -> list[Change]:
    """Single calls with one opening, no two of which have one salt; two of them may be two tenants."""
    before, call = evidence.before, evidence.call
    if before is None or evidence.pair.relation != "opening" or lost_in_reach(evidence) is None:
        return []
    salts = [_salts(one) for one in (*evidence.earlier, before, *evidence.between, call) if _salts(one)]
    if len(salts) < 3 or len(set(salts)) < len(salts):
        return []
    return changes(before.key, call.key, SALT)


def _salts(call: Seen) -> tuple[str, ...]:
    return tuple(setting.value for setting in call.key if setting.pointer.strip("/") in SALT)
