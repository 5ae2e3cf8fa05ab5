"""Sessions of Codex CLI: JSONL below `~/.codex/sessions`, `rollout-*.jsonl`, one line an item or event.

    {"timestamp": "2026-11-01T12:00:00.000Z", "type": "session_meta", "payload": {"id": "...", "model_provider": ...}}
    {"timestamp": ..., "type": "turn_context", "payload": {"model": "gpt-5-codex", "effort": "high", ...}}
    {"timestamp": ..., "type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage":
        {"input_tokens": 9000, "cached_input_tokens": 8000, "output_tokens": 90, "reasoning_output_tokens": 30},
        "total_token_usage": {...}}, "rate_limits": {...}}}

(https://github.com/openai/codex, codex-rs/protocol/src/protocol.rs: RolloutLine, TokenCountEvent.) A `token_count`
comes with every answer of the model, and again where only the rate limits are new: then the totals are as before, and
it is no call. Without `last_token_usage` a call is what the totals grew by. Cached tokens are among the input tokens,
as writes are, where there are any. The requests themselves are not in the file, so `body` is empty.

Between the calls stand compactions (a `compacted` line, an event of that name), turns that were aborted, and errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from hitrate.core.model import Call, Timing
from hitrate.core.records import Remark, Skipped
from hitrate.logs.happenings import Happenings
from hitrate.logs.interface import Item, Repeated, ReplyReader
from hitrate.logs.lines import Line, first_objects, json_objects
from hitrate.logs.own_counts import count, first_count, usage_of
from hitrate.logs.pairs import unix_time
from hitrate.logs.shapes import kind

_LINES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")

_COMPACTED = ("context_compacted", "context_compaction")
_FAILED = {
    "turn_aborted": "turn aborted by the user",
    "error": "error before its usage came",
    "stream_error": "error before its usage came",
}

_COUNTS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
)

_SETTINGS = (("model", "model"), ("reasoning effort", "effort"))


class Codex:
    name = "codex"
    about = "session of Codex CLI (JSONL)"

    def matches(self, head: bytes, path: str) -> bool:
        return any(value.get("type") in _LINES and "payload" in value for value in first_objects(head))

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        session = _Session()
        for line in json_objects(stream):
            if isinstance(line, Line):
                yield from session.take(line.value, line.number)
            else:
                yield line


class _Session:
    """Takes the lines of one file. A file of a session that was forked repeats the lines of the one it came from, with
    their `session_meta`: the first one counts."""

    def __init__(self) -> None:
        self._id = ""
        self._target = "openai"
        self._model: str | None = None
        self._totals: Mapping[str, Any] = {}
        self._happenings = Happenings()

    def take(self, value: dict[str, Any], line: int) -> Iterator[Item]:
        payload = value.get("payload")
        if not isinstance(payload, dict):
            return
        at = unix_time(value.get("timestamp"))
        match value.get("type"):
            case "session_meta" if not self._id:
                self._id = str(payload.get("id") or "")
                self._target = str(payload.get("model_provider") or self._target)
            case "turn_context":
                self._set(payload, at)
            case "compacted":
                self._happenings.compacted("", at)
            case "event_msg" if payload.get("type") == "token_count":
                yield from self._count(payload.get("info"), at, line)
            case "event_msg" if payload.get("type") in _COMPACTED:
                self._happenings.compacted("", at)
            case "event_msg" if isinstance(event := payload.get("type"), str) and event in _FAILED:
                self._happenings.aborted(_FAILED[event], at)

    def _set(self, payload: dict[str, Any], at: float | None) -> None:
        for name, member in _SETTINGS:
            if isinstance(payload.get(member), str):
                self._happenings.set(name, payload[member], at)
        if isinstance(payload.get("model"), str):
            self._model = payload["model"]

    def _count(self, info: Any, at: float | None, line: int) -> Iterator[Item]:
        if info is None:  # the rate limits alone
            return
        if not isinstance(info, dict):
            yield Skipped(line=line, reason=f"/payload/info is {kind(info)}, expected an object")
            return
        totals = info.get("total_token_usage")
        before, self._totals = self._totals, totals if isinstance(totals, dict) else {}
        if totals and totals == before:
            yield Repeated()
            return
        counts = info.get("last_token_usage") or _grown(before, self._totals)
        if not isinstance(counts, dict) or count(counts.get("input_tokens")) is None:
            yield Skipped(line=line, reason="/payload/info has no input_tokens of the last call or in total")
            return
        found = {name: first_count(counts, [name]) for name in _COUNTS}
        prompt, cached, written, output, reasoning = found.values()
        usage, odd = usage_of(prompt=prompt, cached=cached, written=written, output=output, reasoning=reasoning)
        if odd is not None:
            yield Remark(line=line, what=odd)
        happenings = self._happenings.now()
        self._happenings.answered()
        yield Call(
            target=self._target,
            dialect="openai-responses",
            body=b"",
            model=self._model,
            session=self._id,
            usage=usage,
            timing=None if at is None else Timing(at=at, sent_at_s=at),
            raw_usage=dict(counts),
            happenings=happenings,
            line=line,
        )


def _grown(before: Mapping[str, Any], totals: Mapping[str, Any]) -> dict[str, int]:
    """What the totals of a session grew by. A total that fell began anew, as in a session that was forked."""
    grown = {}
    for name in _COUNTS:
        now, was = count(totals.get(name)), count(before.get(name)) or 0
        if now is not None:
            grown[name] = now - was if now >= was else now
    return grown
