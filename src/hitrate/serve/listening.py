"""A socket to listen on and a loop to serve it: what every server here needs."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import Callable
from typing import Any

from hitrate.errors import UsageError


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises UsageError for an address that cannot be had."""
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


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where it is installed; its timers and writes are about twice as fast."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Any = uvloop.new_event_loop
    return factory  # type: ignore[no-any-return]
