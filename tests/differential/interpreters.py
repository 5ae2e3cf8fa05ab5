"""Engines live in environments of their own: where their Python is, and how a driver is run with it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

DRIVERS = Path(__file__).resolve().parent / "drivers"
LONGEST_S = 1200


def python_of(variable: str, needed: str) -> Path:
    """The interpreter that `variable` names, or a skip that says what to install and set."""
    named = os.environ.get(variable, "")
    path = Path(named)
    if not named or not path.is_file():
        found = f"{named} is no file" if named else f"{variable} is not set"
        pytest.skip(f"{found}: install {needed} into an environment of its own and set {variable} to its python")
    return path


def ask(python: Path, driver: str, lines: Iterable[Any], environment: dict[str, str] | None = None) -> list[Any]:
    """Answers of a driver to all lines. Lines of its output that are no JSON are an engine's own talk."""
    result = subprocess.run(
        [str(python), str(DRIVERS / driver)],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    answers = []
    for line in result.stdout.splitlines():
        try:
            answers.append(json.loads(line))
        except ValueError:
            continue
    return answers


def recording() -> bool:
    """Whether the recorded answers are written anew: `make differential RECORD=1`."""
    return os.environ.get("RECORD", "") not in ("", "0")
