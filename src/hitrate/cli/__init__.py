"""The command line: one file a command, loaded when it is called."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Entry point. `--version` is answered without loading the command-line library."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from hitrate import __version__

        print(f"hitrate {__version__}")
        return
    from hitrate.cli.group import run

    code = run()
    gc.freeze()  # the process ends: nothing that is left is worth looking for cycles of objects in
    sys.exit(code)
