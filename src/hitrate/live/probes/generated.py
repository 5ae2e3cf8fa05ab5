"""Does the next turn read the model's own reply from the cache, or only the prompt before it?

By counts, whatever is credited beyond the question's prompt can only be its reply. By time, the same question goes on a
second time with another text of that length in the place of the reply.
"""

from __future__ import annotations

from hitrate.core.probe_results import Answer
from hitrate.explain.probing.looks import Look
from hitrate.live.conversation import Message
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import SIZE_TOKENS, SPARE_TRIALS, CannotTell, Lab, Sent

LEAST_REPLY, MOST_REPLY = 48, 640
UNKNOWN_STEP = 64
MOST_TRIALS = 3
GO_ON = "Go on, please."


class Generated:
    name = "generated"
    question = "Are generated tokens reused by the next turn?"

    def most(self, waits_s: float) -> Most:
        return Most(calls=3 * (MOST_TRIALS + SPARE_TRIALS), tokens_each=SIZE_TOKENS)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        step = lab.found.step or UNKNOWN_STEP
        if lab.found.eye.basis == "time" and not (lab.scale is not None and lab.scale.tells(_wanted(step))):
            raise _cannot(lab, step, [])
        replies: list[int] = []

        async def trial() -> bool | None:
            return await _trial(lab, step, replies)

        reused = await lab.decide(trial)
        if reused is None:
            raise _cannot(lab, step, replies)
        shown = f"replies of {min(replies):,} tokens" if replies else "replies"
        if reused:
            text = f"Reused: more than the prompt before was credited after {shown}."
        else:
            text = f"Not reused: after {shown} no more than the prompt before them was credited."
        choice = "reused" if reused else "not reused"
        return [Answer(probe="generated", status="answered", text=text, choice=choice, basis=lab.found.eye.basis)]


def _wanted(step: int) -> int:
    """Tokens of a reply in which a whole step has room wherever it starts."""
    return min(MOST_REPLY, max(LEAST_REPLY, 2 * step + 16))


async def _trial(lab: Lab, step: int, replies: list[int]) -> bool | None:
    """Whether generated tokens were served; None where the replies are too short or a call cannot tell."""
    asked: list[Message] = [
        {"role": "user", "content": f"{lab.material.text(lab.found.size)}\n\nTell a long story about these words."}
    ]
    session = lab.material.session()
    look, reply = await lab.send(asked, session=session, role="question", max_tokens=_wanted(step))
    if look is None or reply is None or not reply.text:
        return None
    output = look.output_tokens or 0
    replies.append(output)
    sent = Sent(messages=asked, session=session, look=look, reply=reply)
    await lab.settle()
    real, found = await lab.ask_again([*asked, reply.message, _go_on()], sent, role="its own reply")
    served = None if real is None else _served(lab, real)
    if served is None:
        return None
    if lab.found.eye.basis == "time":
        return await _sooner(lab, sent, output, served)
    if served > look.prompt_tokens:
        return True
    # Nothing beyond the prompt: that is an answer only where a whole step of the reply could have been credited.
    return False if found is False or output >= 2 * step else None


async def _sooner(lab: Lab, sent: Sent, output: int, served: float) -> bool | None:
    """Whether the real reply saved time that another one did not."""
    if lab.scale is None or not lab.scale.tells(output):
        return None
    other = {"role": "assistant", "content": lab.material.text_of_words(max(1, output - 10))}
    control, _ = await lab.ask_again([*sent.messages, other, _go_on()], sent, role="another reply")
    other_served = None if control is None else _served(lab, control)
    return None if other_served is None else served - other_served > output / 2


def _served(lab: Lab, look: Look) -> float | None:
    if lab.found.eye.basis == "counts":
        return look.cached_tokens
    return None if lab.scale is None else lab.scale.served(look)


def _go_on() -> Message:
    return {"role": "user", "content": GO_ON}


def _cannot(lab: Lab, step: int, replies: list[int]) -> CannotTell:
    if lab.found.eye.basis == "time":
        return CannotTell("a reply is too short for its saved time to show", "counts would tell: see hitrate doctor")
    if replies and max(replies) < 2 * step:
        return CannotTell(
            f"replies were at most {max(replies)} tokens and a step is {step}: too short to show",
            "use a model that answers at length",
        )
    if lab.trials == 0:
        return lab.too_many_replicas()
    return CannotTell("the calls of no trial were all answered", "run it again")


PROBE = Generated()
