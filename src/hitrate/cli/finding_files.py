"""What the commands that find faults write beside their table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_file(file: str, write: Callable[[Any], None]) -> None:
    with Path(file).open("w", encoding="utf-8") as out:
        write(out)
    print(f"written: {file}", file=sys.stderr)
