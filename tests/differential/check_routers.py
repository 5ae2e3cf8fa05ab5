"""sglang-router and vllm-router in front of stand-in workers, beside the policies: the same worker each time."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from interpreters import python_of, recording
from router_scripts import RECORDED, Ask, Run, decisions, ring_decisions, runs

from hitrate.serve.worker import MODEL, StandIns

VERSIONS = {"sglang": "sglang-router 0.3.2", "vllm": "vllm-router 0.1.17"}
ROUTERS = " and ".join(VERSIONS.values())
HELD_MS = 99_999
LONGEST_S = 60


def listening() -> socket.socket:
    one = socket.socket()
    one.bind(("127.0.0.1", 0))
    one.listen(64)
    one.setblocking(False)
    return one


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def started(python: Path, run: Run, port: int, urls: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [str(python), "-m", f"{run.router}_router.launch_router", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--worker-urls", *urls, "--policy", run.policy, *run.options]
    command += ["--prometheus-host", "127.0.0.1", "--prometheus-port", str(free_port())]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield process
        finally:
            process.kill()  # asked to end, it waits for requests in flight
            process.wait(LONGEST_S)


class Client:
    """Asks a router over a connection a request, which is how a request that is in flight is ended: by leaving."""

    def __init__(self, port: int, workers: StandIns) -> None:
        self._port = port
        self._workers = workers
        self._held: dict[int, asyncio.StreamWriter] = {}

    async def ready(self, workers: int) -> None:
        for _ in range(4 * LONGEST_S):
            try:
                if len(await self.loads()) == workers:
                    return
            except (OSError, ValueError, KeyError):
                pass
            await asyncio.sleep(0.25)
        raise AssertionError("the router does not have its workers")

    async def loads(self) -> dict[str, int]:
        """Requests in flight by worker, as the router counts them."""
        reader, writer = await self._send("GET", "/workers", b"")
        _, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return {worker["url"]: worker["load"] for worker in json.loads(body)["workers"] if worker["is_healthy"]}

    async def ask(self, step: Ask) -> int:
        """The worker it reached. Comes back when the router's count of requests in flight has followed."""
        mark = f"hitrate-check {step.number:04d} {HELD_MS if step.held else 0}"
        body = {"model": MODEL, "prompt": step.text, "max_tokens": 1, "stop": [mark], "stream": step.held}
        header = {} if step.session is None else {"x-session-id": step.session}
        reader, writer = await self._send("POST", "/v1/completions", json.dumps(body).encode(), header)
        assert b" 200 " in await asyncio.wait_for(reader.readline(), LONGEST_S)
        if step.held:
            self._held[step.number] = writer
        else:
            await asyncio.wait_for(reader.read(), LONGEST_S)
            writer.close()
        await self._settled()
        return self._workers.arrived[f"{step.number:04d}"].worker

    async def end(self, number: int) -> None:
        self._held.pop(number).close()
        await self._settled()

    async def _settled(self) -> None:
        for _ in range(50 * LONGEST_S):
            if sum((await self.loads()).values()) == len(self._held):
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"the router counts {await self.loads()}, and {len(self._held)} are in flight")

    async def _send(
        self, method: str, path: str, body: bytes, header: dict[str, str] | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        fields = {"host": "router", "content-type": "application/json", "connection": "close", **(header or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        return reader, writer


async def routed(python: Path, run: Run, log: Path) -> tuple[list[int], list[str]]:
    """The worker of each request, and the workers' URLs."""
    sockets = [listening() for _ in range(run.workers)]
    urls = [f"http://127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    port = free_port()
    async with AsyncExitStack() as stack:
        workers = await stack.enter_async_context(StandIns(sockets, renders=run.renders))
        stack.enter_context(started(python, run, port, urls, log))
        client = Client(port, workers)
        await client.ready(run.workers)
        reached = []
        for step in run.steps:
            if isinstance(step, Ask):
                reached.append(await client.ask(step))
            else:
                await client.end(step.number)
    return reached, urls


def in_order_of_first_use(reached: list[int]) -> list[int]:
    numbers: dict[int, int] = {}
    return [numbers.setdefault(worker, len(numbers)) for worker in reached]


def check(run: Run, reached: list[int], urls: list[str]) -> dict[str, Any]:
    """What to record of it."""
    if run.model is None:
        assert reached == ring_decisions(run, urls)
        return {"fingerprint": run.fingerprint, "urls": urls, "decisions": reached}
    theirs = in_order_of_first_use(reached)
    mine = decisions(run)
    wrong = [(number, *pair) for number, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1]]
    assert wrong == [], f"{len(wrong)} of {len(mine)}"
    return {"fingerprint": run.fingerprint, "decisions": theirs}


@pytest.mark.parametrize("router", ["sglang", "vllm"])
def test_every_decision(router: str, tmp_path: Path) -> None:
    python = python_of("ROUTERS_PYTHON", ROUTERS)
    answers = {}
    for run in runs():
        if run.router == router:
            reached, urls = asyncio.run(routed(python, run, tmp_path / "router.log"))
            answers[f"{run.policy}: {run.name}"] = check(run, reached, urls)
    if recording():
        whole = {"router": VERSIONS[router], "runs": answers}
        text = json.dumps(whole, separators=(",", ":")).replace('},"', '},\n"')
        (RECORDED / f"{router}_router.json").write_text(text + "\n", encoding="utf-8")
