"""A plain server: answers chat calls one by one with the replies that a test lists, from then on with the last one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Reply(NamedTuple):
    status: int
    body: bytes
    headers: Mapping[str, str] = {}


def stream(
    text: str = "Yes.", *, prompt: int = 3000, cached: int | None = 0, usage: Mapping[str, Any] | None = None
) -> Reply:
    """A whole reply as events. `usage` replaces the usage object; without cached tokens there are no details."""
    if usage is None:
        usage = {"prompt_tokens": prompt, "completion_tokens": 1}
        if cached is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
    chunks = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
        {"choices": [{"index": 0, "delta": {"content": text}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    ]
    events = [b"data: " + json.dumps({"id": "r", "model": "m", **chunk}).encode() for chunk in chunks]
    return Reply(200, b"\n\n".join([*events, b"data: [DONE]", b""]), {"Content-Type": "text/event-stream"})


def error(status: int, message: str, headers: Mapping[str, str] = {}, **members: Any) -> Reply:
    body = json.dumps({"error": {"message": message, **members}}).encode()
    return Reply(status, body, {"Content-Type": "application/json", **headers})


Answer = Reply | Callable[[dict[str, Any]], Reply]


class PlainServer:
    """`calls` are the chat bodies that came, `headers` theirs, names in lower case. `models` None: there is no list."""

    def __init__(self, *answers: Answer, models: Sequence[str] | None = ("m",)) -> None:
        self.calls: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._answers = list(answers)
        self._models = models
        self._lock = threading.Lock()

    def __enter__(self) -> PlainServer:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.paths.append(self.path)
                self._say(outer.listed())

            def do_POST(self) -> None:
                outer.paths.append(self.path)
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._say(outer.answer(body, {name.lower(): value for name, value in self.headers.items()}))

            def _say(self, reply: Reply) -> None:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *parts: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.address}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def listed(self) -> Reply:
        if self._models is None:
            return error(404, "Not Found")
        return Reply(200, json.dumps({"data": [{"id": name} for name in self._models]}).encode())

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        with self._lock:
            self.calls.append(body)
            self.headers.append(headers)
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return answer(body) if callable(answer) else answer
