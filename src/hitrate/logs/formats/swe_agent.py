"""Trajectories of SWE-agent: one JSON document, `*.traj`.

    {"trajectory": [{"action": ..., "response": ..., "messages": [...]}, ...], "history": [...], "info": {...}}

A step of newer versions has the messages that were sent for it, as `messages`, later `query`
(https://github.com/SWE-agent/SWE-agent, sweagent/types.py). Where steps have none, each assistant message of `history`
is a call whose prompt is what stands before it; a history processor may have sent less. Tokens are counted for the
whole task alone, so usage is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from hitrate.core.model import Call
from hitrate.core.records import Remark, Skipped
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.lines import json_document, opening
from hitrate.logs.rebuilt import before_each_answer, rebuilt, rebuilt_remark
from hitrate.logs.shapes import kind, message_problems, named

_MEMBERS = ("role", "content", "name", "tool_calls", "tool_call_id")
"""Of a message those that are sent; the others are the agent's own notes."""


class SweAgent:
    name = "swe-agent"
    about = "trajectory of SWE-agent (one JSON document)"

    def matches(self, head: bytes, path: str) -> bool:
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        return start.startswith(b"{") and isinstance(opening(start).get("trajectory"), list)

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        found = json_document(stream)
        if isinstance(found, Skipped):
            yield found
            return
        yield from found.remarks
        document = found.value if isinstance(found.value, dict) else {}
        sent = _sent(document.get("trajectory"))
        if sent:
            yield rebuilt_remark("the tool definitions")
            for place, messages in sent:
                yield from _call(place, messages)
        else:
            yield from _from_history(document.get("history"))


def _sent(trajectory: Any) -> list[tuple[str, Any]]:
    """The messages of each step, with their place; none where a step that was answered lacks them."""
    steps = trajectory if isinstance(trajectory, list) else []
    found = []
    for index, step in enumerate(steps):
        names = [name for name in ("query", "messages") if isinstance(step, dict) and isinstance(step.get(name), list)]
        if names:
            found.append((f"/trajectory/{index}/{names[0]}", step[names[0]]))
        elif isinstance(step, dict) and step.get("response"):
            return []
    return found


def _from_history(history: Any) -> Iterator[Item]:
    problems = list(message_problems(history, "/history"))
    if problems:
        yield Skipped(line=None, reason=named(problems))
        return
    yield rebuilt_remark("the tool definitions")
    yield Remark(
        line=None,
        what="the prompts are those of the history: what a history processor cut from it, as a window does, "
        "was not sent and is not told",
    )
    for index, messages in before_each_answer(history):
        yield from _call(f"/history/{index}", messages)


def _call(place: str, messages: Sequence[Any]) -> Iterator[Item]:
    problems = list(message_problems(messages, place))
    if problems:
        yield Skipped(line=None, reason=named(problems))
    elif not messages:
        yield Skipped(line=None, reason=f"{place} is {kind(messages)} without messages")
    else:
        body = rebuilt(messages=[_message(one) for one in messages])
        yield Call(target="", dialect="openai-chat", body=body, rebuilt=True)


def _message(message: dict[str, Any]) -> dict[str, Any]:
    kept = {name: message[name] for name in _MEMBERS if message.get(name) is not None}
    ids = message.get("tool_call_ids")
    if isinstance(ids, list) and ids:
        kept["tool_call_id"] = ids[0]
    return kept
