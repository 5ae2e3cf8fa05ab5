"""A tokenizer of words and a server to ask, for tests without a vocabulary and without sockets."""

from __future__ import annotations

import json
import re
import socket
import threading
import zlib
from contextlib import contextmanager
from urllib.parse import parse_qsl, unquote, urlsplit

from hitrate.serve.listening import listen
from hitrate.serve.practice.caches import cache_maker
from hitrate.serve.practice.options import PracticeOptions
from hitrate.serve.practice.server import run
from hitrate.serve.practice.service import Service
from hitrate.serve.practice.timeline import pace_of, stream, whole_body
from hitrate.serve.practice.vendors import imitating
from hitrate.serve.practice.wires import WireTable


class WordTokenizer:
    """A token a word, with the space before it."""

    name = "words"
    exact = False

    def encode(self, text):
        return [zlib.crc32(word.encode()) for word in re.findall(r"\s*\w+|\s*[^\w\s]|\s+", text)]


def make_service(make_cache=None, **options):
    options = PracticeOptions(**options)
    return Service(options, WordTokenizer(), make_cache or cache_maker(options))


def options_as(name, **given):
    """Options of a server that imitates `name`, with what is given beside it."""
    return imitating(name, PracticeOptions(**given), given)


class Caller:
    """Speaks to a service without sockets, on the clock `now`, and lets every reply end."""

    def __init__(self, options):
        self.service = Service(options, WordTokenizer(), cache_maker(options))
        self.wires = WireTable(self.service.vendor)
        self.now = 0.0

    def accept(self, path, body, headers=()):
        path, _, query = path.partition("?")
        wire, place = self.wires.find(unquote(path))
        return self.service.accept(
            wire,
            body,
            {"authorization": "Bearer any", **dict(headers)},
            now=lambda: self.now,
            read_at=self.now,
            admitted=lambda: None,
            place=place,
            query=dict(parse_qsl(query)),
        )

    def send(self, path, body, headers=()):
        """What the server did, and the bytes it answered with, as one body or as a stream."""
        accepted = self.accept(path, body, headers)
        answer = self.service.answer(accepted, created=0)
        pace = pace_of(self.now, accepted.job.first_token_at, 100.0, accepted.faults)
        if accepted.request.stream:
            data = b"".join(write.data for write in stream(accepted.wire, answer, pace, accepted.faults))
        else:
            data = whole_body(accepted.wire, answer, pace, accepted.faults).data
        self.service.engine.first_token(accepted.job, now=self.now)
        self.service.finish(accepted, now=lambda: self.now)
        self.service.engine.check_integrity()
        return accepted.job, data.replace(b"\0", b"id") if accepted.wire.id_prefix else data


def chat_body(*contents, model="practice", **members):
    """User and assistant take turns, the user first; a dict stands for itself."""
    roles = ("user", "assistant")
    messages = [
        content if isinstance(content, dict) else {"role": roles[index % 2], "content": content}
        for index, content in enumerate(contents)
    ]
    return json.dumps({"model": model, "messages": messages, **members}).encode()


def words(count, start=0):
    return " ".join(f"w{number}" for number in range(start, start + count))


@contextmanager
def serving(**options):
    """The port of a server with the tokenizer of words, in a thread of this process, fast enough for tests."""
    with serving_options(PracticeOptions(port=0, **FAST | options)) as base_url:
        yield urlsplit(base_url).port


FAST = {"base_ms": 1, "prefill_rate": 1e6, "decode_rate": 1e4}


@contextmanager
def serving_options(options):
    """The base URL of such a server."""
    is_ready = threading.Event()
    handles = []

    def ready(running):
        handles.append(running)
        is_ready.set()

    thread = threading.Thread(target=run, args=(options, WordTokenizer(), listen(options.host, 0), ready))
    thread.start()
    assert is_ready.wait(20)
    try:
        yield handles[0].base_url
    finally:
        handles[0].stop()
        thread.join(20)


def exchange(port, body, *, path="/v1/chat/completions", method="POST", headers=""):
    """Status, headers and body as the socket gave them, chunk framing undone; the connection is closed after it.

    The last value says whether the body ended as announced.
    """
    request = (
        f"{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{headers}content-length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request.encode() + body)
        raw = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, rest = raw.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    found = dict(line.lower().split(": ", 1) for line in lines)
    if "content-length" in found:
        return int(status.split()[1]), found, rest, len(rest) == int(found["content-length"])
    text, whole = _unchunked(rest)
    return int(status.split()[1]), found, text, whole


def _unchunked(rest):
    text = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        if size == b"0":
            return text, True
        text += rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]
    return text, False
