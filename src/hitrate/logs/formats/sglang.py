"""Request logs of SGLang (`--log-requests`): prompts, and the counts of each answer with its cached tokens.

    [2026-11-01 12:00:00] Receive: obj=GenerateReqInput(rid='1', text='<|im_start|>...', input_ids=None, ...)
    [2026-11-01 12:00:01] Finish: obj=GenerateReqInput(rid='1', ...), out={'text': '...', 'meta_info': {'id': '1',
        'prompt_tokens': 342, 'completion_tokens': 8, 'cached_tokens': 326, 'e2e_latency': 0.2, ...}}

each on one line; with `--log-requests-format json` as objects with `event` ("request.received", "request.finished"),
`rid`, `obj` and `out`. (https://github.com/sgl-project/sglang, python/sglang/srt/utils/request_logger.py.) Levels 0 and
1 have no prompts, level 2 cuts what is longer than 2,048 characters or ids, with dots where something is missing, and
level 3 has everything. A prompt that was cut is not used: then the call counts with its token counts alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from msgspec.structs import replace

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.model import Call, Timing, Usage
from hitrate.core.records import Remark, Skipped
from hitrate.core.wires import RENDERED
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.lines import raw_lines
from hitrate.logs.open_calls import OpenCalls
from hitrate.logs.own_counts import count, usage_of
from hitrate.logs.pairs import unix_time
from hitrate.logs.rebuilt import rebuilt
from hitrate.logs.repr_text import arguments, literal_at

_LINE = lazy_pattern(
    r"(?:\[(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)[^\]]*\]\s*)?(?P<what>Receive|Finish): obj=GenerateReqInput"
)
_MEMBERS = ("rid", "text", "input_ids", "session_id", "lora_path")
_META = "'meta_info': {"
_META_COUNT = lazy_pattern(r"'(prompt_tokens|cached_tokens|completion_tokens|reasoning_tokens)': (\d+)")
_LATENCY = lazy_pattern(r"'e2e_latency': ([\d.]+)")

_EVENTS = {"request.received": "Receive", "request.finished": "Finish"}
_HEALTH = "HEALTH_CHECK"

_CUT = "the prompt was cut when it was logged, so its text is not used; --log-requests-level 3 keeps it whole"
_LONGEST_AT_LEVEL_2 = 2048


class Sglang:
    name = "sglang"
    about = "request log of SGLang"

    def matches(self, head: bytes, path: str) -> bool:
        return b": obj=GenerateReqInput" in head or any(f'"event": "{event}"'.encode() in head for event in _EVENTS)

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        open_calls = OpenCalls()
        told = False
        for number, _, data in raw_lines(stream):
            if isinstance(data, Skipped):
                yield data
                continue
            if b"GenerateReqInput" not in data and b'"request.' not in data:
                continue
            found = _parsed(data, number)
            if found is None:
                continue
            if isinstance(found, Skipped):
                yield found
                continue
            what, call, request_id, is_cut = found
            if is_cut and not told:
                told = True
                yield Remark(line=number, what=_CUT)
            if what == "Receive":
                yield from open_calls.begin(request_id, call)
                continue
            if request_id not in open_calls:
                yield from open_calls.begin(request_id, call)
            yield from open_calls.answer(request_id, partial(_finished, call))
        yield from open_calls.rest()


def _finished(now: Call, before: Call) -> Call:
    """The request as it came in, with what its answer says; the text of one that was logged without it."""
    return replace(
        before, usage=now.usage, raw_usage=now.raw_usage, body=before.body or now.body, timing=_timing(before, now)
    )


def _timing(before: Call, now: Call) -> Timing | None:
    latency = (now.raw_usage or {}).get("e2e_latency")
    if before.timing is None or before is now:
        return before.timing
    return replace(before.timing, total_s=latency)


def _parsed(data: bytes, line: int) -> tuple[str, Call, str, bool] | Skipped | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Skipped(line=line, reason="not UTF-8, expected a request log in UTF-8")
    brace = text.find("{")
    is_json = brace >= 0 and '"event"' in text[brace : brace + 120]
    return _of_json(text[brace:], line) if is_json else _of_text(text, line)


def _of_text(text: str, line: int) -> tuple[str, Call, str, bool] | Skipped | None:
    found = _LINE.search(text)
    if found is None:
        return None
    members, end = arguments(text, found.end())
    if end is None:
        return Skipped(line=line, reason="cut off: the request does not end on its line")
    values: dict[str, Any] = {}
    is_cut = False
    for name in _MEMBERS:
        given = members.get(name)
        value = None if given is None else literal_at(given, 0)
        if value is not None and value[1] < len(given or ""):  # two halves with dots between
            is_cut = is_cut or name in ("text", "input_ids")
        elif value is not None:
            values[name] = value[0]
    counts: dict[str, Any] = {}
    if found["what"] == "Finish":
        meta = text.rfind(_META, end)
        if meta < 0:
            return Skipped(line=line, reason="cut off: the answer of this request has no meta_info")
        counts = {match[1]: int(match[2]) for match in _META_COUNT.finditer(text, meta)}
        if latency := _LATENCY.search(text, meta):
            counts["e2e_latency"] = float(latency[1])
    return _call(found["what"], values, counts, unix_time(found["time"]), is_cut, line)


def _of_json(text: str, line: int) -> tuple[str, Call, str, bool] | Skipped | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return Skipped(line=line, reason="cut off or damaged: expected a JSON object")
    what = _EVENTS.get(value.get("event"))
    obj = value.get("obj")
    if what is None or not isinstance(obj, dict):
        return None
    ids, prompt = obj.get("input_ids"), obj.get("text")
    is_cut = (isinstance(ids, list) and "..." in ids) or (
        isinstance(prompt, str) and len(prompt) == _LONGEST_AT_LEVEL_2 + 3 and prompt[1024:1027] == "..."
    )
    values = {name: obj[name] for name in _MEMBERS if name in obj and not (is_cut and name in ("text", "input_ids"))}
    values.setdefault("rid", value.get("rid"))
    out = value.get("out")
    meta = out.get("meta_info") if isinstance(out, dict) else None
    return _call(what, values, meta if isinstance(meta, dict) else {}, unix_time(value.get("timestamp")), is_cut, line)


def _call(
    what: str, values: Mapping[str, Any], counts: Mapping[str, Any], at: float | None, is_cut: bool, line: int
) -> tuple[str, Call, str, bool] | Skipped | None:
    request_id = str(values.get("rid") or f"line {line}")
    if request_id.startswith(_HEALTH):
        return None
    text, ids = values.get("text"), values.get("input_ids")
    prompt = ids if isinstance(ids, list) and ids else text if isinstance(text, str) else None
    if isinstance(prompt, list) and not all(type(one) is int for one in prompt):
        return Skipped(line=line, reason="several prompts in one request; their counts are not told apart")
    call = Call(
        target="sglang",
        dialect=RENDERED,
        body=b"" if prompt is None else rebuilt(prompt=prompt, lora=values.get("lora_path")),
        rebuilt=prompt is not None,
        session=str(values.get("session_id") or ""),
        usage=_usage(counts, ids),
        timing=None if at is None else Timing(at=at, sent_at_s=at),
        raw_usage=dict(counts) or None,
        line=line,
    )
    return what, call, request_id, is_cut


def _usage(counts: Mapping[str, Any], ids: Any) -> Usage:
    def named(member: str) -> tuple[int, str] | None:
        found = count(counts.get(member))
        return None if found is None else (found, f"meta_info.{member}")

    prompt = named("prompt_tokens")
    if prompt is None and isinstance(ids, list) and ids:
        prompt = len(ids), "input_ids"
    return usage_of(
        prompt=prompt,
        cached=named("cached_tokens"),
        output=named("completion_tokens"),
        reasoning=named("reasoning_tokens"),
    )[0]
