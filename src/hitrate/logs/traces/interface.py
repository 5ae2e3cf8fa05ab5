"""What a trace format has to provide. One file a format beside this one."""

from __future__ import annotations

from typing import BinaryIO, Protocol

from hitrate.core.trace import Trace


class TraceReader(Protocol):
    name: str
    about: str
    """One line for people who choose a format."""

    def matches(self, head: bytes) -> bool:
        """Whether a file that starts with `head` (decompressed, up to 64 KiB) looks like this format."""
        ...

    def open(self, stream: BinaryIO, path: str, head: bytes, block_tokens: int | None) -> Trace:
        """The trace in `stream`, of which nothing was read yet. `block_tokens` is the block size that was asked for:
        taken where the format leaves it open, else what the trace's own blocks will be regrouped to.

        InputFileError for a file that cannot be replayed, with the reason.
        """
        ...
