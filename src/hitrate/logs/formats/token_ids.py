"""Prompts as token ids: JSONL with a list of ids a line (or a list of such lists), or objects with one.

    [128000, 9906, 1917]
    {"input_toks": 3, "output_toks": 8, "arrival_time_ns": 46926808, "input_tok_ids": [...], "output_tok_ids": [...]}

(the second of https://github.com/casys-kaist/LLMServingSim, workloads; `arrival_time_ns` counts from the start of the
run, so it is no time of day.) A prompt has as many tokens as it has ids. What a cache served is not in such files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from hitrate.core.records import Remark, Skipped
from hitrate.logs.formats.rendered import rendered_call
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.lines import json_lines
from hitrate.logs.own_counts import first_count, usage_of
from hitrate.logs.pairs import SESSION_MEMBERS, TIME_MEMBERS, unix_time
from hitrate.logs.shapes import kind
from hitrate.logs.tables import first_rows

_IDS = ("input_tok_ids", "input_token_ids", "input_ids", "token_ids", "tokens", "ids")
_OUTPUT_IDS = ("output_tok_ids", "output_token_ids", "output_ids")
_COUNTED = ("input_toks", "input_length", "prompt_tokens")
_OUTPUT_COUNTED = ("output_toks", "output_length", "output_tokens")


class TokenIds:
    name = "token-ids"
    about = "JSONL of prompts as token ids"

    def matches(self, head: bytes, path: str) -> bool:
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if start.startswith(b"["):
            return _starts_with_ids(start.split(b"\n", 1)[0])
        return any(_ids_name(value) is not None for value in first_rows(head))

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        for line in json_lines(stream):
            if isinstance(line, Skipped):
                yield line
                continue
            yield from line.remarks
            is_list_of_prompts = isinstance(line.value, list) and line.value and isinstance(line.value[0], list)
            for value in line.value if is_list_of_prompts else [line.value]:
                yield from _call(value, line.number)


def _starts_with_ids(line: bytes) -> bool:
    body = line.strip().lstrip(b"[").split(b"]", 1)[0]
    numbers = [one.strip() for one in body.split(b",")]
    return len(numbers) > 1 and all(one.isdigit() for one in numbers[:-1])


def _ids_name(value: dict[str, Any]) -> str | None:
    return next((name for name in _IDS if isinstance(value.get(name), list)), None)


def _call(value: Any, line: int) -> Iterator[Item]:
    name = None if not isinstance(value, dict) else _ids_name(value)
    ids = value if isinstance(value, list) else value[name] if name is not None else None
    if ids is None:
        yield Skipped(
            line=line, reason=f"the record is {kind(value)}, expected a list of token ids or one as {_IDS[0]}"
        )
        return
    if not ids or any(type(one) is not int for one in ids):
        yield Skipped(line=line, reason="expected token ids, whole numbers, and at least one")
        return
    members = value if isinstance(value, dict) else {}
    counted = first_count(members, _COUNTED)
    if counted is not None and counted[0] != len(ids):
        yield Remark(line=line, what=f"{counted[1]} is {counted[0]:,} and there are {len(ids):,} ids; the ids count")
    output = first_count(members, _OUTPUT_COUNTED)
    generated = next((members[one] for one in _OUTPUT_IDS if isinstance(members.get(one), list)), None)
    if output is None and generated is not None:
        output = len(generated), "output ids"
    usage, _ = usage_of(prompt=(len(ids), name or "ids"), output=output)
    session = next((str(members[one]) for one in SESSION_MEMBERS if isinstance(members.get(one), str | int)), "")
    at = next((found for one in TIME_MEMBERS if (found := unix_time(members.get(one))) is not None), None)
    yield rendered_call(ids, line, session=session, at=at, usage=usage)
