"""What a hit rate counts. The same replay gives several, some points apart, so each has a name that goes with it.

Blocks served are the leading ones of a request, but for `any-block`, which also counts those behind a miss: no engine
serves these, published figures do count them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from hitrate.core.trace import Chunk

Weigh = Callable[[int, int, int], float]
"""From input tokens, blocks with an id, and tokens of a full block."""


class Definition(NamedTuple):
    name: str
    about: str
    block: Weigh
    """What serving a block counts; the last one of a request is weighed by `last`."""
    last: Weigh
    whole: Weigh
    """What the request adds below the line."""
    consecutive: bool = True
    unit: str = "tokens"
    full_size: bool = False
    """Whether all blocks but the last of a request have to be of the same size."""

    def served(self, hits: int, input_tokens: int, blocks: int, block_tokens: int) -> float:
        """What serving so many blocks of a request counts."""
        if not hits:
            return 0
        last = self.last if hits == blocks else self.block
        of_others = (hits - 1) * self.block(input_tokens, blocks, block_tokens)
        return of_others + last(input_tokens, blocks, block_tokens)


def _tokens(_: int, __: int, block_tokens: int) -> float:
    return block_tokens


def _last_tokens(input_tokens: int, blocks: int, block_tokens: int) -> float:
    return min(block_tokens, input_tokens - block_tokens * (blocks - 1))


def _last_but_for_the_last_token(input_tokens: int, blocks: int, block_tokens: int) -> float:
    return block_tokens if blocks <= (input_tokens - 1) // block_tokens else 0


def _input(input_tokens: int, _: int, __: int) -> float:
    return input_tokens


def _one(_: int, __: int, ___: int) -> float:
    return 1


def _share(_: int, blocks: int, __: int) -> float:
    return 1 / blocks


def _blocks(_: int, blocks: int, __: int) -> float:
    return blocks


def _full_blocks(input_tokens: int, _: int, block_tokens: int) -> float:
    return input_tokens // block_tokens


def _request(_: int, blocks: int, __: int) -> float:
    return 1 if blocks else 0


def _even_tokens(input_tokens: int, blocks: int, block_tokens: int) -> float:
    return min(block_tokens, max(1, (2 * input_tokens + blocks) // (2 * blocks)))  # a half is rounded up


def _even_whole(input_tokens: int, blocks: int, block_tokens: int) -> float:
    return blocks * _even_tokens(input_tokens, blocks, block_tokens) if blocks else 0


DEFINITIONS = {
    one.name: one
    for one in (
        Definition("tokens", "tokens served / input tokens", _tokens, _last_tokens, _input, full_size=True),
        Definition(
            "vllm",
            "tokens of full blocks served, never the last token / input tokens",
            _tokens,
            _last_but_for_the_last_token,
            _input,
            full_size=True,
        ),
        Definition("blocks", "blocks served / blocks", _one, _one, _blocks, unit="blocks"),
        Definition(
            "full-blocks", "blocks served / full blocks", _one, _one, _full_blocks, unit="blocks", full_size=True
        ),
        Definition("any-block", "blocks present wherever they stand / blocks", _one, _one, _blocks, False, "blocks"),
        Definition(
            "request-mean", "mean over requests of blocks served / blocks", _share, _share, _request, unit="requests"
        ),
        Definition(
            "even-tokens",
            "tokens served / tokens, a request's tokens spread evenly over its blocks",
            _even_tokens,
            _even_tokens,
            _even_whole,
        ),
        Definition(
            "any-block-tokens",
            "tokens present wherever they stand / tokens, a request's tokens spread evenly over its blocks",
            _even_tokens,
            _even_tokens,
            _even_whole,
            False,
        ),
    )
}
"""By name. The first is the one to use when nothing else is asked for."""


class Tally:
    """Sums of one definition over the requests from number `first` on, counted from 0."""

    def __init__(self, definition: Definition, block_tokens: int, first: int = 0) -> None:
        self.definition = definition
        self.hits = 0.0
        """Above the line: tokens, blocks or shares."""
        self.whole = 0.0
        self.requests = 0
        self._block_tokens = block_tokens
        self._skip = first

    def add(self, chunk: Chunk, served: Iterable[int]) -> None:
        """`served` are leading blocks per request, for a definition that is not consecutive blocks anywhere."""
        whole = self.definition.whole
        block_tokens = self._block_tokens
        skipped = min(self._skip, len(chunk.input_tokens))
        self._skip -= skipped
        starts = chunk.starts
        for index, hits in enumerate(served):
            if index < skipped:
                continue
            tokens = chunk.input_tokens[index]
            blocks = starts[index + 1] - starts[index]
            self.requests += 1
            self.whole += whole(tokens, blocks, block_tokens)
            if hits:
                self.hits += self.definition.served(hits, tokens, blocks, block_tokens)

    @property
    def rate(self) -> float | None:
        """0..1, None where nothing was counted."""
        return self.hits / self.whole if self.whole else None
