"""In which step are tokens credited? Identical prompts of several lengths twice, then lengths chosen to be sure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hitrate.core.probe_results import Answer
from hitrate.explain.probing.steps import Step, fit_step, fit_step_of_longer, fit_timed_step
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import SIZE_TOKENS, SURE_CHANCE, CannotTell, Lab, Sent

LENGTHS = (40, 150, 317, 541, 877, 1290, 1805, 2411)
"""Tokens. No two are whole steps of any common size apart."""
MOST_CHECKS = 4
MOST_READS = 10
"""Of one prompt, where several replicas have to see it first."""
ENOUGH_POINTS = 4
"""Where each costs many reads: as soon as so many agree on a step."""
MOST_CALLS = 44
MOST_CALLS_GOING_ON = 2 * (len(LENGTHS) + MOST_CHECKS)
"""More, where the very same prompt turns out to be served whole."""


class Granularity:
    name = "granularity"
    question = "In which step are cached tokens credited?"

    def most(self, waits_s: float) -> Most:
        return Most(calls=MOST_CALLS + MOST_CALLS_GOING_ON, tokens_each=sum(LENGTHS) // len(LENGTHS) + 400)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        stretch = lab.found.size / SIZE_TOKENS
        lengths = [length * stretch for length in LENGTHS]
        points, uncredited, fit = await _fitted(lab, lengths, fit_step)
        if fit.tail == 0 and (found := await _going_on(lab, lengths)) is not None:
            points, uncredited, fit = found
        if lab.found.eye.basis == "time":
            return [_timed(lab, points)]
        lab.found.step = fit.step if fit.sure else None
        _bracket_minimum(lab, points, uncredited)
        return [_answer(points, fit, going_on=lab.found.whole_resends)]


Point = tuple[int, float]
"""Prompt tokens, and how many of them were served: a count, or an estimate by time."""
Fitted = tuple[list[Point], list[int], Step]
"""Points, the lengths that were not credited, and the step of the counts."""


async def _fitted(lab: Lab, lengths: list[float], fit_to: Callable[[Sequence[tuple[int, int]]], Step]) -> Fitted:
    """Some lengths, and by counts those that make the step sure."""
    points, uncredited = await _points(lab, lengths)
    if lab.found.eye.basis == "time":
        return points, uncredited, Step(step=None)
    fit = fit_to(_counts(points))
    for _ in range(MOST_CHECKS):
        if fit.sure or fit.try_next is None:
            break
        more, _ = await _points(lab, [fit.try_next])
        points += more
        fit = fit_to(_counts(points))
    return points, uncredited, fit


async def _going_on(lab: Lab, lengths: list[float]) -> Fitted | None:
    """Where nothing was left to compute, not even a last token, the target knows whole prompts: the same lengths, read
    as the beginning of longer prompts. None where those are served whole, too."""
    lab.found.whole_resends = True
    found = await _fitted(lab, lengths, fit_step_of_longer)
    step = found[2].step
    lab.found.whole_resends = step is not None and step > 1
    return found if lab.found.whole_resends else None


async def _points(lab: Lab, lengths: list[float]) -> tuple[list[Point], list[int]]:
    """The credited lengths, and the prompt tokens of those that were not."""
    written: list[Sent] = []
    points: list[Point] = []
    uncredited: list[int] = []
    enough_at = lab.calls + MOST_CALLS - MOST_READS - 1 - 2 * MOST_CHECKS
    for length in lengths:
        if lab.found.chance < SURE_CHANCE and (lab.calls >= enough_at or _enough(points)):
            break
        sent = await lab.write(lab.material.prompt(length))
        if lab.found.settle_s:
            written.append(sent)
        else:
            await _point(lab, sent, points, uncredited)
    if written:
        await lab.settle()  # once for all of them
    for sent in written:
        await _point(lab, sent, points, uncredited)
    return points, uncredited


def _enough(points: list[Point]) -> bool:
    return len(points) >= ENOUGH_POINTS and fit_step(_counts(points)).sure


async def _point(lab: Lab, sent: Sent, points: list[Point], uncredited: list[int]) -> None:
    """Read it again until it is credited: with several replicas a first miss says nothing."""
    reads = 1 if lab.found.chance >= SURE_CHANCE else min(MOST_READS, round(1 / lab.found.chance) + 2)
    found: bool | None = None
    for _ in range(reads):
        look, found = await lab.read(sent)
        if found and look is not None:
            served = look.cached_tokens
            if lab.found.eye.basis == "time":
                timed = lab.scale.served(look) if lab.scale is not None else None
                if timed is not None:
                    points.append((look.prompt_tokens, timed))
            elif served is not None:
                points.append((sent.look.prompt_tokens if sent.look is not None else look.prompt_tokens, served))
            return
    if found is False and sent.look is not None:
        uncredited.append(sent.look.prompt_tokens)


def _counts(points: list[Point]) -> list[tuple[int, int]]:
    return [(prompt, int(served)) for prompt, served in points]


def _bracket_minimum(lab: Lab, points: list[Point], uncredited: list[int]) -> None:
    if not points:
        return
    shortest = min(prompt for prompt, _ in points)
    below = [prompt for prompt in uncredited if prompt < shortest]
    lab.found.minimum = (max(below, default=0), shortest)


def _answer(points: list[Point], fit: Step, *, going_on: bool) -> Answer:
    lengths = f"{len(points)} credited length{'s' if len(points) != 1 else ''}"
    if not points:
        raise CannotTell("no length that was tried was credited", "see 'hidden' and 'replicas'")
    if fit.step is None:
        raise CannotTell(
            f"no one step fits all {lengths}: " + ", ".join(f"{served:.0f} of {prompt}" for prompt, served in points),
            "the target may credit at places of its own (units, breakpoints, images)",
        )
    if fit.step == 1:
        text = f"Tokens are credited one by one: all but the last {fit.tail} of every prompt, {lengths}."
    else:
        text = f"Tokens are credited in steps of {fit.step}: fits all {lengths}."
        if going_on:
            text += " The very same prompt is credited whole; these are prompts that went on."
    return Answer(
        probe="granularity",
        status="answered" if fit.sure else "could not tell",
        text=text if fit.sure else f"{text} A smaller step fits them, too.",
        value=fit.step,
        unit="tokens",
        basis="counts",
        advice=None if fit.sure else "run it again with more --max-calls",
    )


def _timed(lab: Lab, points: list[Point]) -> Answer:
    scale = lab.scale
    spread = 0.0 if scale is None else scale.spread_s / scale.seconds_per_token
    step = fit_timed_step([(prompt, served) for prompt, served in points], spread)
    if step is None:
        raise CannotTell(
            f"times tell served tokens only to about ±{3 * spread:,.0f}, which is too coarse for a step",
            lab.target.reporting_hint or "counts would tell: see hitrate doctor",
        )
    lab.found.step = step
    text = f"By time, {'about one by one' if step == 1 else f'in steps of about {step}'}: {len(points)} lengths."
    return Answer(probe="granularity", status="answered", text=text, value=step, unit="tokens", basis="time")


PROBE = Granularity()
