"""One reply on every wire: "Good day.", 40 prompt tokens, 32 of them cached, 2 output tokens. In pieces as sent."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64encode
from typing import Any


def sse(*events: dict[str, Any] | str) -> list[bytes]:
    """One piece an event, with its type in front on the wires that have one."""
    pieces = []
    for event in events:
        kind = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        data = event if isinstance(event, str) else json.dumps(event)
        pieces.append(f"{kind}data: {data}\n\n".encode())
    return pieces


def aws(kind: str, payload: dict[str, Any]) -> bytes:
    """A message of an AWS event stream."""
    headers = b""
    for name, value in ((":event-type", kind), (":message-type", "event")):
        headers += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    data = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(data), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + data
    return message + struct.pack(">I", zlib.crc32(message))


CHAT = sse(
    {
        "id": "c1",
        "model": "m-1",
        "system_fingerprint": "fp_1",
        "service_tier": "flex",
        "choices": [{"delta": {"role": "assistant", "content": ""}}],
    },
    {"id": "c1", "choices": [{"delta": {"content": "Good "}}]},
    {"id": "c1", "choices": [{"delta": {"content": "day."}, "finish_reason": "stop"}]},
    {
        "id": "c1",
        "choices": [],
        "usage": {"prompt_tokens": 40, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 32}},
    },
    "[DONE]",
)
MESSAGES = sse(
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "model": "m-1",
            "diagnostics": {"cache_miss_reason": "x"},
            "usage": {"input_tokens": 6, "cache_read_input_tokens": 32, "cache_creation_input_tokens": 2},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Good "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "day."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
)
RESPONSES = sse(
    {"type": "response.created", "response": {"id": "r1", "model": "m-1", "service_tier": "auto"}},
    {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "i", "delta": "Good "},
    {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "i", "delta": "day."},
    {
        "type": "response.completed",
        "response": {
            "id": "r1",
            "model": "m-1",
            "status": "completed",
            "service_tier": "default",
            "output": [
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Good day."}]}
            ],
            "usage": {"input_tokens": 40, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 32}},
        },
    },
)
GEMINI_CHUNKS = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Good "}]}}], "modelVersion": "m-1"},
    {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "day."}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 40, "cachedContentTokenCount": 32, "candidatesTokenCount": 2},
    },
]
GEMINI_ARRAY = [b"[" + json.dumps(GEMINI_CHUNKS[0]).encode(), b"\r\n,", json.dumps(GEMINI_CHUNKS[1]).encode(), b"]"]
BEDROCK = [
    aws("messageStart", {"role": "assistant"}),
    aws("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Good "}}),
    aws("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "day."}}),
    aws("contentBlockStop", {"contentBlockIndex": 0}),
    aws("messageStop", {"stopReason": "end_turn"}),
    aws("metadata", {"usage": {"inputTokens": 8, "outputTokens": 2, "cacheReadInputTokens": 32, "totalTokens": 42}}),
]
INVOKED = [aws("chunk", {"bytes": b64encode(piece.partition(b"data: ")[2].strip()).decode()}) for piece in MESSAGES]
COMPLETION = sse(
    {"content": "Good ", "stop": False},
    {"content": "day.", "stop": False},
    {"content": "", "stop": True, "stop_type": "eos", "timings": {"cache_n": 32, "prompt_n": 8, "predicted_n": 2}},
)
