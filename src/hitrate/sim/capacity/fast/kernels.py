"""Compiled loops over the requests of a chunk, one a rule, and the list of blocks that all of them keep.

Read them beside the plain rules, whose steps and reasons they follow. All is in one file since numba keeps what it
compiled for a file as long as that does not change, whatever else the code calls.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.caching import FunctionCache
from numpy.typing import NDArray

UNLIMITED = 1 << 60
"""A capacity that no cache reaches."""

END = 0
"""The node at both ends of the list; no block has it."""

HELD, ADDED, SPARE, COPIES = range(4)
"""Of `Blocks.sums`: nodes in the list; nodes ever taken from the end of the arrays, with `END`; the first of those that
can be taken again, `END` for none; nodes whose text was there already when they came."""


class Blocks(NamedTuple):
    """Blocks in a cache, each a node of a ring in the order of eviction: behind `END` the one that goes next."""

    node_of: NDArray[np.int32]
    """By block id; `END` for a block that is not there. Of several of equal text, the one that came last."""
    block: NDArray[np.int64]
    """By node, as those below."""
    sooner: NDArray[np.int32]
    """What goes right before it."""
    later: NDArray[np.int32]
    """What goes right after it. Of nodes that can be taken again, the next such."""
    next_copy: NDArray[np.int32]
    """Of nodes of equal text a ring, from each to the one that came after it."""
    is_copy: NDArray[np.bool_]
    used_s: NDArray[np.float64]
    """When it was last used."""
    sums: NDArray[np.int64]


class _Kept(FunctionCache):  # type: ignore[misc]
    """What was compiled, for the next process. A disk that is full, or cannot be read, is no reason to end this one."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except OSError:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)


def _compiled(function: Any) -> Any:
    """What was compiled is kept for the next process, unless there is no place to write it to."""
    compiled = numba.njit(function)
    with suppress(RuntimeError):
        compiled._cache = _Kept(function)  # as `cache=True` does, which lets every error through
    return compiled


@_compiled
def _append(blocks: Blocks, block: int, now: float) -> int:
    """A new node for a block, the last to go."""
    sums = blocks.sums
    node = sums[SPARE]
    if node != END:
        sums[SPARE] = blocks.later[node]
    else:
        node = sums[ADDED]
        sums[ADDED] += 1
    last = blocks.sooner[END]
    blocks.later[last] = node
    blocks.sooner[node] = last
    blocks.later[node] = END
    blocks.sooner[END] = node
    blocks.block[node] = block
    blocks.used_s[node] = now
    blocks.next_copy[node] = node
    blocks.is_copy[node] = False
    sums[HELD] += 1
    return node


@_compiled
def _move_to_end(blocks: Blocks, node: int) -> None:
    sooner, later = blocks.sooner, blocks.later
    later[sooner[node]] = later[node]
    sooner[later[node]] = sooner[node]
    last = sooner[END]
    later[last] = node
    sooner[node] = last
    later[node] = END
    sooner[END] = node


@_compiled
def _evict(blocks: Blocks) -> None:
    """The next to go. There has to be one."""
    sooner, later, next_copy, sums = blocks.sooner, blocks.later, blocks.next_copy, blocks.sums
    node = later[END]
    later[END] = later[node]
    sooner[later[node]] = END
    block = blocks.block[node]
    if next_copy[node] == node:
        blocks.node_of[block] = END
    else:
        before = blocks.node_of[block]  # the ring's first is behind it, and goes first or second
        while next_copy[before] != node:
            before = next_copy[before]
        next_copy[before] = next_copy[node]
        if blocks.node_of[block] == node:
            blocks.node_of[block] = before
    sums[COPIES] -= blocks.is_copy[node]
    later[node] = sums[SPARE]
    sums[SPARE] = node
    sums[HELD] -= 1


@_compiled
def _expire(blocks: Blocks, since: float) -> None:
    while blocks.sums[HELD] and blocks.used_s[blocks.later[END]] < since:
        _evict(blocks)


@_compiled
def _use(blocks: Blocks, block: int, now: float) -> bool:
    """Put in, or make the last to go; whether it was there."""
    node = blocks.node_of[block]
    if node == END:
        blocks.node_of[block] = _append(blocks, block, now)
        return False
    blocks.used_s[node] = now
    _move_to_end(blocks, node)
    return True


