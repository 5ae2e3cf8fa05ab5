"""Exchanges for the tests of recording."""

from __future__ import annotations

import json
from typing import Any

from hitrate.record.exchange import Exchange

CHAT = "/v1/chat/completions"
REPLY = {
    "id": "chatcmpl-1",
    "model": "practice-1",
    "choices": [{"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 40, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 32}},
}


def chat(number: int = 1, **fields: Any) -> Exchange:
    """A chat completion that came as one body; no two of different numbers are alike."""
    body = {"model": "practice-1", "messages": [{"role": "user", "content": f"question {number}"}]}
    fields = {"at": 1.79e9 + number, **fields}
    return exchange(json.dumps(body).encode(), json.dumps(REPLY).encode(), **fields)


def exchange(request: bytes, response: bytes, **fields: Any) -> Exchange:
    """Read in one piece, 20 ms after the request was written."""
    known: dict[str, Any] = {
        "upstream": "practice",
        "method": "POST",
        "path": CHAT,
        "at": 1.79e9,
        "sent_at_s": 1.0,
        "request_headers": {},
        "status": 200,
        "response_headers": {"content-type": "application/json"},
        "reads": ((len(response), 20_000_000),) if response else (),
        "headers_ns": 10_000_000,
        "total_ns": 20_000_000,
    }
    return Exchange(**{**known, "request_body": request, "response_body": response, **fields})


def streamed(request: bytes, pieces: list[bytes], **fields: Any) -> Exchange:
    """Piece number n, from 1, was read n * 10 ms after the request was written."""
    reads, end = [], 0
    for number, piece in enumerate(pieces, 1):
        end += len(piece)
        reads.append((end, number * 10_000_000))
    known = {"response_headers": {"content-type": "text/event-stream"}, "reads": tuple(reads)}
    return exchange(request, b"".join(pieces), **{**known, "total_ns": len(pieces) * 10_000_000, **fields})
