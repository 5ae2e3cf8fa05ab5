"""Numbered requests, the answers that belong to them, and a model server that does with each what its `model` says.

    python scripted.py                                         prints its port; ends with its standard input

Request and answer follow from number and script alone, so that whoever looks at a record knows what has to be in it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
from contextlib import suppress

WHOLE = "whole"
PACED = "paced"
"""Whole, with time between its chunks."""
LARGE = "large"
"""Whole, and more than all buffers on the way hold."""
REFUSED = "refused"
"""Status 500."""
RESET = "reset"
"""The connection is reset when the request was read."""
CUT = "cut"
"""The connection is closed in the middle of the stream."""
STALLED = "stalled"
"""Half a stream, then silence."""

COMPLETE = (WHOLE, PACED, LARGE, REFUSED)

_REQUEST_BYTES = 12 * 1024
_PIECES, _LARGE_PIECES, _LARGE_PIECE = 30, 64, 32 * 1024
_GAP_S = 0.005
_AT_ONCE = struct.pack("ii", 1, 0)


def request(number: int, script: str) -> bytes:
    body = {"model": script, "stream": True, "messages": [{"role": "user", "content": f"#{number} "}]}
    text = " ".join(f"word{place * 7919 % 1009}" for place in range(number % 7, _REQUEST_BYTES // 8))
    body["messages"][0]["content"] += text[: _REQUEST_BYTES - len(json.dumps(body))]
    return json.dumps(body).encode()


def number_in(body: bytes) -> int:
    return int(body.partition(b'"#')[2].partition(b" ")[0])


def pieces(number: int, script: str) -> list[str]:
    """The texts of the chunks of the answer."""
    if script == LARGE:
        return [f"{number}.{place} ".ljust(_LARGE_PIECE, "x") for place in range(_LARGE_PIECES)]
    return [f"{number}.{place} " for place in range(_PIECES)]


def answer(number: int, script: str) -> list[bytes]:
    """What is written, one after the other."""
    if script == REFUSED:
        body = json.dumps({"error": {"message": f"#{number} is refused", "type": "server_error"}}).encode()
        return [
            b"HTTP/1.1 500 Oh\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        ]
    choices = [[{"index": 0, "delta": {"content": text}, "finish_reason": None}] for text in pieces(number, script)]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    events = [json.dumps({"id": f"c{number}", "model": script, "choices": one}).encode() for one in choices]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return [head, *(_chunk(b"data: %b\n\n" % event) for event in (*events, b"[DONE]")), b"0\r\n\r\n"]


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body of a request that says its length."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    return head, await reader.readexactly(length)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            _, body = await read_message(reader)
            script = json.loads(body)["model"]
            writes = answer(number_in(body), script)
            if script == RESET:
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                break
            for data in writes if script in COMPLETE else writes[: len(writes) // 2]:
                writer.write(data)
                await writer.drain()
                await asyncio.sleep(_GAP_S if script != WHOLE else 0)
            if script == STALLED:
                await reader.read()  # until the other side goes away
            if script not in COMPLETE:
                break
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
