"""What this machine has that decides how an engine is started here."""

from __future__ import annotations

import platform
import shutil
import sys
from pathlib import Path
from typing import Literal, NamedTuple


class Machine(NamedTuple):
    accelerator: Literal["cuda", "metal"] | None
    has_avx512: bool


def this_machine() -> Machine:
    return Machine(_accelerator(), "avx512f" in _processor_flags())


def _accelerator() -> Literal["cuda", "metal"] | None:
    if Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi"):
        return "cuda"
    return "metal" if sys.platform == "darwin" and platform.machine() == "arm64" else None


def _processor_flags() -> set[str]:
    """Empty where the system does not list them in /proc."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    return {flag for line in text.splitlines() if line.startswith("flags") for flag in line.split()}
