"""Chats with a vLLM server, with tools and salts, and what it told of each: its tokens, its counts, its reply.

The server is the real one (tests/differential/check_vllm_chat.py) or a recording of it.
"""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

from hitrate.caches.block_chain import BlockChainCache
from hitrate.core.model import Call, Reply, Timing, Usage
from hitrate.explain.turns.rows import Expected
from hitrate.live.engine_tokens import VllmTokens
from hitrate.live.expectation import expectations

RECORDED = Path(__file__).resolve().parents[1] / "data" / "engines" / "vllm_chat.json"

SYSTEM = "You are the support agent of a shop that repairs cargo bikes. Be brief and exact. " * 8
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find_order",
            "description": "Find an order by its number.",
            "parameters": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
        },
    }
]
QUESTIONS = ["Where is order 4711?", "And the brakes, are they in stock?", "Größe 52 für «Lücke»? 🚲", "Thanks. Bye."]
SESSIONS = (("chat script, one", TOOLS), ("chat script, two", TOOLS), ("chat script, one", None))
"""The cache salt and the tools: the second shares nothing with the first, the third nothing behind the tools."""


def converse(base_url: str, model: str) -> list[dict[str, Any]]:
    """Every call: the body sent, what it was answered, and the answer of /tokenize to the members of it that count."""
    calls = []
    for salt, tools in SESSIONS:
        messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
        for question in QUESTIONS:
            messages = [*messages, {"role": "user", "content": question}]
            body = {"model": model, "messages": messages, "cache_salt": salt}
            body |= {"max_tokens": 40, "temperature": 0, "return_token_ids": True}
            body |= {} if tools is None else {"tools": tools, "tool_choice": "auto"}
            answer = _post(f"{base_url}/chat/completions", body)
            asked = {name: body[name] for name in ("model", "messages", "tools") if name in body}
            tokenized = _post(f"{base_url.removesuffix('/v1')}/tokenize", asked)
            text = answer["choices"][0]["message"]["content"]
            calls.append(
                {
                    "body": body,
                    "text": text,
                    "token_ids": answer["choices"][0]["token_ids"],
                    "prompt_tokens": answer["usage"]["prompt_tokens"],
                    "cached_tokens": answer["usage"]["prompt_tokens_details"]["cached_tokens"],
                    "tokenized": tokenized["tokens"],
                }
            )
            messages = [*messages, {"role": "assistant", "content": text}]
    return calls


def _post(url: str, members: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(members).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.loads(answer.read())


def as_calls(conversation: list[dict[str, Any]]) -> list[Call]:
    """One a second, none at the same time as another."""
    return [
        Call(
            target="vllm",
            dialect="openai-chat",
            model=call["body"]["model"],
            body=json.dumps(call["body"]).encode(),
            usage=Usage(prompt_tokens=call["prompt_tokens"], cached_tokens=call["cached_tokens"]),
            timing=Timing(at=float(second), sent_at_s=float(second), ttft_s=0.1, total_s=0.5),
            reply=Reply(
                message={"role": "assistant", "content": call["text"]},
                text=call["text"],
                token_ids=tuple(call["token_ids"]),
            ),
        )
        for second, call in enumerate(conversation)
    ]


def predicted(conversation: list[dict[str, Any]], base_url: str) -> list[Expected]:
    """By what the server at that address tells of its tokens and blocks."""
    source = VllmTokens(base_url)
    settings = source.rule_settings()
    return expectations(as_calls(conversation), source, lambda: BlockChainCache(**settings))
