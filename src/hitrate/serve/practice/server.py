"""Runs the practice server on uvicorn until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple

import uvicorn

from hitrate.serve.listening import listen, loop_factory
from hitrate.serve.practice.app import PracticeApp
from hitrate.serve.practice.caches import cache_maker
from hitrate.serve.practice.options import PracticeOptions
from hitrate.serve.practice.protocol import ArrivalProtocol
from hitrate.serve.practice.vendors import vendor
from hitrate.serve.practice.wires import OWN_BASE_PATH
from hitrate.tokens.cached import CachedTokenizer
from hitrate.tokens.interface import Tokenizer
from hitrate.tokens.o200k import O200k


class Running(NamedTuple):
    """`stop` may be called from any thread."""

    base_url: str
    stop: Callable[[], None]


def run_process(options: PracticeOptions, ready: Callable[[Running], None], *, with_parent: bool = False) -> None:
    """`run` with the o200k vocabulary, in a process that does nothing else.

    `with_parent`: stop also when standard input closes, as it does when the process that started us ends.
    """
    options.check()
    cache_maker(options)

    def ready_to_keep_time(running: Running) -> None:
        # Without this, a full collection walks everything imported and holds up every token meanwhile.
        gc.collect()
        gc.freeze()
        if with_parent:
            threading.Thread(target=_wait_for_end_of_input, args=(running.stop,), daemon=True).start()
        ready(running)

    tokenizer = CachedTokenizer(O200k())
    with contextlib.closing(listen(options.host, options.port)) as listening:
        # Loaded before the first call, not by it.
        tokenizer.encode("first")
        run(options, tokenizer, listening, ready_to_keep_time)


def run(
    options: PracticeOptions, tokenizer: Tokenizer, listening: socket.socket, ready: Callable[[Running], None]
) -> None:
    """Serve until SIGINT or SIGTERM (in the main thread) or `stop`. `ready` is called once, when calls are answered."""
    config = uvicorn.Config(
        PracticeApp(options, tokenizer, cache_maker(options)),  # type: ignore[arg-type]
        http=ArrivalProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        # What goes wrong in an answer is told by the application.
        log_level="critical",
        log_config=None,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
    )
    path = OWN_BASE_PATH if options.imitates is None else vendor(options.imitates).base_path
    server = _Server(config, lambda: ready(Running(base_url(options.host, listening, path), server.stop)))
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(server.serve(sockets=[listening]))


def _wait_for_end_of_input(stop: Callable[[], None]) -> None:
    # Not sys.stdin, whose lock a thread must not hold when the interpreter ends.
    while os.read(0, 4096):
        pass
    stop()


def base_url(host: str, listening: socket.socket, path: str = OWN_BASE_PATH) -> str:
    """What a client takes as its base URL, the port being the one that was given to us."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}{path}"


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.model_calls.stop()  # type: ignore[union-attr]
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Being stopped is how a server ends: uvicorn would raise the signal again and make it a failure.
        self.stop()

    def stop(self) -> None:
        self.should_exit = True
