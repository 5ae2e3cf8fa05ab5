"""One client under test, alone in its process. Prints one JSON line per cell; started by run.py.

    python worker.py CLIENT PACED_URL INSTANT_URL --streams 1,64 --seconds 3

The aiohttp and httpx loops are given the best case: one shared session with warm connections, no limit on them, a byte
test instead of a parser on the first token, JSON decoded after the reply. All clients run on the same event loop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter_ns

MESSAGES = '[{"role":"system","content":"%s"},{"role":"user","content":"hello"}]' % ("prefix " * 250)
BODY = '{"model":"%s","messages":%s,"stream":true,"stream_options":{"include_usage":true},"max_tokens":16}'
PACED, INSTANT = ((BODY % (name, MESSAGES)).encode() for name in ("paced", "instant"))
FIRST_TOKEN = b'"content":"'

Ask = Callable[[int, bytes], Awaitable[tuple[float, str]]]
"""(stream, body) -> (TTFT in ms as this client sees it, response id)."""


@asynccontextmanager
async def hitrate_client(url: str, streams: int):
    from hitrate.live.client import Client
    from hitrate.targets.dialects.openai_chat import OpenAIChat

    async with Client(url, target="reference", dialect=OpenAIChat()) as client:
        await client.warm(streams)

        async def ask(stream: int, body: bytes) -> tuple[float, str]:
            call = await client.call(body, session=str(stream))
            assert call.error is None and call.usage.cached_tokens == 256, call.error
            return call.timing.ttft_s * 1e3, call.reply.response_id

        yield ask


def id_and_check(raw: bytes) -> str:
    chunks = [json.loads(line[6:]) for line in raw.split(b"\n\n") if line.startswith(b"data: {")]
    assert chunks[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] == 256
    return chunks[0]["id"]


@asynccontextmanager
async def aiohttp_client(url: str, streams: int):
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(stream: int, body: bytes) -> tuple[float, str]:
            first, raw = 0, b""
            start = perf_counter_ns()
            async with session.post(
                url + "/chat/completions", data=body, headers={"Content-Type": "application/json"}
            ) as response:
                async for piece in response.content.iter_any():
                    if not first and FIRST_TOKEN in piece:
                        first = perf_counter_ns()
                    raw += piece
            return (first - start) / 1e6, id_and_check(raw)

        yield ask


@asynccontextmanager
async def httpx_client(url: str, streams: int):
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=60) as session:

        async def ask(stream: int, body: bytes) -> tuple[float, str]:
            first, raw = 0, b""
            start = perf_counter_ns()
            async with session.stream(
                "POST", url + "/chat/completions", content=body, headers={"Content-Type": "application/json"}
            ) as response:
                async for piece in response.aiter_bytes():
                    if not first and FIRST_TOKEN in piece:
                        first = perf_counter_ns()
                    raw += piece
            return (first - start) / 1e6, id_and_check(raw)

        yield ask


CLIENTS = {"hitrate": hitrate_client, "aiohttp": aiohttp_client, "httpx": httpx_client}


async def cell(ask: Ask, streams: int, seconds: float, body: bytes) -> dict:
    """Each stream asks one request after the other; its first is not counted."""
    errors_ms: list[float] = []
    measured_from = time.perf_counter()
    deadline = measured_from + seconds
    cpu_from = time.process_time()

    async def stream_of(number: int) -> None:
        await ask(number, body)
        while True:
            ttft_ms, reply_id = await ask(number, body)
            _, read_ns, written_ns = reply_id.split("-")
            errors_ms.append(ttft_ms - (int(written_ns) - int(read_ns)) / 1e6)
            if time.perf_counter() >= deadline:
                return

    await asyncio.gather(*(stream_of(number) for number in range(streams)))
    wall_s, cpu_s = time.perf_counter() - measured_from, time.process_time() - cpu_from
    errors_ms.sort()
    requests = len(errors_ms) + streams
    return {
        "streams": streams,
        "requests": requests,
        "error_p50_ms": errors_ms[len(errors_ms) // 2],
        "error_p99_ms": errors_ms[min(len(errors_ms) - 1, len(errors_ms) * 99 // 100)],
        "requests_per_s": requests / wall_s,
        "cpu_s": cpu_s,
        "cpu_ms_per_request": cpu_s * 1e3 / requests,
    }


def peak_rss_mb() -> float:
    """Not ru_maxrss where it can be helped: that one remembers the parent's memory from before the exec."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def work(arguments: argparse.Namespace) -> None:
    client = CLIENTS[arguments.client]
    for streams in arguments.streams:
        async with client(arguments.paced_url, streams) as ask:
            print(json.dumps({"mode": "paced", **await cell(ask, streams, arguments.seconds, PACED)}), flush=True)
    async with client(arguments.instant_url, arguments.instant_streams) as ask:
        result = await cell(ask, arguments.instant_streams, arguments.seconds, INSTANT)
        print(json.dumps({"mode": "instant", **result}), flush=True)
    print(json.dumps({"mode": "process", "peak_rss_mb": peak_rss_mb(), "cpu_s": time.process_time()}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("client", choices=CLIENTS)
    parser.add_argument("paced_url")
    parser.add_argument("instant_url")
    parser.add_argument("--streams", type=lambda text: [int(part) for part in text.split(",")], required=True)
    parser.add_argument("--instant-streams", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--stdlib-loop", action="store_true")
    arguments = parser.parse_args()
    factory = None
    if not arguments.stdlib_loop:
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(work(arguments))


if __name__ == "__main__":
    main()
