"""Reference server: streams chat completions on a schedule and says in every reply when it did so.

The response id is `chatcmpl-<request read>-<first token written>`, two readings of CLOCK_MONOTONIC in nanoseconds.
On Linux `time.perf_counter_ns` of every process is that clock, so a client's error on one request is

    (its first token - its request written) - (first token written - request read)

and the server's own lateness cancels out. A request whose body names the model "instant" is answered at once, in one
write. Prints its port when it listens; ends with its standard input.

    python server.py [--uvloop] [--ttft-ms 20] [--itl-ms 5] [--tokens 16]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from time import perf_counter_ns

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
TOKEN = '{"id":"%s","object":"chat.completion.chunk","created":1,"model":"reference","choices":[%s]}'
CHOICE = '{"index":0,"delta":{"content":" word"},"finish_reason":null}'
LAST_CHOICE = '{"index":0,"delta":{},"finish_reason":"stop"}'
USAGE = (
    '{"id":"%s","object":"chat.completion.chunk","created":1,"model":"reference","choices":[],"usage":'
    '{"prompt_tokens":300,"completion_tokens":16,"total_tokens":316,"prompt_tokens_details":{"cached_tokens":256}}}'
)


def event(data: str) -> bytes:
    payload = f"data: {data}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(payload), payload)


class Reference(asyncio.Protocol):
    """One connection; requests come one at a time."""

    def __init__(self, ttft_s: float, itl_s: float, tokens: int) -> None:
        self._ttft_s, self._itl_s, self._tokens = ttft_s, itl_s, tokens
        self._loop = asyncio.get_running_loop()
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        read_ns = perf_counter_ns()
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(body) < length:
            return
        self._buffer = b""
        if b'"instant"' in body:
            self._answer_at_once(read_ns)
        else:
            self._transport.write(HEAD)
            self._due = self._loop.time() + self._ttft_s
            self._loop.call_at(self._due, self._first, read_ns)

    def _first(self, read_ns: int) -> None:
        self._id = f"chatcmpl-{read_ns}-{perf_counter_ns()}"
        self._token = event(TOKEN % (self._id, CHOICE))
        self._transport.write(self._token)
        self._left = self._tokens - 1
        self._schedule()

    def _next(self) -> None:
        self._transport.write(self._token)
        self._left -= 1
        self._schedule()

    def _schedule(self) -> None:
        if self._left:
            self._due += self._itl_s
            self._loop.call_at(self._due, self._next)
        else:
            self._transport.write(self._end(self._id))

    def _end(self, reply_id: str) -> bytes:
        return event(TOKEN % (reply_id, LAST_CHOICE)) + event(USAGE % reply_id) + event("[DONE]") + b"0\r\n\r\n"

    def _answer_at_once(self, read_ns: int) -> None:
        reply_id = f"chatcmpl-{read_ns}-{perf_counter_ns()}"
        token = event(TOKEN % (reply_id, CHOICE))
        self._transport.write(HEAD + token * self._tokens + self._end(reply_id))


async def serve(arguments: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Reference(arguments.ttft_ms / 1e3, arguments.itl_ms / 1e3, arguments.tokens),
        "127.0.0.1",
        0,
        backlog=1024,
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--ttft-ms", type=float, default=20.0)
    parser.add_argument("--itl-ms", type=float, default=5.0)
    parser.add_argument("--tokens", type=int, default=16)
    arguments = parser.parse_args()
    factory = None
    if arguments.uvloop:
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve(arguments))


if __name__ == "__main__":
    main()
