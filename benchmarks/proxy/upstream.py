"""The model server behind the proxies: streams 36 chunks for every request, each written by itself.

Prints its port when it listens; ends with its standard input.

    python upstream.py [--gap-ms 0]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys

TOKENS = 32
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def _event(**members: object) -> bytes:
    shared = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "reference"}
    data = b"data: " + json.dumps({**shared, **members}, separators=(",", ":")).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


def _choice(finish: str | None = None, **delta: str) -> list[dict[str, object]]:
    return [{"index": 0, "delta": delta, "finish_reason": finish}]


USAGE = {
    "prompt_tokens": 3000,
    "completion_tokens": TOKENS,
    "total_tokens": 3000 + TOKENS,
    "prompt_tokens_details": {"cached_tokens": 2816},
}
CHUNKS = [
    HEAD + _event(choices=_choice(role="assistant", content="")),
    *[_event(choices=_choice(content=" word")) for _ in range(TOKENS)],
    _event(choices=_choice(finish="stop")),
    _event(choices=[], usage=USAGE),
    b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n",
]


class Model(asyncio.Protocol):
    """One connection; requests come one at a time."""

    def __init__(self, gap_s: float) -> None:
        self._gap_s = gap_s
        self._loop = asyncio.get_running_loop()
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        if len(body) >= length:
            self._buffer = b""
            self._due = self._loop.time()
            self._write(0)

    def _write(self, number: int) -> None:
        self._transport.write(CHUNKS[number])
        if number + 1 == len(CHUNKS):
            return
        if self._gap_s:
            self._due += self._gap_s
            self._loop.call_at(self._due, self._write, number + 1)
        else:
            self._loop.call_soon(self._write, number + 1)  # in a turn of its own: writes of one turn are joined


async def serve(gap_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Model(gap_s), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gap-ms", type=float, default=0.0)
    arguments = parser.parse_args()
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(arguments.gap_ms / 1e3))


if __name__ == "__main__":
    main()
