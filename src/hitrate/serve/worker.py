"""A stand-in engine that keeps the requests it gets as they came: what stands behind a router under examination.

It speaks enough of an OpenAI-compatible engine for routers to take it as healthy, and answers chat completions with
a word. Text of a request can hold "hitrate-check ID GAP": the request is kept under ID, and the second half of its
answer comes GAP milliseconds after the first.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import httptools
import msgspec

MODEL = "hitrate-stand-in"

_MARK = re.compile(rb"hitrate-check ([0-9a-z]{4,32}) ([0-9]{1,5})")
_JSON = "application/json"
_LISTS: Mapping[str, Any] = {
    "/v1/models": {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "hitrate"}]},
    # What sglang-router and vllm-router ask a worker before they send it anything.
    "/get_model_info": {"model_path": MODEL, "tokenizer_path": MODEL, "is_generation": True},
    "/model_info": {"model_path": MODEL, "tokenizer_path": MODEL, "is_generation": True},
    "/get_server_info": {"model_path": MODEL, "served_model_name": MODEL, "tp_size": 1, "dp_size": 1},
    "/server_info": {"model_path": MODEL, "served_model_name": MODEL, "tp_size": 1, "dp_size": 1},
    "/get_load": {"load": 0},
    "/version": {"version": "0"},
}
_USAGE = {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101}
_MOST_KEPT = 4096


class Arrived(NamedTuple):
    """A request as it came. `headers` in their order and case; `worker` counts the stand-ins from 0."""

    worker: int
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class StandIns:
    """`async with StandIns(sockets) as workers`: one worker a listening socket.

    With `renders` they tell routers a prompt's tokens, as vLLM does; here each character is a token.
    """

    def __init__(self, listening: list[socket.socket], *, renders: bool = False) -> None:
        self.renders = renders
        self.arrived: dict[str, Arrived] = {}
        """The newest request of each id."""
        self.asked = 0
        """Requests of any kind, health checks too: whether a router knows us at all."""
        self._listening = listening
        self._servers: list[asyncio.Server] = []

    async def __aenter__(self) -> StandIns:
        loop = asyncio.get_running_loop()
        for number, listening in enumerate(self._listening):
            server = await loop.create_server(lambda number=number: _Worker(self, number), sock=listening)  # type: ignore[misc]
            self._servers.append(server)
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()

    def keep(self, identity: str, arrived: Arrived) -> None:
        if len(self.arrived) >= _MOST_KEPT:
            del self.arrived[next(iter(self.arrived))]
        self.arrived[identity] = arrived


class _Worker(asyncio.Protocol):
    def __init__(self, stand_ins: StandIns, number: int) -> None:
        self._stand_ins = stand_ins
        self._number = number
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self.on_message_begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if self._transport is not None:
                self._transport.close()

    def on_message_begin(self) -> None:
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        if any(name.lower() == "expect" for name, _ in self._headers):
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        path = self._target.decode("latin-1").partition("?")[0]
        body = b"".join(self._body)
        self._stand_ins.asked += 1
        if self._stand_ins.renders and path.endswith("/completions/render"):
            self._write(_whole(_rendered(body, in_list="chat" not in path)))
            return
        mark = _MARK.search(body)
        if mark is not None:
            self._stand_ins.keep(mark[1].decode(), Arrived(self._number, path, tuple(self._headers), body))
        if self._parser.get_method() != b"POST" or not path.endswith(("/completions", "/generate")):
            self._write(_whole(_LISTS.get(path, {"status": "ok"})))
        elif b'"stream":true' in body.replace(b" ", b""):
            self._stream(0.0 if mark is None else int(mark[2]) / 1000)
        else:
            message = {"role": "assistant", "content": "yes"}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._write(_whole(_chat("chat.completion", [choice], _USAGE)))

    def _stream(self, gap_s: float) -> None:
        first = [{"index": 0, "delta": {"role": "assistant", "content": "yes"}, "finish_reason": None}]
        last = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
        self._write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            + _chunk(_event(_chat("chat.completion.chunk", first, None)))
        )
        rest = b"".join(
            (
                _chunk(_event(_chat("chat.completion.chunk", last, None))),
                _chunk(_event(_chat("chat.completion.chunk", [], _USAGE)) + b"data: [DONE]\n\n"),
                b"0\r\n\r\n",
            )
        )
        if gap_s:
            asyncio.get_running_loop().call_later(gap_s, self._write, rest)
        else:
            self._write(rest)

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)


def _chat(kind: str, choices: list[Any], usage: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-hitrate", "object": kind, "created": 0, "model": MODEL, "choices": choices, "usage": usage}


def _rendered(body: bytes, in_list: bool) -> Any:
    """What vLLM answers to `/v1/completions/render`, one for each prompt, and to `/v1/chat/completions/render`."""
    asked = msgspec.json.decode(body)
    text = asked["prompt"] if in_list else "".join(map(_text_of, asked["messages"]))
    rendered = {"request_id": "hitrate", "token_ids": [ord(character) for character in text], "sampling_params": {}}
    return [rendered] if in_list else rendered


def _text_of(message: Any) -> str:
    """Of a string or of blocks; other blocks than text, and null, have none."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(block.get("text") or "" for block in content)


def _event(value: Any) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _whole(value: Any) -> bytes:
    body = msgspec.json.encode(value)
    return f"HTTP/1.1 200 OK\r\ncontent-type: {_JSON}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
