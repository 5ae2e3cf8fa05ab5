"""Runs a proxy until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Callable

from hitrate.serve.listening import loop_factory
from hitrate.serve.proxy.client import ClientSide
from hitrate.serve.proxy.proxy import Proxy

LOOK_EVERY_S = 1.0
GRACE_S = 10.0
"""Exchanges under way have so long to end when the proxy is stopped; a second signal ends them at once."""

_BACKLOG = 2048


def run(proxy: Proxy, listening: socket.socket, ready: Callable[[], None], *, grace_s: float = GRACE_S) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called once, when requests are taken."""
    raise_file_limit()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_until_signal(proxy, listening, ready, grace_s))


async def serve(
    proxy: Proxy,
    listening: socket.socket,
    ready: Callable[[], None],
    *,
    stop: asyncio.Event,
    hurry: asyncio.Event,
    grace_s: float = GRACE_S,
) -> None:
    """Serve until `stop`; then let running exchanges end until `hurry`, or for `grace_s`."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ClientSide(proxy), sock=listening, backlog=_BACKLOG)
    looking = loop.create_task(_look(proxy))
    try:
        ready()
        await stop.wait()
        server.close()
        proxy.on_idle = hurry.set
        proxy.stop_clients(now=False)
        if proxy.running:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(hurry.wait(), grace_s)
    finally:
        looking.cancel()
        server.close()
        proxy.close()
        await asyncio.sleep(0)  # lets the transports tell their connections


def raise_file_limit() -> None:
    """An exchange takes two files; the usual limit of 1,024 would be reached at 500 of them."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65_536)), hard))


async def _until_signal(proxy: Proxy, listening: socket.socket, ready: Callable[[], None], grace_s: float) -> None:
    loop = asyncio.get_running_loop()
    stop, hurry = asyncio.Event(), asyncio.Event()

    def told() -> None:
        (hurry if stop.is_set() else stop).set()

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, told)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(told))
    await serve(proxy, listening, ready, stop=stop, hurry=hurry, grace_s=grace_s)


async def _look(proxy: Proxy) -> None:
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        proxy.look()
