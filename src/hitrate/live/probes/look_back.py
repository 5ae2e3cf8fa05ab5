"""How far back from its end does a request look for what is stored? Bisected with items appended to a stored prefix.

On wires with markers an item is a content block of the last message, whose end alone is marked; on others it is a pair
of messages.
"""

from __future__ import annotations

from hitrate.core.probe_results import Answer
from hitrate.live.conversation import Message
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import SIZE_TOKENS, CannotTell, Lab

FARTHEST = 64
MARKED_WIRES = ("anthropic-messages", "bedrock-converse")
ITEM_WORDS = 3


class LookBack:
    name = "look-back"
    question = "How many blocks or messages back is a stored prefix found?"

    def most(self, waits_s: float) -> Most:
        return Most(calls=1 + 8 * 3, tokens_each=SIZE_TOKENS + FARTHEST * 8)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        items = "blocks" if lab.mark or lab.target.dialect in MARKED_WIRES else "messages"
        base = lab.material.text(lab.found.size)
        sent = await lab.write([{"role": "user", "content": base}])
        await lab.settle()

        async def found_behind(count: int) -> bool | None:
            async def trial() -> bool | None:
                prompt = _blocks(lab, base, count) if items == "blocks" else _messages(lab, base, count)
                return (await lab.ask_again(prompt, sent, role=f"{count} {items} behind"))[1]

            return await lab.decide(trial)

        if await found_behind(FARTHEST):
            text = f"No limit was met: a prefix is found with {FARTHEST} further {items} behind it."
            return [_answer(lab, text, None, items, FARTHEST, None)]
        if not await found_behind(1):
            if lab.trials == 0:
                raise lab.too_many_replicas()
            raise CannotTell(
                f"a prefix was not found with one of the {items} behind it either",
                "prompts may be reused only whole: see 'opening'",
            )
        nearest, farthest = 1, FARTHEST
        while farthest - nearest > 1:
            middle = (nearest + farthest) // 2
            found = await found_behind(middle)
            if found is None:
                raise CannotTell(f"found {nearest} {items} back; farther back it differs", "run it again")
            nearest, farthest = (middle, farthest) if found else (nearest, middle)
        text = (
            f"{nearest + 1} {items}, the newest included: a prefix is found with {nearest} behind it and not with "
            f"{farthest}."
        )
        return [_answer(lab, text, nearest + 1, items, nearest, farthest)]


def _answer(lab: Lab, text: str, value: int | None, items: str, low: int, high: int | None) -> Answer:
    return Answer(
        probe="look-back",
        status="answered",
        text=text,
        value=value,
        unit=items,
        choice="no limit" if value is None else None,
        low=low,
        high=high,
        bounds="bracket",
        basis=lab.found.eye.basis,
    )


def _blocks(lab: Lab, base: str, count: int) -> list[Message]:
    blocks = [base, *(lab.material.text_of_words(ITEM_WORDS) for _ in range(count))]
    return [{"role": "user", "content": [{"type": "text", "text": text} for text in blocks]}]


def _messages(lab: Lab, base: str, count: int) -> list[Message]:
    messages: list[Message] = [{"role": "user", "content": base}]
    for _ in range(count):
        messages.append({"role": "assistant", "content": "Noted."})
        messages.append({"role": "user", "content": lab.material.text_of_words(ITEM_WORDS)})
    return messages


PROBE = LookBack()
