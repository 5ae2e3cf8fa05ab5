"""How many replicas, each with a cache of its own, stand behind the address?

One prompt goes out again and again without a session's key: it misses where a replica sees it for the first time.
"""

from __future__ import annotations

import math

from hitrate.core.probe_results import Answer
from hitrate.core.results import Interval
from hitrate.explain.probing.occupancy import Occupancy, replicas_behind
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import SIZE_TOKENS, CannotTell, Lab

MOST_SENDS = 24
STOP_AT = 8
"""If so many sends reached one replica, there is hardly a second one: of two, 1 run in 128 looks like that."""

GIVE_UP_AT = 10
"""If so many sends without a key all missed, and calls with a key were all found, nothing is reused without one."""


class Replicas:
    name = "replicas"
    question = "How many replicas with caches of their own are behind the address?"

    def most(self, waits_s: float) -> Most:
        return Most(calls=MOST_SENDS, tokens_each=SIZE_TOKENS)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        missed = await _sends(lab)
        seen = replicas_behind(missed, stop_at=STOP_AT, most_sends=MOST_SENDS)
        if seen.interval is None:
            raise CannotTell(
                f"none of {seen.sends} sends without a session's key found what an earlier one had left: there are "
                "more replicas than that, or nothing is reused without a key",
                "see 'affinity' for what a key changes",
            )
        lab.found.replicas = seen.interval
        lab.found.chance = 1.0 / seen.interval.estimate
        return [_answer(lab, seen, seen.interval)]


async def _sends(lab: Lab) -> list[bool]:
    """Per send whether it missed. What a call that failed may have left is not known: it counts as neither."""
    sent = await lab.write(lab.material.prompt(lab.found.size), affinity="none")
    if sent.look is None:
        raise CannotTell("its first call was not answered", "run it again")
    missed = [True]
    while len(missed) < MOST_SENDS and not (len(missed) == STOP_AT and sum(missed) == 1):
        if len(missed) == GIVE_UP_AT and all(missed) and _always_found_with_a_key(lab):
            break
        if missed[-1]:
            await lab.settle()
        _, found = await lab.read(sent, affinity="none")
        if found is not None:
            missed.append(not found)
    return missed


def _always_found_with_a_key(lab: Lab) -> bool:
    """The first reads go out with the target's own knob."""
    return bool(lab.target.affinity) and all(found for _, found in lab.found.delay_tries)


def _answer(lab: Lab, seen: Occupancy, interval: Interval) -> Answer:
    missed = f"{seen.distinct} of {seen.sends} sends of one prompt missed"
    if interval.high == 1:
        text = (
            f"One: {missed}, the first. Several that share a store or a router that knows where a prefix is look alike."
        )
    elif seen.in_turn:
        text = f"{seen.distinct}, used in turn: the first {seen.distinct} sends of one prompt missed, then none."
    elif interval.high == interval.low:
        text = f"{interval.low:.0f}, if chosen at random: {missed}."
    else:
        high = "any number" if math.isinf(interval.high) else f"{interval.high:.0f}"
        text = f"About {interval.estimate:.0f} (95 %: {interval.low:.0f} to {high}), if chosen at random: {missed}."
    return Answer(
        probe="replicas",
        status="answered",
        text=text,
        value=interval.estimate,
        unit="replicas",
        low=interval.low,
        high=None if math.isinf(interval.high) else interval.high,
        bounds="interval",
        basis=lab.found.eye.basis,
    )


PROBE = Replicas()
