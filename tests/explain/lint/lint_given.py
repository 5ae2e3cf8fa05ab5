"""Request bodies for checks, and what a check says of one."""

from __future__ import annotations

import json
from typing import Any

from hitrate.core.model import Call
from hitrate.explain.lint.interface import Check, Flaw
from hitrate.linting import request_of
from hitrate.logs.interface import OwnRules
from hitrate.targets.dialects.sketch import Sketcher

FILLER = "Claims for bare-root roses are open for fourteen days after the delivery scan of the carrier. "
LONG = FILLER * 120
"""Some 2,000 tokens."""

MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}


def flaws(check: Check, body: dict[str, Any], dialect: str, **rules: Any) -> list[Flaw]:
    model = body.get("model")
    call = Call(target="", dialect=dialect, body=json.dumps(body).encode(), model=model)
    return list(check.look(request_of(Sketcher(), call, body, OwnRules(rules=rules))))


def chat(system: str, *turns: str, tools: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """Turns are the user's and the assistant's in turn."""
    messages = [{"role": "system", "content": system}]
    messages += [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(turns)]
    return {"model": "m", "messages": messages, **({"tools": tools} if tools else {})}


def tool(name: str, description: str = "Does it.") -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"order_no": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def block(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def claude(
    system: list[dict[str, Any]] | str, *turns: list[dict[str, Any]] | str, model: str = "claude-sonnet-4-5"
) -> dict[str, Any]:
    messages = [{"role": ("user", "assistant")[place % 2], "content": turn} for place, turn in enumerate(turns)]
    return {"model": model, "max_tokens": 99, "system": system, "messages": messages}
