"""How many tokens the blocks of a trace have, where its format leaves that open: told by its first requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hitrate.errors import InputFileError

_USUAL = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8, 4, 2, 1)


class Layout(NamedTuple):
    block_tokens: int
    has_partial_blocks: bool

    def fits(self, input_tokens: int, blocks: int) -> bool:
        return blocks == (-(-input_tokens // self[0]) if self[1] else input_tokens // self[0])

    def misfit(self, input_tokens: int, blocks: int) -> str:
        kind = "blocks" if self.has_partial_blocks else "full blocks"
        return f"{blocks:,} ids for {input_tokens:,} input tokens, which are another number of {kind} of {self[0]}"


def layout_of(lengths: Sequence[tuple[int, int]], path: str, usual: int, asked: int | None) -> Layout:
    """From (input tokens, ids) of the first requests: the usual size of the format where they agree with it, else the
    one asked for, else a power of two. InputFileError where none fits."""
    if not lengths:
        return Layout(usual, True)
    for size in (usual, *([asked] if asked else []), *_USUAL):
        for partial in (True, False):
            found = Layout(size, partial)
            if all(found.fits(*one) for one in lengths):
                return found
    tokens, blocks = next((one for one in lengths if not Layout(usual, True).fits(*one)), (0, 0))
    raise InputFileError(
        path, f"no block size explains {blocks:,} ids for {tokens:,} input tokens; name its own with --block-size"
    )
