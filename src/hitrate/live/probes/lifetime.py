"""How long does an unused prefix stay? Read at growing ages, then narrowed, within the time that may be waited.

Every age has a prompt of its own, because reading one may renew it. A prompt that is gone may have been pushed out by
the others instead of having expired: a control that is left alone to the same age tells, or, where no time is left for
it, one that is followed by as many others at once.
"""

from __future__ import annotations

from hitrate.core.probe_results import Answer
from hitrate.explain.probing.brackets import Bracket, between, lifetime_bracket
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import SIZE_TOKENS, SURE_CHANCE, CannotTell, Lab, Sent

FIRST_SHARES = (1 / 128, 1 / 32, 1 / 8, 1 / 2)
"""Of the time that may be waited. The rest of it is for narrowing down, or for one last look."""
PARTS = 4
MOST_ROUNDS = 4
CLOSE_RATIO = 1.1
LEAST_TIME_S = 1.0

Tries = list[tuple[float, bool]]


class Lifetime:
    name = "lifetime"
    question = "How long does an unused prefix stay?"

    def most(self, waits_s: float) -> Most:
        calls = 2 * (len(FIRST_SHARES) + 1) + 2 * (PARTS - 1) * MOST_ROUNDS + len(FIRST_SHARES) + 2
        return Most(calls=calls, tokens_each=SIZE_TOKENS, waits_s=waits_s)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        time_s = lab.waits_left_s
        if time_s < LEAST_TIME_S:
            raise CannotTell("no time is left to wait in", "give more with --time")
        if lab.found.chance < SURE_CHANCE:
            raise lab.too_many_replicas()
        ages = [share * time_s for share in FIRST_SHARES] + [0.98 * time_s]
        tries = await _round(lab, [age for age in ages if age > lab.found.settle_s] or [time_s / 2])
        for _ in range(MOST_ROUNDS):
            bracket = lifetime_bracket(tries)
            if bracket is None or bracket.high is None or not bracket.low or bracket.high > lab.waits_left_s:
                break
            if bracket.high <= CLOSE_RATIO * bracket.low:
                break
            tries += await _round(lab, between(bracket.low, bracket.high, PARTS))
        return [await _answer(lab, tries)]


async def _round(lab: Lab, ages: list[float]) -> Tries:
    """Write one prompt for each age, and read them as they reach it, until one is gone. The youngest is written last,
    so that it is not too old already when the others are."""
    oldest_first = sorted(ages, reverse=True)
    written = [(age, await lab.write(lab.material.prompt(lab.found.size))) for age in oldest_first]
    tries: Tries = []
    for age, sent in reversed(written):
        if sent.look is None:
            continue
        await lab.wait(sent.look.first_token_at_s + age - lab.now_s)
        look, found = await lab.read(sent)
        if look is None or found is None:
            continue
        tries.append((look.sent_at_s - sent.look.first_token_at_s, found))
        if not found:
            break
    return tries


async def _answer(lab: Lab, tries: Tries) -> Answer:
    bracket = lifetime_bracket(tries)
    if bracket is None:
        raise CannotTell("older prefixes were found where younger ones were gone", "other traffic may push them out")
    if not tries:
        raise CannotTell("no prefix was read at any age", "run it again")
    if bracket.high is None:
        text = f"At least {_seconds(bracket.low)}: still there at the oldest age that was tried."
        advice = "give more --time to look further"
        return _made(lab, text, bracket, advice)
    if await _is_pushed_out(lab, bracket.low or 0.0, bracket.high):
        raise CannotTell(
            "prefixes that are left alone stay longer than that: the other prompts of this probe push them out",
            "raise what the cache holds (slots, capacity)",
        )
    if not bracket.low:
        return _made(lab, f"Less than {_seconds(bracket.high)}.", bracket, None)
    text = f"Between {_seconds(bracket.low)} and {_seconds(bracket.high)} without use."
    wide = bracket.high > 2 * bracket.low
    return _made(lab, text, bracket, "give more --time to narrow it down" if wide else None)


async def _is_pushed_out(lab: Lab, low: float, high: float) -> bool:
    """Whether a prefix stays, to the age at which others were gone, that nothing is sent behind. Where no time is left
    for that: whether one is gone that as many others follow at once, at an age at which others were still there."""
    sent: Sent = await lab.write(lab.material.prompt(lab.found.size), role="control write")
    alone = high <= lab.waits_left_s
    if alone and sent.look is not None:
        await lab.wait(sent.look.first_token_at_s + high - lab.now_s)
    elif not alone:
        for _ in FIRST_SHARES:
            await lab.write(lab.material.prompt(lab.found.size), role="control write")
        await lab.settle()
    look, found = await lab.read(sent, role="control read")
    if look is None or sent.look is None or found is None:
        return False
    return found if alone else not found and look.sent_at_s - sent.look.first_token_at_s <= low


def _made(lab: Lab, text: str, bracket: Bracket, advice: str | None) -> Answer:
    return Answer(
        probe="lifetime",
        status="answered",
        text=text,
        value=bracket.low if bracket.high is None else bracket.high,
        unit="s",
        choice="at least" if bracket.high is None else None,
        low=bracket.low,
        high=bracket.high,
        bounds="bracket",
        basis=lab.found.eye.basis,
        advice=advice,
    )


def _seconds(seconds: float | None) -> str:
    return f"{seconds or 0:,.1f} s"


PROBE = Lifetime()
