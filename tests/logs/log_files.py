"""Short hands for logs written in a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hitrate.core.model import Call
from hitrate.core.records import Records
from hitrate.logs.sniff import Log, open_log
from hitrate.targets.dialects.by_shape import read_reply


def jsonl(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def opened(tmp_path: Path, data: bytes, format: str | None = None) -> Log:
    file = tmp_path / "log"
    file.write_bytes(data)
    return open_log(str(file), read_reply, format)


def read(tmp_path: Path, data: bytes, format: str | None = None) -> tuple[list[Call], Records]:
    log = opened(tmp_path, data, format)
    calls = list(log)
    return calls, log.records()


def chat(prompt: int | None, cached: int | None, output: int | None = 5, **more: Any) -> dict[str, Any]:
    """An exchange of the chat wire."""
    usage = {"prompt_tokens": prompt, "completion_tokens": output, "prompt_tokens_details": {"cached_tokens": cached}}
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    return {"at": "2026-11-01T12:00:00Z", "body": body, "response": {"usage": usage}, **more}
