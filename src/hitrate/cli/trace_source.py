"""A trace, log or run named on the command line, to be opened as often as a replay needs it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, cast

from hitrate.core.trace import Trace
from hitrate.errors import UsageError
from hitrate.logs.opened import STANDARD_INPUT
from hitrate.logs.traces.sniff import TRACE_READERS, open_trace

_LOG_BLOCK_TOKENS = 16
"""Of a log, where nothing else is asked for: vLLM's own."""


class TraceSource:
    """Standard input is kept in a temporary file, since it can be read only once."""

    def __init__(self, name: str, format: str | None, block_tokens: int | None) -> None:
        self._name = name
        self._format = format
        self._block_tokens = block_tokens
        self._kept: BinaryIO | None = None

    def __enter__(self) -> TraceSource:
        if self._name == STANDARD_INPUT:
            self._kept = cast(BinaryIO, tempfile.TemporaryFile())
            shutil.copyfileobj(sys.stdin.buffer, self._kept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._kept is not None:
            self._kept.close()

    def open(self) -> Trace:
        """From its start. UsageError or InputFileError as `open_trace` and the log readers have them."""
        is_file = self._kept is not None or Path(self._name).exists()
        named = self._format in {reader.name for reader in TRACE_READERS}
        if not named and self._format is not None:
            _check_log_format(self._format)
        if is_file and (self._format is None or named):
            found = open_trace(self._name, self._format, block_tokens=self._block_tokens, stream=self._stream())
            if found is not None:
                return found
        # A trace needs none of these, and they take longer to import than many a trace to replay.
        from hitrate.cli.reading import open_source
        from hitrate.cli.trace_tokens import PromptTokens
        from hitrate.logs.traces.from_log import LogTrace

        log = open_source(self._name, self._format, stream=self._stream())
        tokens = PromptTokens(log)
        return LogTrace(log, tokens, tokens.basis, self._block_tokens or _LOG_BLOCK_TOKENS)

    def _stream(self) -> BinaryIO | None:
        """What was kept of standard input, from its start, to be closed by who reads it."""
        if self._kept is None:
            return None
        self._kept.seek(0)
        return open(self._kept.fileno(), "rb", closefd=False)


def _check_log_format(name: str) -> None:
    """UsageError where it is the name of no format at all."""
    from hitrate.cli.reading import STORED
    from hitrate.logs.sniff import READERS

    logs = [STORED, *(reader.name for reader in READERS)]
    if name in logs:
        return
    traces = [reader.name for reader in TRACE_READERS]
    near = get_close_matches(name, [*traces, *logs], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    raise UsageError(f"no trace or log format called {name!r}{hint} known: {', '.join([*traces, *logs])}")
