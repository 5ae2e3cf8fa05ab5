"""A trace in larger blocks than its own: each so many of its blocks, named by the last of them.

That is exact, since the number of a block stands for all text in front of it, too. A rest that fills no large block has
a number where rests have one in the trace itself.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from hitrate.core.records import Records
from hitrate.core.trace import Chunk, Trace
from hitrate.errors import UsageError


class Regrouped:
    """UsageError for a size that is no multiple of the trace's own, or for blocks that stand for themselves alone."""

    def __init__(self, trace: Trace, block_tokens: int) -> None:
        own = trace.facts.block_tokens
        if not trace.facts.ordered:
            raise UsageError(f"{trace.facts.path}: blocks of this format stand for themselves and cannot be regrouped")
        if block_tokens % own:
            raise UsageError(
                f"{trace.facts.path} is known in blocks of {own} tokens: --block-size {block_tokens} is no multiple of "
                f"that; what blocks of another size share cannot be told"
            )
        self.facts = replace(trace.facts, block_tokens=block_tokens)
        self._trace = trace
        self._step = block_tokens // own
        self._numbers: dict[int, int] = {}

    def chunks(self) -> Iterator[Chunk]:
        numbers, step = self._numbers, self._step
        for chunk in self._trace.chunks():
            ids = array("q")
            starts = array("q", [0])
            for start, end in pairwise(chunk.starts):
                last = list(chunk.ids[start + step - 1 : end : step])
                if self.facts.has_partial_blocks and (end - start) % step:
                    last.append(chunk.ids[end - 1])
                ids.extend(numbers.setdefault(block, len(numbers)) for block in last)
                starts.append(len(ids))
            yield chunk._replace(ids=ids, starts=starts)

    def records(self) -> Records:
        return self._trace.records()
