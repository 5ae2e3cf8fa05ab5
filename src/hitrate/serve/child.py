"""A practice server in a process of its own, so that its work does not disturb the one that measures."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Any
from urllib.parse import urlsplit

from hitrate.errors import HitrateError, Unreachable, UsageError


class PracticeServer:
    """`with PracticeServer(["--replicas", "18"]) as server: ... server.base_url`.

    `arguments` are those of `hitrate serve`; the port is a free one. The server ends with the block, and also when
    this process dies. `ready` is the ready line of the server.
    """

    def __init__(self, arguments: Sequence[str] = (), *, start_within_s: float = 60.0) -> None:
        self._arguments = [*arguments, "--port", "0", "--json", "--with-parent"]
        self._start_within_s = start_within_s
        self.ready: dict[str, Any] = {}

    @property
    def base_url(self) -> str:
        """With `/v1`, or the base path of the vendor that is imitated, as clients take it."""
        url: str = self.ready["base_url"]
        return url

    @property
    def root_url(self) -> str:
        """Where `/reset`, `/state` and `/metrics` are."""
        address = urlsplit(self.base_url)
        return f"{address.scheme}://{address.netloc}"

    @property
    def model(self) -> str:
        name: str = self.ready["model"]
        return name

    def __enter__(self) -> PracticeServer:
        """Raises UsageError as the server would, Unreachable when it does not start."""
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hitrate", "serve", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        assert self._process.stdout is not None
        too_late = threading.Timer(self._start_within_s, self._process.kill)
        too_late.start()
        try:
            line = self._process.stdout.readline()
        finally:
            too_late.cancel()
        if not line:
            error = self._failure()
            self.__exit__(None, None, None)
            raise error
        self.ready = json.loads(line)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        self._errors.close()

    def _failure(self) -> HitrateError:
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        said = next((line for line in lines if line.lower().startswith("error: ")), lines[-1] if lines else "")
        said = said[len("error: ") :] if said.lower().startswith("error: ") else said
        if code == UsageError.exit_code:
            return UsageError(f"practice server: {said}")
        return Unreachable(f"the practice server did not start within {self._start_within_s:g} s (exit {code}): {said}")
