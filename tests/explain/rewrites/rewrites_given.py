"""Bodies through a rewrite, as a log of them goes through it."""

from __future__ import annotations

import json
from typing import Any

from hitrate.explain.rewrites.interface import Rewrite, Sent
from hitrate.targets.dialects import dialect as dialect_named


def rewritten(
    rewrite: Rewrite, bodies: list[dict[str, Any]], dialect: str = "openai-chat", conversations: list[int] | None = None
) -> list[dict[str, Any]]:
    """The new bodies, in the order given; all of one conversation unless said."""
    encoded = [json.dumps(body).encode() for body in bodies]
    numbers = conversations or [0] * len(bodies)
    sent = [
        Sent(body, dialect, number, lambda body, name: dialect_named(name).canonical(body))
        for body, number in zip(encoded, numbers, strict=True)
    ]
    for one in sent:
        rewrite.learn(one)
    made = [rewrite.body(one) for one in sent]
    for body, new in zip(encoded, made, strict=True):
        assert new is body or new != body, "an untouched body has to be the very one given"
        dialect_named(dialect).canonical(new)
    return [json.loads(body) for body in made]


def chat(system: str, *turns: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}]
    messages += [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(turns)]
    return {"model": "m", "messages": messages, **more}


def texts(body: dict[str, Any]) -> list[Any]:
    return [message["content"] for message in body["messages"]]
