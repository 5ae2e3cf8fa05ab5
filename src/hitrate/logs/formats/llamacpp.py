"""What llama.cpp's server writes to its log: token counts of each request by slot and task, no prompts.

    slot   operator(): id  1 | task 9 | new prompt, n_ctx_slot = 4096, n_keep = 0, task.n_tokens = 342
    slot   operator(): id  1 | task 9 | cached n_tokens = 326, memory_seq_rm [326, end)
    slot print_timing: id  1 | task 9 | prompt eval time =  6.17 ms /  16 tokens (...)
    slot print_timing: id  1 | task 9 |        eval time =  8.99 ms /   8 tokens (...)
    slot      release: id  1 | task 9 | stop processing: n_tokens = 349, truncated = 0

(https://github.com/ggml-org/llama.cpp, tools/server/server-context.cpp; with a clock and a level in front.) Versions up
to 2025 say `update_slots` for `operator()`, `n_prompt_tokens`, `kv cache rm [326, end)` or `n_past = 326`, and have the
times on lines without slot and task; those of 2024 and before write objects with `id_slot`, `id_task`, `p0` and
`n_prompt_tokens_processed`, as JSON or behind `|`.

At the usual verbosity the first two lines are missing. Then the prompt is what the slot holds at the end without the
reply, whose last token is not in it; and what was not evaluated of it was cached. The log's clock counts from the start
of the server and says no date, so calls have no time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from msgspec import Struct

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.model import Call
from hitrate.core.records import Remark, Skipped
from hitrate.core.wires import RENDERED
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.lines import raw_lines
from hitrate.logs.own_counts import count, usage_of

_SLOT_LINE = lazy_pattern(r"\bslot\s+\S+: id\s+(\d+) \| task (-?\d+) \|\s*(.*)$")
_TIMING = lazy_pattern(r"(prompt )?eval time =\s*([\d.]+) ms /\s*(\d+) (?:tokens|runs)")
_PROMPT = lazy_pattern(r"new prompt, .*?(?:task\.n_tokens|n_prompt_tokens) = (\d+)")
_KEPT = lazy_pattern(r"(?:kv cache rm|memory_seq_rm|kv_cache_rm) \[(\d+), end\)")
_RELEASED = lazy_pattern(r"stop processing: (?:n_tokens|n_past) = (\d+), truncated = (\d)")
_FORCED = lazy_pattern(r"forcing full prompt re-processing.*")

_OLD_FIELD = lazy_pattern(r'(\w+)=("[^"]*"|\S+)')
_OLD_LINE = lazy_pattern(r"\[\s*(print_timings|update_slots|launch_slot_with_data|launch_slot_with_task)\]")

_MARKS = (b"slot print_timing:", b"slot      release:", b"slot launch_slot_:", b"| processing task", b"print_timings")

_MOST_OPEN = 256
"""Tasks at once; a server has some slots."""


class _Task(Struct):
    """What is known so far of a request."""

    line: int
    slot: int
    prompt: int | None = None
    kept: int | None = None
    """Tokens of the slot that were not removed before the prompt was evaluated."""
    evaluated: int | None = None
    generated: int | None = None
    held: int | None = None
    """Tokens in the slot at the end."""
    truncated: bool = False

    @property
    def is_complete(self) -> bool:
        return self.evaluated is not None and self.generated is not None and self.held is not None


class LlamaCpp:
    name = "llamacpp"
    about = "log of llama.cpp's server (token counts, no prompts)"

    def matches(self, head: bytes, path: str) -> bool:
        return any(mark in head for mark in _MARKS) or (b'"id_slot"' in head and b'"id_task"' in head)

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        tasks = _Tasks()
        for number, _, data in raw_lines(stream):
            if isinstance(data, Skipped):
                yield data
            else:
                yield from tasks.take(data.decode("utf-8", "replace"), number)
        yield from tasks.rest()


class _Tasks:
    def __init__(self) -> None:
        self._open: dict[int, _Task] = {}
        self._timed = -1
        """The task whose times come on the next lines, which do not name it."""

    def take(self, text: str, line: int) -> Iterator[Item]:
        if (found := _SLOT_LINE.search(text)) is not None:
            slot, task, said = int(found[1]), int(found[2]), found[3]
            if task >= 0:
                yield from self._said(self._task(task, slot, line), task, said, line)
        elif (old := _old_fields(text)) is not None:
            yield from self._old(old, line)
        elif (timing := _TIMING.search(text)) is not None and self._timed in self._open:
            yield from self._said(self._open[self._timed], self._timed, timing[0], line)

    def rest(self) -> Iterator[Item]:
        """Requests whose end the log does not have, and those that were never released."""
        for task in self._open.values():
            yield from _call(task)
        self._open = {}

    def _task(self, task: int, slot: int, line: int) -> _Task:
        if task not in self._open:
            self._open[task] = _Task(line=line, slot=slot)
        return self._open[task]

    def _said(self, task: _Task, number: int, said: str, line: int) -> Iterator[Item]:
        self._timed = number
        if (found := _PROMPT.search(said)) is not None:
            task.prompt = int(found[1])
        if (found := _KEPT.search(said)) is not None and task.kept is None:  # again for each part of a long prompt
            task.kept = int(found[1])
        if (found := _TIMING.search(said)) is not None:
            if found[1]:
                task.evaluated = int(found[3])
            else:
                task.generated = int(found[3])
        if (found := _RELEASED.search(said)) is not None:
            task.held, task.truncated = int(found[1]), found[2] != "0"
        if (found := _FORCED.search(said)) is not None:
            yield Remark(line=line, what=f"the server says of this request: {found[0]}")
        yield from self._done(number)

    def _done(self, number: int) -> Iterator[Item]:
        if self._open[number].is_complete:
            yield from _call(self._open.pop(number))
        elif len(self._open) > _MOST_OPEN:
            yield from _call(self._open.pop(next(iter(self._open))))

    def _old(self, fields: dict[str, Any], line: int) -> Iterator[Item]:
        number, slot = count(fields.get("id_task", fields.get("task_id"))), count(fields.get("id_slot"))
        if number is None or slot is None:
            return
        task = self._task(number, slot, line)
        if "n_prompt_tokens_processed" in fields:
            task.evaluated = count(fields["n_prompt_tokens_processed"])
        if "n_decoded" in fields:
            task.generated = count(fields["n_decoded"])
        if "p0" in fields and task.kept is None:
            task.kept = count(fields["p0"])
        if "n_past" in fields and "truncated" in fields:
            task.held, task.truncated = count(fields["n_past"]), str(fields["truncated"]).lower() == "true"
        yield from self._done(number)


def _old_fields(text: str) -> dict[str, Any] | None:
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) and "id_slot" in found else None
    if _OLD_LINE.search(text) is None:
        return None
    return {match[1]: match[2].strip('"') for match in _OLD_FIELD.finditer(text)}


def _call(task: _Task) -> Iterator[Item]:
    """The call of a task that was answered, or why its counts cannot be told."""
    if task.evaluated is None:
        if task.prompt is not None or task.held is not None:
            yield Skipped(line=task.line, reason="cut off: the log does not say how much of this prompt was evaluated")
        return
    prompt = task.prompt
    name = "n_tokens"
    if prompt is None and task.kept is not None:
        prompt, name = task.kept + task.evaluated, "p0 + n_prompt_tokens_processed"
    elif prompt is None and task.held is not None and task.generated is not None and not task.truncated:
        prompt, name = task.held - max(task.generated - 1, 0), "n_tokens at the end - generated tokens + 1"
    cached = None if prompt is None else prompt - task.evaluated
    if cached is None or cached < 0:
        yield Skipped(
            line=task.line,
            reason="the size of this prompt cannot be told: "
            + ("the context was cut while it was answered" if task.truncated else "the log does not have its counts")
            + "; start the server with --log-verbosity 4 to have it written down",
        )
        return
    usage, _ = usage_of(
        prompt=(prompt, name) if prompt is not None else None,
        cached=(cached, f"{name} - tokens of prompt eval"),
        output=None if task.generated is None else (task.generated, "tokens of eval"),
    )
    yield Call(
        target="llamacpp",
        dialect=RENDERED,
        body=b"",
        usage=usage,
        raw_usage={"slot": task.slot, "prompt_eval_tokens": task.evaluated},
        line=task.line,
    )
