"""What is the shortest prompt that is credited? Bisected between a length that was not and one that was."""

from __future__ import annotations

from functools import partial

from hitrate.core.probe_results import Answer
from hitrate.live.probes.granularity import LENGTHS
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import CannotTell, Lab, Sent

MOST_ROUNDS = 8
CLOSE_SHARE = 0.004
"""Where tokens are credited one by one: stop when the two lengths lie this close."""


class Minimum:
    name = "minimum"
    question = "What is the shortest prompt that is credited?"

    def most(self, waits_s: float) -> Most:
        return Most(calls=2 * (MOST_ROUNDS + 1), tokens_each=1200)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        low, high = lab.found.minimum or await _first_bracket(lab)
        step = lab.found.step or 1
        if low == 0 and step < (high - 1) // step * step:
            low, high = await _shortest(lab, high)
        for _ in range(MOST_ROUNDS):
            tokens = _between(low, high, step)
            if low == 0 or _close(low, high, step) or not lab.found.eye.tells(tokens):
                break
            middle = await _try(lab, tokens)
            if middle is None or not low < middle[0] < high:
                break
            low, high = (low, middle[0]) if middle[1] else (middle[0], high)
        lab.found.minimum = (low, high)
        # Later probes need no longer prefix than this, and shorter ones are cheaper.
        enough = max(600.0, 1.2 * high + 2 * step)
        if lab.found.eye.basis == "counts":
            lab.found.size = min(lab.found.size, enough)
        return [_answer(lab, low, high, step)]


async def _first_bracket(lab: Lab) -> tuple[int, int]:
    """Without the lengths of the granularity probe: the shortest, and what is known to be credited."""
    found = await _try(lab, LENGTHS[0]) if lab.found.eye.tells(LENGTHS[0]) else None
    if found is not None and found[1]:
        return 0, found[0]
    longest = min((look.prompt_tokens for look in lab.found.reads), default=round(lab.found.size))
    return (0 if found is None else found[0]), longest


async def _shortest(lab: Lab, high: int) -> tuple[int, int]:
    """With the shortest prompt there is: whether a single step is credited shows in no longer one."""
    found = await _try(lab, 1) if lab.found.eye.tells(1) else None
    if found is None or found[0] >= high:
        return 0, high
    return (0, found[0]) if found[1] else (found[0], high)


async def _try(lab: Lab, tokens: float) -> tuple[int, bool] | None:
    """Prompt tokens, and whether the second send was credited; None where that cannot be told at this length."""
    lengths: list[int] = []

    async def trial() -> bool | None:
        sent: Sent = await lab.write(lab.material.prompt(tokens))
        await lab.settle()
        if sent.look is not None:
            lengths.append(sent.look.prompt_tokens)
        return (await lab.read(sent))[1]

    found = await lab.decide(trial)
    if found is None:
        if lab.trials == 0:
            raise lab.too_many_replicas()
        return None
    return max(lengths), found


def _between(low: int, high: int, step: int) -> float:
    """The middle; with steps, just above the step in the middle, where it would first be credited."""
    if step == 1:
        return (low + high) / 2
    first, last = (low - 1) // step + 1, (high - 1) // step
    return ((first + last) // 2) * step + 1 + step / 4


def _close(low: int, high: int, step: int) -> bool:
    if step > 1:
        return (high - 1) // step <= (low - 1) // step + 1
    return high - low <= max(2.0, CLOSE_SHARE * high)


def _answer(lab: Lab, low: int, high: int, step: int) -> Answer:
    by_time = lab.found.eye.basis == "time"
    credited = (high - 1) // step * step if step > 1 else high
    answer = partial(Answer, probe="minimum", unit="tokens", basis=lab.found.eye.basis, value=credited, high=high)
    if low == 0 and by_time:
        text = f"At most {high} tokens: what shorter prompts save does not show in the time."
        return answer(status="answered", text=text, choice="at most", bounds="bracket")
    if low == 0:
        text = f"None was seen: a prompt of {high} tokens is credited, the shortest tried."
        return answer(status="answered", text=text, choice="none seen", low=0, bounds="bracket")
    if not _close(low, high, step) and high - low > 0.25 * high:
        raise CannotTell(
            f"somewhere above {low:,} and at most {high:,} tokens", "run it again with more calls (--max-calls)"
        )
    text = f"A prompt of {low:,} tokens is not credited, one of {high:,} is"
    text += f" ({credited:,} of them)." if step > 1 else "."
    return answer(status="answered", text=text, low=low, bounds="bracket")


PROBE = Minimum()
