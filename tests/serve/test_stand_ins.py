"""The stand-in engine, as a router asks it for a prompt's tokens."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hitrate.serve.listening import listen
from hitrate.serve.worker import StandIns


async def _asked(path: str, body: dict[str, Any]) -> Any:
    data = json.dumps(body).encode()
    listening = listen("127.0.0.1", 0)
    async with StandIns([listening], renders=True):
        reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
        writer.write(f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        answer = json.loads(await reader.readexactly(length))
        writer.close()
    return answer


@pytest.mark.parametrize(
    ("messages", "tokens"),
    [
        ([{"role": "user", "content": "ab"}], [97, 98]),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], [97, 98]),
        ([{"role": "assistant", "content": None, "tool_calls": []}, {"role": "user", "content": "c"}], [99]),
        ([{"role": "assistant"}, {"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], []),
    ],
)
def test_each_character_of_a_chat_is_a_token(messages: list[Any], tokens: list[int]) -> None:
    answer = asyncio.run(_asked("/v1/chat/completions/render", {"messages": messages}))

    assert answer["token_ids"] == tokens


def test_prompts_are_rendered_in_a_list() -> None:
    (answer,) = asyncio.run(_asked("/v1/completions/render", {"prompt": "ab"}))

    assert answer["token_ids"] == [97, 98]
