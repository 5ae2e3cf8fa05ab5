"""A server that writes exactly the bytes a test lists, the bytes, and calls made to it."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Sequence

from hitrate.live.client import Client
from hitrate.targets.dialects.openai_chat import OpenAIChat

CLOSE, RESET, SILENCE = "close", "reset", "silence"
"""Instead of a segment: end the connection as it should be ended, break it, or never write again."""


class WireServer:
    """Answers request number n with the n-th list of segments, each written on its own. Records what it was sent."""

    def __init__(self, *replies: Sequence[bytes | str], tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[tuple[bytes, bytes]] = []
        self.connections_of_requests: list[int] = []
        self._replies = list(replies)
        self._tls = tls
        self._opened = 0

    async def __aenter__(self) -> WireServer:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/v1"
        return self

    async def __aexit__(self, *reason: object) -> None:
        self._server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._opened += 1
        number = self._opened
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
                self.requests.append((head, await reader.readexactly(int(length or 0))))
                self.connections_of_requests.append(number)
                if not await self._answer(self._replies.pop(0), writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.transport.abort()

    async def _answer(self, segments: Sequence[bytes | str], writer: asyncio.StreamWriter) -> bool:
        for segment in segments:
            if isinstance(segment, bytes):
                writer.write(segment)
                await writer.drain()
                await asyncio.sleep(0)
            elif segment == SILENCE:
                return True
            else:
                if segment == RESET:
                    raw_socket = writer.get_extra_info("socket")
                    raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.close()
                return False
        return True


ROLE = b'data: {"id":"r1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}'
HEL = b'data: {"id":"r1","choices":[{"index":0,"delta":{"content":"Hel"}}]}'
LO = 'data: {"id":"r1","choices":[{"index":0,"delta":{"content":"lö"}}]}'.encode()
THINK = b'data: {"id":"r1","choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}'
STOP = b'data: {"id":"r1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
COUNTS = b'"usage":{"prompt_tokens":90,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":64}}'
USAGE = b'data: {"id":"r1","choices":[],' + COUNTS + b"}"
DONE = b"data: [DONE]"

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def chunked(*parts: bytes) -> list[bytes]:
    return [b"%x\r\n%b\r\n" % (len(part), part) for part in parts] + [b"0\r\n\r\n"]


def stream(*events: bytes, end: bytes = b"\n\n") -> list[bytes]:
    return [STREAM + b"Transfer-Encoding: chunked\r\n\r\n", *chunked(*(event + end for event in events))]


def with_length(body: bytes, *, status: bytes = b"200 OK", headers: bytes = b"") -> list[bytes]:
    return [b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n" % (status, headers, len(body)), body]


WHOLE = (ROLE, HEL, LO, STOP, USAGE, DONE)
ALL = b"\n\n".join(WHOLE) + b"\n\n"


async def call_once(server, *, base_url=None, body=b'{"model":"m"}', **options):
    call_options = {name: options.pop(name) for name in ("headers", "session", "stream") if name in options}
    async with server, Client(base_url or server.url, target="t", dialect=OpenAIChat(), **options) as client:
        return await client.call(body, **call_options)


async def calls_of(server, *sessions, **options):
    async with server, Client(server.url, target="t", dialect=OpenAIChat(), **options) as client:
        calls = []
        for session in sessions:
            calls.append(await client.call(b"{}", session=session))
        return calls, client
