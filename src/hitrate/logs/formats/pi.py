"""Session files of the coding agent pi: JSONL with one line a message or change.

Each assistant message carries the usage pi worked out from the provider's reply, in one accounting for all vendors:
`input` (neither read from the cache nor written), `cacheRead`, `cacheWrite`, `output`, and `cost` in US dollars
(https://github.com/badlogic/pi-mono, packages/ai/src/types.ts). A turn that was aborted or failed before its usage
came has zeros; those are no counts. The request itself is not in the file, so `body` is empty.

Lines between the messages say what changed: `compaction`, `branch_summary`, `thinking_level_change`, `model_change`.
They go to the next call that was answered, with the turns before it that were not: an assistant message whose
`stopReason` is "aborted" or "error" and whose counts are all zero. One that was aborted after its usage came is a call
like others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from hitrate.core.model import Call, Timing, Usage
from hitrate.core.records import Remark, Skipped
from hitrate.logs.happenings import Happenings
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.lines import Line, first_objects, json_objects
from hitrate.logs.pairs import unix_time
from hitrate.logs.shapes import kind

_UNFINISHED = ("aborted", "error")

_TARGETS = {"google": "gemini", "amazon-bedrock": "bedrock", "google-vertex": "gemini", "openai-codex": "openai"}
"""pi's names of providers, where they differ from those used here."""

_DIALECTS = {
    "openai-completions": "openai-chat",
    "google-generative-ai": "gemini-generate",
    "bedrock-converse-stream": "bedrock-converse",
}


class Pi:
    name = "pi"
    about = "session of the coding agent pi (JSONL)"

    def matches(self, head: bytes, path: str) -> bool:
        objects = first_objects(head)
        return any(value.get("type") == "session" and "cwd" in value and "id" in value for value in objects) or any(
            isinstance(message := value.get("message"), dict)
            and isinstance(message.get("usage"), dict)
            and "cacheRead" in message["usage"]
            for value in objects
        )

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        session = ""
        happenings = Happenings()
        for line in json_objects(stream):
            if not isinstance(line, Line):
                yield line
                continue
            value = line.value
            if value.get("type") == "session" and isinstance(value.get("id"), str):
                session = value["id"]
                happenings = Happenings()
            _note(value, happenings)
            message = value.get("message")
            if isinstance(message, dict) and message.get("role") == "assistant":
                yield from _call(value, message, session, line.number, read_reply, happenings)


def _note(value: dict[str, Any], happenings: Happenings) -> None:
    """What a line that is no message says has changed."""
    at = unix_time(value.get("timestamp"))
    for name, member in (("thinking level", "thinkingLevel"), ("model", "modelId")):
        if isinstance(value.get(member), str):
            happenings.set(name, value[member], at)
    if value.get("type") == "compaction":
        before = value.get("tokensBefore")
        happenings.compacted(f"of {before:,} tokens" if type(before) is int else "", at)
    elif value.get("type") == "branch_summary":
        happenings.compacted("summary of a branch that was left", at)


def _call(
    value: dict[str, Any],
    message: dict[str, Any],
    session: str,
    line: int,
    read_reply: ReplyReader,
    happenings: Happenings,
) -> Iterator[Item]:
    raw_usage = message.get("usage")
    if not isinstance(raw_usage, dict):
        yield Skipped(line=line, reason=f"/message/usage is {kind(raw_usage)}, expected an object")
        return
    if "input_tokens" in raw_usage and "input" not in raw_usage:
        yield Skipped(line=line, reason="/message/usage is that of another program's session file, not of pi's")
        return
    _, reading = read_reply({"usage": raw_usage}, "pi")
    usage = reading.usage
    unfinished = message.get("stopReason") in _UNFINISHED and not (usage.prompt_tokens or usage.output_tokens)
    if reading.fault is not None and not unfinished:
        yield Remark(line=line, what=reading.fault)
    provider, api = _text(message.get("provider")), _text(message.get("api"))
    at = unix_time(message.get("timestamp"))
    if at is None:
        at = unix_time(value.get("timestamp"))
    found = happenings.now()
    error = f"{message['stopReason']} before its usage came" if unfinished else None
    if error is not None:
        happenings.aborted(error, at)
    else:
        happenings.answered()
    yield Call(
        target=_TARGETS.get(provider, provider),
        dialect=_DIALECTS.get(api, api),
        body=b"",
        model=_text(message.get("model")) or None,
        session=session,
        usage=Usage() if unfinished else usage,
        timing=None if at is None else Timing(at=at, sent_at_s=at),
        raw_usage=None if unfinished else raw_usage,
        error=error,
        happenings=found,
        line=line,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
