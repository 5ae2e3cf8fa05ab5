"""How long after its first token can a prompt be read? Narrowed between a read that missed and one that hit."""

from __future__ import annotations

from hitrate.core.probe_results import Answer
from hitrate.explain.probing.brackets import Bracket, between, delay_bracket
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import SIZE_TOKENS, CannotTell, Lab

ROUNDS, PARTS = 3, 4
AT_ONCE_S = 1.0


class WriteDelay:
    name = "write-delay"
    question = "How soon after its first token can a prompt be read?"

    def most(self, waits_s: float) -> Most:
        return Most(calls=ROUNDS * (PARTS + 1), tokens_each=SIZE_TOKENS)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        tries = list(lab.found.delay_tries)
        if lab.found.settle_s == 0:
            return [_at_once(lab, tries)]
        if lab.found.eye.basis == "time":
            raise CannotTell(
                f"a prompt is found {lab.found.settle_s:.0f} s after it was written and not at once; single times are "
                "too noisy to tell it closer"
            )
        if lab.trials != 1:
            raise lab.too_many_replicas()
        for _ in range(ROUNDS):
            bracket = delay_bracket(tries)
            if bracket is None or bracket.high is None or bracket.low is None:
                break
            tries += await _round(lab, bracket.low, bracket.high)
        return [_answer(lab, delay_bracket(tries))]


async def _round(lab: Lab, low: float, high: float) -> list[tuple[float, bool]]:
    """One prompt, read at ages between the two until it is found: reading does not write it sooner."""
    sent = await lab.write(lab.material.prompt(lab.found.size))
    if sent.look is None:
        return []
    tries = []
    for age in between(max(low, 0.001), high, PARTS):
        await lab.pause(sent.look.first_token_at_s + age - lab.now_s)
        look, found = await lab.read(sent)
        if look is None or found is None:
            continue
        tries.append((look.sent_at_s - sent.look.first_token_at_s, found))
        if found:
            break
    return tries


def _at_once(lab: Lab, tries: list[tuple[float, bool]]) -> Answer:
    soonest = min((age for age, found in tries if found), default=None)
    if soonest is not None and soonest > AT_ONCE_S:
        raise lab.too_many_replicas()
    text = "At once: a prompt sent again right after its reply was found"
    text += f", {1000 * soonest:,.0f} ms after the first token." if soonest is not None else "."
    return Answer(
        probe="write-delay",
        status="answered",
        text=text,
        value=0.0,
        unit="s",
        low=0.0,
        high=soonest,
        bounds="bracket",
        basis=lab.found.eye.basis,
    )


def _answer(lab: Lab, bracket: Bracket | None) -> Answer:
    if bracket is None:
        raise CannotTell(
            "early reads were found and later ones were not", "other replicas or other traffic: run it again"
        )
    if bracket.high is None or bracket.low is None:
        raise CannotTell("no read was found after the first ones missed", "run it again with a longer --time")
    lab.found.settle_s = 1.25 * bracket.high
    return Answer(
        probe="write-delay",
        status="answered",
        text=f"Not yet {bracket.low:.2f} s after its first token, found {bracket.high:.2f} s after it.",
        value=bracket.high,
        unit="s",
        low=bracket.low,
        high=bracket.high,
        bounds="bracket",
        basis=lab.found.eye.basis,
    )


PROBE = WriteDelay()
