"""How an engine that hitrate does not ship is started on this machine: the command, or why it cannot run here."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class StartCommand:
    """`why_not` is None when the command can run here. `health_path` answers 200 once the engine is ready."""

    engine: str
    target: str
    """The name of hitrate's own target for it."""
    model: str
    arguments: tuple[str, ...]
    port: int
    environment: Mapping[str, str] = field(default_factory=dict)
    health_path: str = "/health"
    why_not: str | None = None
    install: str = ""
    """What to install, in words."""
    rule_settings: Mapping[str, int] = field(default_factory=dict)
    """Parameters of the cache rule that the flags change."""

    @property
    def text(self) -> str:
        """As one line for a POSIX shell."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*variables, shlex.join(self.arguments)])


def find_tool(name: str, python: Path | None) -> str | None:
    """The console script `name`: beside `python` if one is named, else beside this interpreter or on the PATH."""
    folder = str((python or Path(sys.executable)).parent)
    return shutil.which(name, path=folder) or (None if python is not None else shutil.which(name))


def where_looked(python: Path | None) -> str:
    """Where `find_tool` looks, in words."""
    return "beside this Python or on the PATH" if python is None else f"beside {python}"
