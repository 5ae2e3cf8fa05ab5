"""The clients: raw connections that each send a request of 12 KB and read its stream to the end, again and again.

    python load.py STREAMS REQUESTS URL [URL...]

With one stream, every round asks each URL once, so that all see the same state of the machine. Prints a line of JSON
for each URL: requests/s (over all rounds) and the times to the first byte in milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from time import perf_counter
from urllib.parse import urlsplit

BODY_BYTES = 12 * 1024
LAST = b"data: [DONE]\n\n\r\n0\r\n\r\n"


def request_to(url: str) -> bytes:
    parts = urlsplit(url)
    members = {"model": "reference", "stream": True, "stream_options": {"include_usage": True}}
    body = {**members, "messages": [{"role": "user", "content": ""}]}
    text = " ".join(f"word{number * 7919 % 1009}" for number in range(BODY_BYTES))
    body["messages"][0]["content"] = text[: BODY_BYTES - len(json.dumps(body))]
    data = json.dumps(body).encode()
    head = f"POST {parts.path}/chat/completions HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: text/event-stream\r\n"
    head += "Authorization: Bearer sk-benchmark-0123456789\r\nContent-Type: application/json\r\n"
    return head.encode() + b"User-Agent: benchmark/1.0\r\nContent-Length: %d\r\n\r\n" % len(data) + data


class Stream(asyncio.Protocol):
    def __init__(self) -> None:
        self._end = b""
        self.first_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def ask(self, request: bytes) -> float:
        """Milliseconds to the first byte."""
        self._done = asyncio.get_running_loop().create_future()
        self._sent = perf_counter()
        self.first_s = 0.0
        self.transport.write(request)
        await self._done
        return self.first_s * 1e3

    def data_received(self, data: bytes) -> None:
        if not self.first_s:
            self.first_s = perf_counter() - self._sent
            if not data.startswith(b"HTTP/1.1 200"):
                self._done.set_exception(RuntimeError(f"answered {data[:300]!r}"))
                return
        self._end = (self._end + data)[-len(LAST) :]
        if self._end == LAST:
            self._end = b""
            self._done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(RuntimeError("the connection was closed"))


async def connect(url: str) -> Stream:
    parts = urlsplit(url)
    return (await asyncio.get_running_loop().create_connection(Stream, parts.hostname, parts.port))[1]


async def in_turn(requests: int, urls: list[str]) -> list[dict]:
    streams = [(await connect(url), request_to(url)) for url in urls]
    times: list[list[float]] = [[] for _ in urls]
    for number in range(requests + 20):
        for own, (stream, request) in zip(times, streams, strict=True):
            taken = await stream.ask(request)
            if number >= 20:  # the first ones warm everything
                own.append(taken)
    return [{"url": url, "ttft_ms": own, "requests_per_s": None} for url, own in zip(urls, times, strict=True)]


async def at_once(streams: int, requests: int, url: str) -> dict:
    request, left = request_to(url), requests
    times: list[float] = []

    async def one() -> None:
        nonlocal left
        stream = await connect(url)
        while left > 0:
            left -= 1
            times.append(await stream.ask(request))

    started = perf_counter()
    await asyncio.gather(*(one() for _ in range(streams)))
    return {"url": url, "ttft_ms": times, "requests_per_s": len(times) / (perf_counter() - started)}


async def main(streams: int, requests: int, urls: list[str]) -> None:
    if streams == 1:
        results = await in_turn(requests, urls)
    else:
        results = [await at_once(streams, requests, url) for url in urls]
    for result in results:
        print(json.dumps(result))


if __name__ == "__main__":
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
