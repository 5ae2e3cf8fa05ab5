"""`hitrate doctor --through` with routers that do one thing wrong each, and with one that does nothing wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hitrate.cli.group import run

Mend = Callable[[dict[str, str], Any], tuple[dict[str, str], Any]]


def same(headers: dict[str, str], body: Any) -> tuple[dict[str, str], Any]:
    return headers, body


class Router:
    """Sends requests on to workers in turn, or by `x-session-id`, after `mend` had a hand in them."""

    def __init__(self, workers: list[int], mend: Mend = same, *, sticky: bool = True, holds_back: bool = False) -> None:
        self._workers = workers
        self._mend = mend
        self._sticky = sticky
        self._holds_back = holds_back
        self._calls = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.strip().split("\r\n")
                headers = dict(line.split(": ", 1) for line in lines)
                sent = await reader.readexactly(int(headers.get("Content-Length", "0")))
                await self._pass_on(first, headers, json.loads(sent), writer)

    async def _pass_on(self, first: str, headers: dict[str, str], value: Any, writer: asyncio.StreamWriter) -> None:
        self._calls += 1
        number = sum(headers.get("x-session-id", "").encode()) if self._sticky else self._calls
        headers, value = self._mend(headers, value)
        body = json.dumps(value, ensure_ascii=False).encode()
        lines = [f"{name}: {text}" for name, text in headers.items() if name != "Content-Length"]
        port = self._workers[number % len(self._workers)]
        there, back = await asyncio.open_connection("127.0.0.1", port)
        back.write("\r\n".join([first, *lines, f"Content-Length: {len(body)}", "", ""]).encode("latin-1") + body)
        answer = b""
        while not answer.endswith(b"0\r\n\r\n"):
            piece = await there.read(65536)
            answer += piece
            if not self._holds_back:
                writer.write(piece)
        if self._holds_back:
            writer.write(answer)
        back.close()


@contextlib.contextmanager
def running(router: Router) -> Iterator[str]:
    """The router on a loop of its own, as another process would be."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    starting = asyncio.start_server(router.serve, "127.0.0.1", 0)
    server = asyncio.run_coroutine_threadsafe(starting, loop).result(10)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(contextlib.closing(socket.socket())) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def examined(
    capsys: pytest.CaptureFixture[str], make: Callable[[list[int]], Router], workers: int = 2
) -> tuple[int, dict[str, Any]]:
    ports = free_ports(workers)
    with running(make(ports)) as address:
        behind = [part for port in ports for part in ("--behind", f"127.0.0.1:{port}")]
        code = run(["doctor", "--through", address, *behind, "--wait", "0", "--json"])
    found = json.loads(capsys.readouterr().out)
    return code, {check["name"]: check for check in found["checks"]}


def outcomes(checks: dict[str, Any]) -> dict[str, str]:
    """What is not well. Not the latency, which is what else the machine does."""
    return {name: check["outcome"] for name, check in checks.items() if check["outcome"] != "ok" and name != "latency"}


def test_a_router_that_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, checks = examined(capsys, Router)

    assert (code, outcomes(checks)) == (0, {})
    assert checks["session keys"]["found"].startswith("arrive: x-session-id, ")


def without_session_keys(headers: dict[str, str], body: Any) -> tuple[dict[str, str], Any]:
    kept = {name: text for name, text in headers.items() if not name.startswith(("x-", "session"))}
    return kept, {name: value for name, value in body.items() if name not in ("user", "prompt_cache_key")}


def without_markers(headers: dict[str, str], body: Any) -> tuple[dict[str, str], Any]:
    if isinstance(body["messages"][0]["content"], list):
        del body["messages"][0]["content"][0]["cache_control"]
    return headers, body


def with_other_text(headers: dict[str, str], body: Any) -> tuple[dict[str, str], Any]:
    if isinstance(body["messages"][0]["content"], list):
        block = body["messages"][0]["content"][0]
        block["text"] = block["text"].replace("\r\n", "\n")
    return headers, body


def with_sorted_tools(headers: dict[str, str], body: Any) -> tuple[dict[str, str], Any]:
    if "tools" in body:
        body["tools"] = json.loads(json.dumps(body["tools"], sort_keys=True))
    return headers, body


def with_a_count(headers: dict[str, str], body: Any) -> tuple[dict[str, str], Any]:
    with_a_count.calls += 1  # type: ignore[attr-defined]
    body["messages"][0] = {"role": "system", "content": f"Request {with_a_count.calls}."}  # type: ignore[attr-defined]
    return headers, body


with_a_count.calls = 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("mend", "check", "outcome", "found"),
    [
        (without_session_keys, "session keys", "failed", "arrive: none; dropped: x-session-id, "),
        (without_markers, "cache markers", "failed", "cache_control is dropped at /messages/0/content/0/cache_control"),
        (with_other_text, "prompt text", "failed", "not what was sent at /messages/0/content/0/text"),
        (with_sorted_tools, "tools", "warning", "written otherwise at /tools/0"),
        (with_a_count, "same twice", "failed", "otherwise the second time, at /messages/0/content"),
    ],
)
def test_what_a_router_does_to_requests(
    capsys: pytest.CaptureFixture[str], mend: Mend, check: str, outcome: str, found: str
) -> None:
    code, checks = examined(capsys, lambda ports: Router(ports, mend), workers=1)

    assert checks[check]["outcome"] == outcome
    assert found in checks[check]["found"]
    assert code == (outcome == "failed")


def test_sessions_that_change_worker(capsys: pytest.CaptureFixture[str]) -> None:
    code, checks = examined(capsys, lambda ports: Router([*ports, ports[0]], sticky=False))

    assert code == 1
    assert "sessions changed worker within 3 calls" in checks["sessions"]["found"]


def test_replies_that_are_held_back(capsys: pytest.CaptureFixture[str]) -> None:
    code, checks = examined(capsys, lambda ports: Router(ports, holds_back=True), workers=1)

    assert (code, outcomes(checks)) == (1, {"stream": "failed", "sessions": "skipped"})


def test_a_router_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    port, behind = free_ports(2)
    arguments = ["--through", f"http://127.0.0.1:{port}/v1", "--behind", f"127.0.0.1:{behind}", "--wait", "0"]

    assert run(["doctor", *arguments, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["reachable"] is False
    assert found["checks"][0]["found"].endswith("connection refused")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--through", "http://127.0.0.1:1/v1"], "--through needs --behind HOST:PORT"),
        (["--through", "http://127.0.0.1:1/v1", "--behind", "9101"], "--behind is '9101', expected HOST:PORT"),
        (["practice", "--through", "http://127.0.0.1:1/v1"], "looks at a router, not at a target"),
        (["practice", "--behind", "127.0.0.1:9101"], "--behind goes with --through"),
        ([], "name a target, or a router with --through URL"),
    ],
)
def test_what_cannot_be_asked(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert run(["doctor", *arguments]) == 2
    assert said in capsys.readouterr().err
