"""`--version` and `--help` start fast because they load next to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "asyncio",
    "httptools",
    "jinja2",
    "msgspec",
    "platformdirs",
    "rich",
    "sqlite3",
    "starlette",
    "tiktoken",
    "uvicorn",
)

LOADED_AT_END = """
import atexit, json, sys
sys.argv[1:] = json.loads(sys.argv[1])
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from hitrate.cli import main
main()
"""


def started(*arguments: str, **variables: str) -> tuple[str, set[str]]:
    """What a command prints, and the modules loaded when it ended."""
    command = [sys.executable, "-c", LOADED_AT_END, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | variables)
    return done.stdout, set(json.loads(done.stderr))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--version"], "hitrate 0."), (["-V"], "hitrate 0."), (["--help"], "Start with: hitrate demo"), (["-h"], "demo")],
)
def test_version_and_help_load_no_heavy_module(arguments: list[str], says: str) -> None:
    printed, loaded = started(*arguments)
    assert says in printed
    assert sorted(loaded & set(HEAVY)) == []


def test_version_loads_no_command_line_library() -> None:
    assert "click" not in started("--version")[1]


def test_a_command_that_needs_them_does_load_them(tmp_path: Path) -> None:
    """Otherwise the tests above could pass because modules are not seen."""
    assert {"click", "msgspec", "sqlite3"} <= started("runs", HITRATE_STORE=str(tmp_path / "runs.sqlite3"))[1]
