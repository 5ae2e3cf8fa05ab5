"""A client that answers at once, and an asker on it."""

from __future__ import annotations

import json
from itertools import count

from hitrate.core.model import Call, Reply, Timing, Usage
from hitrate.core.money import Price
from hitrate.live.asker import Asker, CallOptions
from hitrate.live.pace import Pace
from hitrate.targets.dialects.openai_chat import OpenAIChat
from hitrate.targets.presets import Target

DOLLAR = Price(input_usd_per_mtok=1e6, cached_usd_per_mtok=1e6, output_usd_per_mtok=1e6)
"""One dollar a token."""


def reply(text="Yes.", **members):
    return Reply(message={"role": "assistant", "content": text}, text=text, **members)


class FakeClient:
    """Answers with `answers` one after another, the last for ever: members of a Call, or an exception to raise."""

    def __init__(self, *answers):
        self.sent = []
        self._answers = list(answers) or [{}]
        self._clock = count()

    async def call(self, body, *, session, turn, label, headers, model):
        self.sent.append((json.loads(body), session, dict(headers)))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, BaseException):
            raise answer
        now = float(next(self._clock))
        answered = {
            "status": 200,
            "reply": reply(),
            "usage": Usage(prompt_tokens=10, cached_tokens=0, output_tokens=1),
            "timing": Timing(at=now, sent_at_s=now, ttft_s=0.1, total_s=0.2),
        }
        refused = {"reply": None} if answer.get("status", 200) >= 400 else {}
        return Call(
            target="t",
            dialect="openai-chat",
            body=body,
            model="m",
            session=session,
            turn=turn,
            label=label,
            **{**answered, **refused, **answer},
        )


def asker_on(client, *, target=None, dialect=None, price=None, known_models=(), on_call=None, **options):
    return Asker(
        client,
        dialect or OpenAIChat(),
        target or Target(name="t"),
        "m",
        options=CallOptions(**options),
        pace=Pace(None, lambda: 0.0),
        price=price,
        known_models=known_models,
        on_call=on_call or (lambda call, idle: None),
    )
