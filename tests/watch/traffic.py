"""Calls of agents as a recording has them, with the usage that a cache with five-minute entries would report."""

from __future__ import annotations

import json
from typing import Any

from hitrate.core.model import Call, Timing, Usage

SYSTEM = "You are the coding agent of a mail-order company. " * 60


class Agent:
    """A conversation that grows turn by turn. A turn with `system` has another system prompt, so nothing is served."""

    def __init__(self, session: str = "", *, model: str = "claude-sonnet-4-5", target: str = "anthropic") -> None:
        self.session = session
        self.model = model
        self.target = target
        self.messages: list[dict[str, Any]] = []
        self._served: list[str] = []

    def turn(
        self,
        at: float,
        text: str | None = None,
        *,
        system: str = SYSTEM,
        reported: bool = True,
        status: int = 200,
    ) -> Call:
        text = text or f"Go on with file {len(self.messages) // 2 + 1}. " * 40
        self.messages.append({"role": "user", "content": text})
        pieces = [system, *(json.dumps(one) for one in self.messages)]
        shared = 0
        for one, other in zip(pieces, self._served, strict=False):
            if one != other:
                break
            shared += len(one)
        self._served = pieces
        prompt, cached = sum(map(len, pieces)) // 4, shared // 4
        body = {"model": self.model, "max_tokens": 1024, "system": system, "messages": self.messages}
        self.messages = [*self.messages, {"role": "assistant", "content": f"Done: {text[:200]}"}]
        usage = Usage(
            prompt_tokens=prompt,
            cached_tokens=cached if reported else None,
            written_tokens=prompt - cached if reported else None,
            output_tokens=120,
        )
        return Call(
            target=self.target,
            dialect="anthropic-messages",
            body=json.dumps({**body, "cache_control": {"type": "ephemeral"}}, ensure_ascii=False).encode(),
            model=self.model,
            session=self.session,
            status=status,
            error=None if status < 400 else "overloaded",
            usage=usage if status < 400 else Usage(),
            timing=Timing(
                at=at, sent_at_s=at, ttft_s=0.2 + (prompt - cached) / 2500 if status < 400 else None, total_s=3.0
            ),
        )


def clock(at: int) -> str:
    """A system prompt with the time in front, as so many have it."""
    return f"The time is 09:{at // 60 % 60:02}:{at % 60:02}.\n\n{SYSTEM}"