@_compiled
def _leading(blocks: Blocks, asked: NDArray[np.int64]) -> int:
    hits = 0
    while hits < asked.size and blocks.node_of[asked[hits]] != END:
        hits += 1
    return hits


@_compiled
def leaf_lru(
    blocks: Blocks,
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    at_s: NDArray[np.float64],
    served: NDArray[np.int64],
    capacity: int,
    ttl_s: float,
) -> None:
    for request in range(served.size):
        asked = ids[starts[request] : starts[request + 1]]
        _expire(blocks, at_s[request] - ttl_s)
        served[request] = _leading(blocks, asked)
        for place in range(asked.size - 1, -1, -1):
            _use(blocks, asked[place], at_s[request])
        while blocks.sums[HELD] > capacity:
            _evict(blocks)


@_compiled
def block_lru(
    blocks: Blocks,
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    served: NDArray[np.int64],
    capacity: int,
    in_turn: bool,
) -> None:
    for request in range(served.size):
        asked = ids[starts[request] : starts[request + 1]]
        together = 0
        for block in asked:
            together += blocks.node_of[block] != END
        one_by_one = 0
        for block in asked:
            one_by_one += _use(blocks, block, 0.0)
            if blocks.sums[HELD] > capacity:
                _evict(blocks)
        served[request] = one_by_one if in_turn else together


@_compiled
def fifo(
    blocks: Blocks,
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    served: NDArray[np.int64],
    capacity: int,
    in_turn: bool,
) -> None:
    for request in range(served.size):
        asked = ids[starts[request] : starts[request + 1]]
        leading = _leading(blocks, asked)
        one_by_one = 0
        for block in asked:
            if blocks.node_of[block] != END:
                one_by_one += 1
            elif capacity:
                if blocks.sums[HELD] >= capacity:
                    _evict(blocks)
                blocks.node_of[block] = _append(blocks, block, 0.0)
        served[request] = one_by_one if in_turn else leading


@_compiled
def vllm(
    blocks: Blocks,
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    input_tokens: NDArray[np.int64],
    at_s: NDArray[np.float64],
    served: NDArray[np.int64],
    capacity: int,
    block_tokens: int,
    minimum_blocks: int,
    ttl_s: float,
) -> int:
    """Requests that need more blocks than there are."""
    never_fit = 0
    for request in range(served.size):
        tokens, now = input_tokens[request], at_s[request]
        _expire(blocks, now - ttl_s)
        needed = -(-tokens // block_tokens)
        if needed > capacity:
            never_fit += 1
            continue
        start, end = starts[request], starts[request + 1]
        hashed = ids[start : min(end, start + tokens // block_tokens)]
        hits = _leading(blocks, hashed[: max(0, tokens - 1) // block_tokens])
        held, computed = hashed[:hits], hashed[hits:]
        if blocks.sums[HELD] + needed - hits > capacity:
            _move_first_copies_to_end(blocks, held, now)  # out of the way of eviction
            while blocks.sums[HELD] + needed - hits > capacity:
                _evict(blocks)
        _put_in_in_reverse(blocks, computed, now)
        _move_first_copies_to_end(blocks, held, now)
        served[request] = hits if hits >= minimum_blocks else 0
    return never_fit


@_compiled
def _move_first_copies_to_end(blocks: Blocks, held: NDArray[np.int64], now: float) -> None:
    for place in range(held.size - 1, -1, -1):
        node = blocks.next_copy[blocks.node_of[held[place]]]
        blocks.used_s[node] = now
        _move_to_end(blocks, node)


@_compiled
def _put_in_in_reverse(blocks: Blocks, computed: NDArray[np.int64], now: float) -> None:
    node_of, next_copy, sums = blocks.node_of, blocks.next_copy, blocks.sums
    all_new = sums[COPIES] == 0
    for block in computed:
        all_new = all_new and node_of[block] == END
    for place in range(computed.size - 1, -1, -1):
        block = computed[place]
        last = node_of[block]
        if last != END and all_new:
            continue  # twice in this very prompt
        node = _append(blocks, block, now)
        if last != END:
            next_copy[node] = next_copy[last]
            next_copy[last] = node
            blocks.is_copy[node] = True
            sums[COPIES] += 1
        node_of[block] = node
