"""The page's address, there at once and cheap: what serves it is imported when the first visitor knocks.

The socket listens, and nothing more; a visitor waits in its queue for the fraction of a second that the imports take.
So a recorder whose page nobody opens pays for one thread that sleeps.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from typing import Any


class LazyServer:
    """Serves a socket that listens, and closes it at the end; `close` ends it, also when nobody ever came.

    `make_app` makes the ASGI application and is called in the server's thread, at the first connection.
    """

    def __init__(self, listening: socket.socket, make_app: Callable[[], Any]) -> None:
        self._socket = listening
        self._make_app = make_app
        self._wake, self._woken = socket.socketpair()
        self._server: Any = None
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="hitrate-page", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until it ends."""
        self._thread.join()

    def close(self) -> None:
        self._closing = True
        if self._server is not None:
            self._server.should_exit = True
        self._wake.close()
        self._thread.join()

    def _run(self) -> None:
        with self._socket, self._woken:
            ready, _, _ = select.select([self._socket, self._woken], [], [])
            if self._woken in ready:
                return
            self._serve()

    def _serve(self) -> None:
        import uvicorn

        config = uvicorn.Config(
            self._make_app(),
            loop="asyncio",
            ws="none",
            lifespan="off",
            access_log=False,
            log_level="critical",
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._server.should_exit = self._closing
        self._server.run(sockets=[self._socket])
