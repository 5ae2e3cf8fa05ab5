"""When is a shared opening reused? A+B, then A+C, then A+D: on the second call, on the third, or never.

Some rules store an opening only once a second prompt has shown that it is shared, others never look at a place inside
a prompt that was not marked.
"""

from __future__ import annotations

from hitrate.core.probe_results import Answer
from hitrate.live.conversation import Message
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import SIZE_TOKENS, SPARE_TRIALS, CannotTell, Lab, Sent

LEAST_SERIES, MOST_SERIES = 2, 4
QUESTION_TOKENS = 60
FOLLOWING = ("A+C", "A+D")


class Opening:
    name = "opening"
    question = "On which call with the same opening is it reused?"

    def most(self, waits_s: float) -> Most:
        return Most(calls=(MOST_SERIES + SPARE_TRIALS) * 3, tokens_each=SIZE_TOKENS)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        found: list[list[bool | None]] = []
        wanted = LEAST_SERIES if lab.trials == 1 else max(LEAST_SERIES, min(lab.trials or 3, MOST_SERIES))
        for _ in range(wanted + SPARE_TRIALS):
            series = await _series(lab)
            if None not in series:
                found.append(series)
            if len(found) == wanted:
                break
        if len(found) < LEAST_SERIES:
            raise CannotTell("not enough calls were answered", "run it again")
        second, third = ([series[place] for series in found] for place in (0, 1))
        return [_answer(lab, second, third)]


async def _series(lab: Lab) -> list[bool | None]:
    """Whether A+C and A+D found the opening."""
    opening = {"role": "system", "content": lab.material.text(lab.found.size)}

    def prompt() -> list[Message]:
        question = {"role": "user", "content": lab.material.text_of_words(QUESTION_TOKENS)}
        return [opening, question]

    session = lab.material.session()
    look, _ = await lab.send(prompt(), session=session, role="A+B")
    sent = Sent(messages=[], session=session, look=look)
    found: list[bool | None] = []
    for role in FOLLOWING:
        await lab.settle()
        expected = None if look is None else look.prompt_tokens - QUESTION_TOKENS
        found.append((await lab.ask_again(prompt(), sent, expected=expected, role=role))[1])
    return found


def _answer(lab: Lab, second: list[bool | None], third: list[bool | None]) -> Answer:
    said = {role: f"{sum(one is True for one in tries)} of {len(tries)}" for role, tries in
            zip(FOLLOWING, (second, third), strict=True)}  # fmt: skip
    counted = f"A+C found the opening in {said['A+C']} series, A+D in {said['A+D']}"
    by_time = lab.found.eye.basis == "time"
    if _mostly(second, True, by_time):
        choice, text = "second call", f"On the second call: {counted}."
    elif lab.trials == 0:
        raise lab.too_many_replicas()
    elif _mostly(third, True, by_time) and _mostly(second, False, True):
        choice = "third call"
        text = f"On the third call only: {counted}. The opening is stored once a second prompt has shown it is shared."
    elif _mostly(second, False, True) and _mostly(third, False, True):
        choice, text = "never", f"Never, unless it is marked or sent whole: {counted}."
    else:
        raise CannotTell(f"series differ: {counted}", "run it again")
    return Answer(probe="opening", status="answered", text=text, choice=choice, basis=lab.found.eye.basis)


def _mostly(tries: list[bool | None], wanted: bool, by_majority: bool) -> bool:
    """One that is found is proof by counts; times, and misses, need most of the series."""
    same = sum(one is wanted for one in tries)
    return same > len(tries) / 2 if by_majority else same > 0


PROBE = Opening()
