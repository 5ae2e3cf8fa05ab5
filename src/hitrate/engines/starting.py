"""What every start of an engine begins with: a port that is free, and a file for its log."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from pathlib import Path

import platformdirs

from hitrate.errors import UsageError

HOST = "127.0.0.1"


def check_port(port: int, otherwise: str = "choose another") -> None:
    """UsageError where the port is taken, ending with what to do `otherwise`."""
    with socket.socket() as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise UsageError(f"port {port} of {HOST} cannot be used: {error.strerror}; {otherwise}") from error


def log_file(name: str) -> Path:
    """A new empty file in the user's folder of logs. UsageError where none can be written."""
    folder = Path(platformdirs.user_log_dir("hitrate"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(prefix=f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-", suffix=".log", dir=folder)
    except OSError as error:
        raise UsageError(
            f"no log can be written to {folder}: {error.strerror}; free it or set XDG_STATE_HOME"
        ) from error
    os.close(handle)
    return Path(path)
