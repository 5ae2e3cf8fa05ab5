"""Sessions of OpenCode: what `opencode export` prints, the messages of its server or storage, events of `opencode run`.

    {"info": {"id": "ses_...", ...}, "messages": [{"info": {"role": "assistant", "sessionID": "ses_...",
      "providerID": "anthropic", "modelID": "claude-sonnet-4-5", "time": {"created": 1793534400000},
      "tokens": {"input": 10, "output": 90, "reasoning": 0, "cache": {"read": 8000, "write": 500}}}, "parts": [...]}]}

(https://github.com/anomalyco/opencode, packages/opencode/src/session/message-v2.ts.) Also an array of those messages,
or one a line, with `info` and `parts` or flat as the storage has them, and the lines `{"type": "step_finish", "part":
...}` of `opencode run --format json`. `input` is neither read from the cache nor written, for all vendors (getUsage in
packages/opencode/src/session/index.ts). One message of older versions is several calls: then each of its parts
`step-finish` has the tokens of one. OpenCode writes 0 also where a vendor reports no cached tokens.

The request itself (tools, instructions) is not in the file, so `body` is empty. A message with `summary` is
a compaction, one with an error and no tokens was aborted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from hitrate.core.model import Call, Timing, Usage
from hitrate.core.records import Remark, Skipped
from hitrate.logs.happenings import Happenings
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.own_counts import Named, count, usage_of
from hitrate.logs.pairs import unix_time
from hitrate.logs.providers import target_of_provider
from hitrate.logs.shapes import kind
from hitrate.logs.tables import first_rows, rows

_DIALECTS = {
    "anthropic": "anthropic-messages",
    "google-vertex-anthropic": "anthropic-messages",
    "openai": "openai-responses",
    "amazon-bedrock": "bedrock-converse",
    "google": "gemini-generate",
    "google-vertex": "gemini-generate",
}

_ARRAYS = (("messages",),)


class OpenCode:
    name = "opencode"
    about = "session of OpenCode (JSON of export, messages or events)"

    def matches(self, head: bytes, path: str) -> bool:
        found = first_rows(head, _ARRAYS)
        exported = any({"info", "messages"} <= value.keys() for value in found) and b'"sessionID"' in head
        return exported or any(_is_message(value) or _step(value) is not None for value in found)

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        messages = _Messages()
        for row in rows(stream, _ARRAYS):
            if isinstance(row, Skipped):
                yield row
            else:
                yield from row.remarks
                yield from messages.take(row.value, line=row.line)
        yield from messages.remarks()


def _info(value: dict[str, Any]) -> dict[str, Any]:
    info = value.get("info")
    return info if isinstance(info, dict) else value


def _is_message(value: dict[str, Any]) -> bool:
    info = _info(value)
    return "sessionID" in info and isinstance(info.get("role"), str)


def _step(value: dict[str, Any]) -> dict[str, Any] | None:
    """The part with the tokens of one call: of a message, or of an event of `opencode run`."""
    if value.get("type") == "step_finish" and isinstance(value.get("part"), dict):
        return value["part"]
    return value if value.get("type") == "step-finish" and "tokens" in value else None


class _Messages:
    """Takes messages in order, of one session or of several."""

    def __init__(self) -> None:
        self._happenings: dict[str, Happenings] = {}
        self._calls = 0
        self._any_cached = False

    def take(self, value: Any, *, line: int | None) -> Iterator[Item]:
        if not isinstance(value, dict):
            yield Skipped(line=line, reason=f"the record is {kind(value)}, expected an object")
            return
        if (step := _step(value)) is not None:
            session = str(value.get("sessionID") or step.get("sessionID") or "")
            yield from self._call(step, {}, session, unix_time(value.get("timestamp")), line)
            return
        info = _info(value)
        listed = value.get("parts")
        parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
        session = str(info.get("sessionID") or "")
        at = _created(info)
        happenings = self._happenings.setdefault(session, Happenings())
        if info.get("role") != "assistant":
            return
        compacts = info.get("summary") is True
        for name, member in (("model", "modelID"), ("agent", "agent"), ("variant", "variant")):
            if isinstance(info.get(member), str) and not compacts:
                happenings.set(name, info[member], at)
        steps = [part for part in parts if part.get("type") == "step-finish" and "tokens" in part]
        for step in steps or [info]:
            yield from self._call(step, info, session, at, line)
        if compacts:
            happenings.compacted("", at)

    def _call(
        self, holder: dict[str, Any], info: dict[str, Any], session: str, at: float | None, line: int | None
    ) -> Iterator[Item]:
        tokens = holder.get("tokens")
        if not isinstance(tokens, dict):
            yield Skipped(line=line, reason=f"/tokens is {kind(tokens)}, expected an object")
            return
        usage, odd = _usage(tokens)
        if odd is not None:
            yield Remark(line=line, what=odd)
        happenings = self._happenings.setdefault(session, Happenings())
        found = happenings.now()
        error = None
        if not usage.prompt_tokens and not usage.output_tokens:  # before its usage came: no counts rather than zeros
            usage, error = Usage(), _error(info)
            happenings.aborted(error, at)
        else:
            happenings.answered()
            self._calls += 1
            self._any_cached = self._any_cached or bool(usage.cached_tokens or usage.written_tokens)
        provider = str(info.get("providerID") or "")
        model = info["modelID"] if isinstance(info.get("modelID"), str) else None
        yield Call(
            target=target_of_provider(provider, model),
            dialect=_DIALECTS.get(provider, "openai-chat"),
            body=b"",
            model=model,
            session=session,
            usage=usage,
            timing=None if at is None else Timing(at=at, sent_at_s=at),
            raw_usage=None if error else {"tokens": tokens, "cost": holder.get("cost")},
            error=error,
            happenings=found,
            line=line,
        )

    def remarks(self) -> Iterator[Remark]:
        """What shows only at the end of a log."""
        if self._calls > 1 and not self._any_cached:
            yield Remark(
                line=None,
                what="no call has cached tokens; OpenCode writes 0 also where a vendor reports none",
            )


def _usage(tokens: dict[str, Any]) -> tuple[Usage, str | None]:
    cache = tokens["cache"] if isinstance(tokens.get("cache"), dict) else {}

    def named(holder: dict[str, Any], member: str, name: str) -> Named | None:
        found = count(holder.get(member))
        return None if found is None else (found, name)

    return usage_of(
        prompt=named(tokens, "input", "tokens.input"),
        cached=named(cache, "read", "tokens.cache.read"),
        written=named(cache, "write", "tokens.cache.write"),
        output=named(tokens, "output", "tokens.output"),
        reasoning=named(tokens, "reasoning", "tokens.reasoning"),
        beside=True,
    )


def _created(info: dict[str, Any]) -> float | None:
    time = info.get("time")
    return unix_time(time.get("created") if isinstance(time, dict) else time)


def _error(info: dict[str, Any]) -> str:
    error = info.get("error")
    name = error.get("name") if isinstance(error, dict) else None
    return f"{name if isinstance(name, str) else 'ended'} before its usage came"
