"""The tokens of a replay as a vendor bills them: by the size of prompts, since long ones may have their own price."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from msgspec import Struct

from hitrate.core.trace import Chunk
from hitrate.sim.capacity.definitions import Definition


class Billed(Struct, frozen=True):
    """Requests with prompts of a range of sizes."""

    requests: int
    prompt_tokens: int
    hit_tokens: int
    output_tokens: int
    without_output: int
    """Requests of which the trace does not say how much was generated; they add no output tokens."""


class BilledTally:
    """Of a whole trace. `above` are the sizes that a prompt has to exceed for the next price, rising."""

    def __init__(self, above: Sequence[int], definition: Definition, block_tokens: int) -> None:
        self._above = above
        self._definition = definition
        self._block_tokens = block_tokens
        self._sums = [[0, 0, 0, 0, 0] for _ in range(len(above) + 1)]

    def add(self, chunk: Chunk, served: Iterable[int]) -> None:
        """`served` are leading blocks per request."""
        counted, block_tokens, starts = self._definition.served, self._block_tokens, chunk.starts
        columns = zip(chunk.input_tokens, chunk.output_tokens, served, strict=True)
        for index, (tokens, output, hits) in enumerate(columns):
            sums = self._sums[bisect_left(self._above, tokens)]
            sums[0] += 1
            sums[1] += tokens
            if hits:
                blocks = starts[index + 1] - starts[index]
                sums[2] += min(tokens, int(counted(hits, tokens, blocks, block_tokens)))
            if output < 0:
                sums[4] += 1
            else:
                sums[3] += output

    def sums(self) -> tuple[Billed, ...]:
        """One a range of sizes, the shortest prompts first."""
        return tuple(Billed(*one) for one in self._sums)
