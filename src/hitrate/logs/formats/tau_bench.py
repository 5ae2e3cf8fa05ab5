"""Conversations of tau-bench: JSONL with one `traj` a line, the chat messages of a whole task.

    {"task_id": 0, "trial": 0, "reward": 1.0, "info": {...}, "traj": [{"role": "system", "content": "..."}, ...]}

(https://github.com/sierra-research/tau-bench, historical_trajectories.) Each assistant message is a call whose prompt
is what stands before it. Usage and the tool definitions are not in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from hitrate.core.model import Call
from hitrate.core.records import Skipped
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.lines import Line, first_objects, json_objects
from hitrate.logs.rebuilt import before_each_answer, rebuilt, rebuilt_remark
from hitrate.logs.shapes import message_problems, named


class TauBench:
    name = "tau-bench"
    about = "conversations of tau-bench (JSONL with traj)"

    def matches(self, head: bytes, path: str) -> bool:
        return any(isinstance(value.get("traj"), list) and "task_id" in value for value in first_objects(head))

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        told = False
        for line in json_objects(stream):
            if not isinstance(line, Line):
                yield line
                continue
            value = line.value
            problems = list(message_problems(value.get("traj"), "/traj"))
            if problems:
                yield Skipped(line=line.number, reason=named(problems))
                continue
            if not told:
                told = True
                yield rebuilt_remark("the tool definitions")
            yield from _calls(value, line.number)


def _calls(value: dict[str, Any], line: int) -> Iterator[Call]:
    session = f"task {value.get('task_id')}, trial {value.get('trial', 0)}"
    for turn, (_, messages) in enumerate(before_each_answer(value["traj"]), 1):
        yield Call(
            target="",
            dialect="openai-chat",
            body=rebuilt(messages=messages),
            rebuilt=True,
            session=session,
            turn=turn,
            line=line,
        )
