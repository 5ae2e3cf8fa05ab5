"""Who else reads what one caller has stored? Another user, another isolation key, another API key.

One party writes a prompt, then both send it again, the other one first in every second trial: a hit of the other party
can only come from the first one's entry. What is tested, and against what, is in `explain.probing.sharing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from hitrate.core.probe_results import Answer
from hitrate.explain.probing.looks import Look
from hitrate.explain.probing.sharing import Sharing, by_counts, by_time
from hitrate.live.asker import knob_in_words
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import SIZE_TOKENS, Lab

TRIALS_BY_COUNT, TRIALS_BY_TIME = 4, 6
MOST_SCOPES = 3
ANOTHER_USER = "another user"

_USER_MEMBERS: Mapping[str, str] = {
    "openai-chat": "user",
    "openai-responses": "user",
    "anthropic-messages": "metadata",
}
"""Where a wire takes the end user of a call."""


class Scope(Struct, frozen=True, kw_only=True):
    """`own` and `other` are keywords of a call by either party."""

    name: str
    own: dict[str, Any] = {}
    other: dict[str, Any] = {}


class Reads(Struct, kw_only=True):
    others: list[Look] = []
    own: list[Look] = []
    writes: list[Look] = []


class SharingProbe:
    name = "sharing"
    question = "Who else reads what was stored?"

    def most(self, waits_s: float) -> Most:
        return Most(calls=3 * TRIALS_BY_TIME * MOST_SCOPES, tokens_each=SIZE_TOKENS)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        scopes = _scopes(lab)
        if not scopes:
            text = "This wire names no users and no isolation key; --other-key-variable gives a second API key to try."
            return [Answer(probe="sharing", status="not applicable", text=text)]
        return [await _ask(lab, scope) for scope in scopes]


def _scopes(lab: Lab) -> list[Scope]:
    scopes = []
    member = _USER_MEMBERS.get(lab.target.dialect)
    knob = lab.found.affinity or next((one.name for one in lab.target.affinity), None)
    if member is not None and member not in lab.target.not_accepted and member != knob:
        own, other = _user(lab, member), _user(lab, member)
        scopes.append(Scope(name=ANOTHER_USER, own={"extra": own}, other={"extra": other}))
    if lab.target.cold_knob is not None:
        name = f"another {knob_in_words(lab.target.cold_knob)}"
        own, other = ({"isolation": lab.material.session()} for _ in range(2))
        scopes.append(Scope(name=name, own=own, other=other))
    if lab.other_key is not None:
        scopes.append(Scope(name="another API key", other={"other_key": True}))
    return scopes


def _user(lab: Lab, member: str) -> dict[str, Any]:
    name = lab.material.session()
    return {member: name if member == "user" else {"user_id": name}}


async def _ask(lab: Lab, scope: Scope) -> Answer:
    reads = Reads()
    trials = TRIALS_BY_COUNT if lab.found.eye.basis == "counts" else TRIALS_BY_TIME
    for _ in range(trials):
        await _trial(lab, scope, reads)
    found = _judge(lab, reads)
    others = len(reads.others)
    answer = partial(Answer, probe="sharing", subject=scope.name, p_value=found.p_value, basis=found.basis)
    if found.verdict == "shared":
        text = f"Shared with {scope.name}: {others} of its reads look like hits (p = {found.p_value:.2g})."
        return answer(status="answered", choice="shared", text=text)
    if found.verdict == "apart":
        text = f"Not shared with {scope.name}: its {others} reads look unlike one's own (p = {found.p_value:.2g})."
        return answer(status="answered", choice="not shared", text=text)
    return answer(
        status="could not tell",
        text=f"Sharing with {scope.name}: neither shown nor ruled out by {others} reads (p = {found.p_value:.2g}).",
        advice="one replica, or a knob that works, makes reads comparable; run it again for more of them",
    )


async def _trial(lab: Lab, scope: Scope, reads: Reads) -> None:
    sent = await lab.write(lab.material.prompt(lab.found.size), subject=scope.name, **scope.own)
    if sent.look is None:
        return
    reads.writes += [sent.look] if sent.fresh else []
    await lab.settle()
    parties = [("other's read", scope.other, reads.others), ("own read", scope.own, reads.own)]
    for role, how, looks in parties if len(reads.writes) % 2 else reversed(parties):
        look, _ = await lab.read(sent, role=role, subject=scope.name, **how)
        looks += [] if look is None else [look]


def _judge(lab: Lab, reads: Reads) -> Sharing:
    if lab.found.eye.basis == "counts":
        # Every prompt of this run was new when it was first sent: all of them are controls.
        controls = [observation for observation in lab.observations if observation.role == "write"]
        seen = [_credited(one.cached_tokens, one.prompt_tokens) for one in controls if one.cached_tokens is not None]
        others, own = (
            [_credited(look.cached_tokens, look.prompt_tokens) for look in looks if look.cached_tokens is not None]
            for looks in (reads.others, reads.own)
        )
        return by_counts(others, own, seen)
    others_s, own_s, writes_s = (
        [look.ttft_s for look in looks if look.ttft_s is not None] for looks in (reads.others, reads.own, reads.writes)
    )
    return by_time(others_s, own_s, writes_s)


def _credited(cached: int | None, prompt: int | None) -> bool:
    return 2 * (cached or 0) >= (prompt or 1)


PROBE = SharingProbe()
