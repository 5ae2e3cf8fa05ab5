"""Engines that hitrate has running: what they were started with, for predictions that fit them.

One small file an engine in the user's state folder, named after its port; it counts only while its process lives.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import platformdirs


def _file(port: int) -> Path:
    return platformdirs.user_state_path("hitrate") / "engines" / f"{port}.json"


def remember(port: int, pid: int, settings: Mapping[str, Any]) -> None:
    """Best effort: without the file predictions fall back to the engine's defaults."""
    file = _file(port)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"pid": pid, "settings": settings}), encoding="utf-8")
    except OSError:
        return


def forget(port: int) -> None:
    try:
        _file(port).unlink(missing_ok=True)
    except OSError:
        return


def settings_at(base_url: str) -> dict[str, Any] | None:
    """Settings of the engine that hitrate runs at this address on this machine, or None."""
    address = urlsplit(base_url)
    if address.hostname not in ("127.0.0.1", "localhost") or address.port is None:
        return None
    try:
        noted = json.loads(_file(address.port).read_text(encoding="utf-8"))
        os.kill(int(noted["pid"]), 0)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    settings = noted.get("settings")
    return settings if isinstance(settings, dict) else None
