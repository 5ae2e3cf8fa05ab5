"""An engine started by its own command, as a process of this machine."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable

from hitrate.engines.command import StartCommand
from hitrate.engines.starting import HOST, check_port, log_file
from hitrate.errors import Unreachable, UsageError

PATIENCE_S = 900.0
"""vLLM on two busy cores took 400 s to start."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class ExternalEngine:
    """A running server. Starting happens in the constructor, `stop()` or leaving the `with` block ends it.

    Raises UsageError when the command cannot run here or the port is taken, and Unreachable with the end of the
    engine's log when it ends before it is ready. `stopped` is asked while waiting: True gives up the start.
    """

    def __init__(self, command: StartCommand, *, stopped: Callable[[], bool] = lambda: False) -> None:
        if command.why_not is not None:
            raise UsageError(f"{command.engine} cannot be started here: {command.why_not}", hint=command.install)
        self.command = command
        check_port(command.port)
        self.log_path = log_file(command.target)
        begin = time.perf_counter()
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(
                command.arguments,
                env={**os.environ, **command.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C is for hitrate, which then ends the engine with all its processes.
                start_new_session=True,
            )
        try:
            self._wait_until_ready(begin, stopped)
        except BaseException:
            self._end()
            raise
        self.start_s = time.perf_counter() - begin

    @property
    def base_url(self) -> str:
        return f"http://{HOST}:{self.command.port}/v1"

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def end_of_log(self, lines: int = 3) -> str:
        text = self.log_path.read_text(encoding="utf-8", errors="replace")
        entries = [entry.strip() for entry in text.splitlines() if entry.strip()]
        return f"end of {self.log_path}: " + " | ".join(entries[-lines:])

    def __enter__(self) -> ExternalEngine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it; its log goes too unless it had ended by itself. Calling it again does nothing."""
        if self.running:
            self.log_path.unlink(missing_ok=True)
        self._end()

    def _end(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.running:
                break
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=15)

    def _wait_until_ready(self, begin: float, stopped: Callable[[], bool]) -> None:
        while not self._is_ready():
            engine, waited_s = self.command.engine, time.perf_counter() - begin
            if not self.running:
                raise Unreachable(
                    f"{engine} ended with exit code {self._process.returncode} before it was ready",
                    hint=self.end_of_log(),
                )
            if stopped():
                raise Unreachable(f"{engine} was stopped before it was ready, after {waited_s:.0f} s")
            if waited_s > PATIENCE_S:
                raise Unreachable(f"{engine} was not ready after {PATIENCE_S:.0f} s", hint=self.end_of_log())
            time.sleep(0.2)

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self.command.port, timeout=5)
        try:
            connection.request("GET", self.command.health_path)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
