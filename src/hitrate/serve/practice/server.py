"""Runs the practice server on uvicorn until it is told to stop."""

from __future__ import annotations

import asyncio
import errno
import gc
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from hitrate.errors import UsageError
from hitrate.serve.practice.app import PracticeApp
from hitrate.serve.practice.caches import cache_maker
from hitrate.serve.practice.options import PracticeOptions
from hitrate.serve.practice.protocol import ArrivalProtocol
from hitrate.tokens.cached import CachedTokenizer
from hitrate.tokens.o200k import O200k


def run(options: PracticeOptions, ready: Callable[[str], None], *, with_parent: bool = False) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is called once, with the base URL, when calls will be answered.

    `with_parent`: stop also when standard input closes, as it does when the process that started us ends.
    Raises UsageError for options that cannot be and for an address that cannot be had.
    """
    options.check()
    make_cache = cache_maker(options)
    listening = _listen(options.host, options.port)
    tokenizer = CachedTokenizer(O200k())
    tokenizer.encode("loaded before the first call, not by it")
    app = PracticeApp(options, tokenizer, make_cache)
    # Without this, a full collection walks the vocabulary and holds up every token for tens of milliseconds.
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=ArrivalProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        # What goes wrong in an answer is told by the application.
        log_level="critical",
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
        backlog=2048,
    )
    server = _Server(config, app, lambda: ready(base_url(options.host, listening)))
    if with_parent:
        threading.Thread(target=server.stop_at_end_of_input, daemon=True).start()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(server.serve(sockets=[listening]))


def base_url(host: str, listening: socket.socket) -> str:
    """What an OpenAI client takes as its base URL, the port being the one that was given to us."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}/v1"


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, app: PracticeApp, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.model_calls.stop()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Being stopped is how a server ends: uvicorn would raise the signal again and make it a failure.
        self.should_exit = True

    def stop_at_end_of_input(self) -> None:
        while sys.stdin.buffer.read(4096):
            pass
        self.should_exit = True


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        # Not on Windows, where it would let two servers share a port.
        if sys.platform != "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} on {host} is in use; choose another with --port, or 0 for a free one"
            ) from None
        raise UsageError(f"cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}") from None
    return listening


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where it is installed; its timers and writes are about twice as fast."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Any = uvloop.new_event_loop
    return factory  # type: ignore[no-any-return]
