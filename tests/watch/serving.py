"""The live page on a port of this machine, for tests."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Callable, Iterator

from hitrate.watch.app import make_app
from hitrate.watch.feed import Feed
from hitrate.watch.listener import LazyServer

BASE = "/_hitrate"


@contextlib.contextmanager
def serving(feed: Feed, metrics: Callable[[], str] | None = None) -> Iterator[int]:
    """The port."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = LazyServer(listening, lambda: make_app(feed, metrics=metrics))
    try:
        yield listening.getsockname()[1]
    finally:
        feed.close()
        server.close()


def ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


class Events:
    """An open event stream; `next` gives the id and the update of the next event."""

    def __init__(self, port: int, **headers: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self._connection.request(
            "GET", f"{BASE}/events", headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        self.answer = self._connection.getresponse()

    def next(self) -> tuple[str, dict]:
        found = ""
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("id: "):
                found = line[4:]
            elif line.startswith("data: "):
                return found, json.loads(line[6:])

    def until(self, condition: Callable[[dict], bool]) -> tuple[str, dict]:
        """The first event that fulfils it."""
        while True:
            found, update = self.next()
            if condition(update):
                return found, update

    def close(self) -> None:
        self._connection.close()
        self.answer.close()
