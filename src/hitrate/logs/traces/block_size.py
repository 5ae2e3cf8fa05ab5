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
    """From (input tokens, ids) of the first requests: what most of them agree with, first the usual size of the format,
    then the one asked for, then powers of two. InputFileError where not even half of them agree."""
    if not lengths:
        return Layout(usual, True)
    sizes = dict.fromkeys((usual, *([asked] if asked else []), *_USUAL))
    layouts = [Layout(size, partial) for size in sizes for partial in (True, False)]
    fitting = [sum(layout.fits(*one) for one in lengths) for layout in layouts]
    best = fitting.index(max(fitting))
    if 2 * fitting[best] >= len(lengths):
        return layouts[best]
    tokens, blocks = next(one for one in lengths if not layouts[best].fits(*one))
    raise InputFileError(
        path, f"no block size explains {blocks:,} ids for {tokens:,} input tokens; name its own with --block-size"
    )
