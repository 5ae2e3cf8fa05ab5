"""Does the knob that should keep a session on one replica do so? Some are accepted and ignored.

A prompt is written and read under one key, with a fresh prompt and key each time: a knob that works finds all of them,
one without effect only those that met the same replica by chance.
"""

from __future__ import annotations

from functools import partial
from math import comb

from hitrate.core.probe_results import Answer
from hitrate.live.asker import knob_in_words
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import SIZE_TOKENS, Lab
from hitrate.targets.presets import Knob

MOST_TRIALS, LEAST_TRIALS = 8, 4
MOST_MISSES = 2
"""A knob that works may miss once in a while (a replica restarts); twice in so few trials is no accident."""
WORKS_BELOW = 0.01
MOST_CALLS = 48
KNOWN_KNOBS = (
    Knob("body", "prompt_cache_key"),
    Knob("body", "user"),
    Knob("header", "x-session-affinity"),
    Knob("header", "x-session-id"),
)
"""Tried where the target's own are not known: the spellings that most vendors and routers take."""


class Affinity:
    name = "affinity"
    question = "Does the session's key keep its calls on one replica?"

    def most(self, waits_s: float) -> Most:
        return Most(calls=MOST_CALLS, tokens_each=SIZE_TOKENS)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        knobs = lab.target.affinity or KNOWN_KNOBS
        replicas = lab.found.replicas
        if replicas is not None and replicas.high == 1:
            text = "One replica was seen, so that a key has nothing to do."
            return [Answer(probe="affinity", status="not applicable", text=text)]
        answers, works = [], None
        enough_at = lab.calls + MOST_CALLS - 2 * MOST_TRIALS
        for knob in knobs:
            if lab.calls > enough_at:
                break
            spelled = knob.name if knob.place == "body" else f"{knob.name}:"
            answer = await _try(lab, knob, spelled, 1 if replicas is None else replicas.low)
            answers.append(answer)
            if works is None and answer.choice == "works":
                works = spelled
                lab.found.affinity, lab.found.chance = spelled, 1.0
            if works is not None and not lab.target.affinity:
                break
        if works is None:
            lab.found.affinity = "none"
        return answers


async def _try(lab: Lab, knob: Knob, spelled: str, least_replicas: float) -> Answer:
    name = knob_in_words(knob)
    by_chance = 1 / max(2.0, least_replicas)
    hits = misses = 0
    while hits + misses < MOST_TRIALS and misses < MOST_MISSES:
        if misses == 0 and hits >= LEAST_TRIALS and by_chance**hits < WORKS_BELOW:
            break
        sent = await lab.write(lab.material.prompt(lab.found.size), affinity=spelled, subject=name)
        await lab.settle()
        _, found = await lab.read(sent, affinity=spelled, subject=name)
        hits += found is True
        misses += found is False
    trials = hits + misses
    p_value = _at_least(hits, trials, by_chance)
    of = f"{hits} of {trials} prompts were found under their own key"
    answer = partial(Answer, probe="affinity", subject=name, basis=lab.found.eye.basis, p_value=p_value)
    if trials and misses < MOST_MISSES and p_value < WORKS_BELOW:
        text = f"{name} works: {of}; without effect that would happen with p = {p_value:.2g}."
        return answer(status="answered", choice="works", text=text)
    if misses >= MOST_MISSES and p_value < WORKS_BELOW:
        text = f"{name} works in part: {of}, more than chance (p = {p_value:.2g}) and fewer than all."
        return answer(status="answered", choice="works in part", text=text)
    if misses >= MOST_MISSES:
        text = f"{name} has no effect: only {of}, no more than without it (p = {p_value:.2g})."
        return answer(status="answered", choice="no effect", text=text)
    text = f"{name}: {of}, which chance explains, too (p = {p_value:.2g})."
    advice = "run it again: few replicas need many trials"
    return answer(status="could not tell", text=text, advice=advice)


def _at_least(hits: int, trials: int, chance: float) -> float:
    """P(so many hits or more) by chance alone."""
    return sum(comb(trials, n) * chance**n * (1 - chance) ** (trials - n) for n in range(hits, trials + 1))


PROBE = Affinity()
