"""Prompts as a template rendered them, without the request around them.

JSONL or an array of objects with the prompt as `text`, `rendered` or `input` (as a string that is not the input of a
request): `{"timestamp": 1760428436442742, "input": "...", "output": "...", "session_id": "..."}` of
https://github.com/LMCache/lmcache-agent-trace, `{"input": "...", "output_length": 64}` of
https://github.com/LMCache/LMBenchmark. A member `prompt` makes a line a request body, which `request_pairs` reads.

Plain text: one prompt a line, or a file that is one prompt. Without the format's name a text is taken for prompts only
where it has the marks of a chat template, or where its lines begin alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, BinaryIO

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.model import Call, Timing, Usage
from hitrate.core.recent import Recent
from hitrate.core.records import Remark, Skipped
from hitrate.core.wires import RENDERED
from hitrate.logs.in_order import in_order
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.lines import raw_lines, read_document
from hitrate.logs.own_counts import Named, first_count, usage_of
from hitrate.logs.pairs import SESSION_MEMBERS, TIME_MEMBERS, unix_time
from hitrate.logs.rebuilt import rebuilt
from hitrate.logs.shapes import kind
from hitrate.logs.tables import first_rows, rows

_TEXTS = ("rendered", "rendered_prompt", "text", "input")
_BESIDE_INPUT = ("output", "output_length", "session_id", "timestamp")
_A_REQUEST = ("model", "messages", "body", "request", "response", "instructions", "usage", "traj", "attributes")

_OUTPUTS = ("output_length", "output_tokens", "output_toks")
_PROMPTS = ("input_length", "prompt_tokens", "input_toks")

_TEMPLATE = lazy_pattern(
    rb"<\|im_start\|>|<\|start_header_id\|>|<\|header_start\|>|<start_of_turn>|<\|turn>|\[INST\]|<\|start\|>"
    rb"|<\|(?:system|user|assistant)\|>|<\xef\xbd\x9cUser\xef\xbd\x9c>|<\|START_OF_TURN_TOKEN\|>"
)
_LEAST_ALIKE = 48
"""Bytes in which the lines of a text agree that are prompts: more than the date and level in front of other logs."""

_SESSIONS_REMEMBERED = 1 << 10


class RenderedRecords:
    name = "rendered"
    about = "JSONL or array of rendered prompts (text or input)"

    def matches(self, head: bytes, path: str) -> bool:
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        return start.startswith((b"{", b"[")) and any(_text_name(value) is not None for value in first_rows(start))

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        yield from in_order(_records(stream))


def _text_name(value: dict[str, Any]) -> str | None:
    """The member that holds a rendered prompt."""
    if any(name in value for name in _A_REQUEST):
        return None
    for name in _TEXTS:
        # Of a record that is longer than what is looked at, only the names of members are known.
        if name in value and (isinstance(value[name], str) or value[name] is None):
            return name if name != "input" or any(beside in value for beside in _BESIDE_INPUT) else None
    return None


def _records(stream: BinaryIO) -> Iterator[Item]:
    answers: Recent[str, str] = Recent(_SESSIONS_REMEMBERED)
    answered = without = 0
    for row in rows(stream):
        if isinstance(row, Skipped):
            yield row
            continue
        yield from row.remarks
        value = row.value
        name = _text_name(value) if isinstance(value, dict) else None
        if name is None or not isinstance(value[name], str):
            found = kind(value) if not isinstance(value, dict) else "an object without one"
            yield Skipped(line=row.line, reason=f"the record is {found}, expected a prompt as {', '.join(_TEXTS)}")
            continue
        call = _call(value, value[name], row.line)
        before, answer = answers.get(call.session), value.get("output")
        if before is not None:
            answered += 1
            without += before not in value[name]
        if isinstance(answer, str) and len(answer) > _LEAST_ALIKE:
            answers.put(call.session, answer)
        yield call
    if answered and without > answered / 2:
        yield Remark(
            line=None,
            what="the prompts do not contain the answers to the ones before them: only what is in them is compared",
        )


def _call(value: dict[str, Any], text: str, line: int) -> Call:
    session = next((str(value[name]) for name in SESSION_MEMBERS if isinstance(value.get(name), str | int)), "")
    at = next((found for name in TIME_MEMBERS if (found := unix_time(value.get(name))) is not None), None)
    prompt: Named | None = first_count(value, _PROMPTS)
    usage, _ = usage_of(prompt=prompt, output=first_count(value, _OUTPUTS))
    return rendered_call(text, line, session=session, at=at, usage=usage)


def rendered_call(
    prompt: str | list[int], line: int | None, *, session: str = "", at: float | None = None, usage: Usage | None = None
) -> Call:
    return Call(
        target="",
        dialect=RENDERED,
        body=rebuilt(prompt=prompt),
        rebuilt=True,
        session=session,
        usage=usage or Usage(),
        timing=None if at is None else Timing(at=at, sent_at_s=at),
        line=line,
    )


class PromptLines:
    name = "prompt-lines"
    about = "plain text, one rendered prompt a line"

    def matches(self, head: bytes, path: str) -> bool:
        lines = [line for line in head.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
        if len(lines) < 2 or lines[0].lstrip().startswith((b"{", b"[")):
            return False
        alike = [_begin_alike(first, second) for first, second in pairwise(lines)]
        if sum(alike) * 2 >= len(alike):
            return True
        templated = [line for line in lines if _TEMPLATE.match(line.lstrip()) and len(_TEMPLATE.findall(line)) > 1]
        return len(templated) * 2 > len(lines)

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        for number, _, data in raw_lines(stream):
            if isinstance(data, Skipped):
                yield data
                continue
            try:
                yield rendered_call(data.decode("utf-8"), number)
            except UnicodeDecodeError as error:
                yield Skipped(
                    line=number, reason=f"not UTF-8 at byte {error.start} of the line, expected text in UTF-8"
                )


def is_templated(head: bytes) -> bool:
    """Whether a text begins with the marks of a chat template."""
    return _TEMPLATE.search(head.removeprefix(b"\xef\xbb\xbf").lstrip()[:256]) is not None


def _begin_alike(first: bytes, second: bytes) -> bool:
    return len(first) >= _LEAST_ALIKE and first[:_LEAST_ALIKE] == second[:_LEAST_ALIKE]


class OnePrompt:
    name = "prompt"
    about = "plain text that is one rendered prompt"

    def matches(self, head: bytes, path: str) -> bool:
        return not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[{")) and is_templated(head)

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        text = read_document(stream)
        yield text if isinstance(text, Skipped) else rendered_call(text, 1)
