"""The compiled rules, named and made as the plain ones: they hold the arrays that the kernels work on and let them
grow."""

from __future__ import annotations

from array import array
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitrate.core.trace import Chunk
from hitrate.sim.capacity.fast import kernels
from hitrate.sim.capacity.fast.kernels import ADDED, COPIES, END, HELD, SPARE, UNLIMITED, Blocks

_NODES = 1 << 10
_IDS = 1 << 16
"""Nodes and block ids that there is room for at first."""


class _Cache:
    """The part that all rules share. Arrays by node are as long as the cache is full, at most; that by id grows with
    the distinct blocks of the trace, four bytes each."""

    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        self._limit = UNLIMITED if capacity is None else capacity
        self._blocks = _empty(_NODES, _IDS)

    def _arrays(self, chunk: Chunk) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """`starts` and `ids` of the chunk, not copied, and zeros for what is served; room is made for all of it."""
        starts, ids = _view(chunk.starts), _view(chunk.ids)
        assert ids.min(initial=0) >= 0, "blocks are numbered from 0"  # a kernel would write beside its arrays
        longest = int(np.diff(starts).max(initial=0))
        held = int(self._blocks.sums[HELD])
        nodes = 1 + min(held + len(ids), self._limit + longest)
        self._blocks = _with_room(self._blocks, nodes, int(ids.max(initial=-1)) + 1)
        return starts, ids, np.zeros(len(chunk.input_tokens), np.int64)

    def check_integrity(self) -> None:
        """Raise AssertionError with the first broken invariant. Changes nothing."""
        blocks = self._blocks
        held, added = int(blocks.sums[HELD]), int(blocks.sums[ADDED])
        assert self.capacity is None or held <= self.capacity, "more blocks than the capacity"
        order = _ring(blocks, blocks.later, held)
        assert order[::-1] == _ring(blocks, blocks.sooner, held), "the order is another one from its other end"
        spare = _spare(blocks, added)
        assert sorted([*order, *spare]) == list(range(1, added)), "a node is lost, or both in the list and to be taken"
        texts: dict[int, int] = {}
        for node in order:
            texts[int(blocks.block[node])] = texts.get(int(blocks.block[node]), 0) + 1
        assert texts.keys() == set(np.flatnonzero(blocks.node_of).tolist()), "blocks are listed that are not there"
        for text, nodes in texts.items():
            alike = _alike(blocks, int(blocks.node_of[text]), held)
            assert len(alike) == nodes, f"of text {text} {len(alike)} blocks are listed, {nodes} are there"
            assert all(blocks.block[node] == text for node in alike), f"a block of another text is listed as {text}"
        copies = int(blocks.is_copy[order].sum()) if order else 0
        assert copies == blocks.sums[COPIES], "the copies are miscounted"


class LeafLru(_Cache):
    def __init__(self, capacity: int | None, *, ttl_s: float | None = None) -> None:
        super().__init__(capacity)
        self._ttl_s = inf if ttl_s is None else ttl_s

    def add(self, chunk: Chunk) -> list[int]:
        starts, ids, served = self._arrays(chunk)
        kernels.leaf_lru(self._blocks, starts, ids, _view(chunk.at_s), served, self._limit, self._ttl_s)
        return _listed(served)


class BlockLru(_Cache):
    def __init__(self, capacity: int | None, *, in_turn: bool = False) -> None:
        super().__init__(capacity)
        self._in_turn = in_turn

    def add(self, chunk: Chunk) -> list[int]:
        """Per request, its blocks that were there."""
        starts, ids, served = self._arrays(chunk)
        kernels.block_lru(self._blocks, starts, ids, served, self._limit, self._in_turn)
        return _listed(served)


class Fifo(_Cache):
    def add(self, chunk: Chunk) -> list[int]:
        return self._replay(chunk, in_turn=False)

    def _replay(self, chunk: Chunk, *, in_turn: bool) -> list[int]:
        starts, ids, served = self._arrays(chunk)
        kernels.fifo(self._blocks, starts, ids, served, self._limit, in_turn)
        return _listed(served)


class FifoInTurn(Fifo):
    def add(self, chunk: Chunk) -> list[int]:
        """Per request, its blocks that were there."""
        return self._replay(chunk, in_turn=True)


class VllmBlocks(_Cache):
    def __init__(
        self, capacity: int | None, block_tokens: int, *, minimum_tokens: int = 0, ttl_s: float | None = None
    ) -> None:
        super().__init__(capacity)
        self.never_fit = 0
        """Requests that need more blocks than there are."""
        self._block_tokens = block_tokens
        self._minimum_blocks = -(-minimum_tokens // block_tokens)
        self._ttl_s = inf if ttl_s is None else ttl_s

    def add(self, chunk: Chunk) -> list[int]:
        starts, ids, served = self._arrays(chunk)
        tokens, at_s = _view(chunk.input_tokens), _view(chunk.at_s)
        rule = (self._limit, self._block_tokens, self._minimum_blocks, self._ttl_s)
        self.never_fit += int(kernels.vllm(self._blocks, starts, ids, tokens, at_s, served, *rule))
        return _listed(served)


def _empty(nodes: int, ids: int) -> Blocks:
    return Blocks(
        node_of=np.zeros(ids, np.int32),
        block=np.zeros(nodes, np.int64),
        sooner=np.zeros(nodes, np.int32),
        later=np.zeros(nodes, np.int32),
        next_copy=np.zeros(nodes, np.int32),
        is_copy=np.zeros(nodes, np.bool_),
        used_s=np.zeros(nodes, np.float64),
        sums=np.array([0, 1, END, 0], np.int64),  # HELD, ADDED, SPARE, COPIES
    )


def _with_room(blocks: Blocks, nodes: int, ids: int) -> Blocks:
    """By doubling; arrays that have it stay what they are."""
    if nodes > len(blocks.block):
        grown = {
            name: _longer(getattr(blocks, name), nodes) for name in Blocks._fields if name not in ("node_of", "sums")
        }
        blocks = blocks._replace(**grown)
    if ids > len(blocks.node_of):
        blocks = blocks._replace(node_of=_longer(blocks.node_of, ids))
    return blocks


def _longer(column: NDArray[Any], length: int) -> NDArray[Any]:
    grown = np.zeros(max(length, 2 * len(column)), column.dtype)
    grown[: len(column)] = column
    return grown


def _view(column: array[Any]) -> NDArray[Any]:
    return np.frombuffer(column, column.typecode) if column else np.empty(0, column.typecode)


def _listed(served: NDArray[np.int64]) -> list[int]:
    found: list[int] = served.tolist()
    return found


def _ring(blocks: Blocks, following: NDArray[np.int32], held: int) -> list[int]:
    """The nodes of the list, in one direction or the other."""
    order: list[int] = []
    node = int(following[END])
    while node != END:
        assert len(order) < held, "the list is longer than it is said to be"
        order.append(node)
        node = int(following[node])
    assert len(order) == held, "the list is shorter than it is said to be"
    return order


def _spare(blocks: Blocks, added: int) -> list[int]:
    spare: list[int] = []
    node = int(blocks.sums[SPARE])
    while node != END:
        assert len(spare) < added, "the nodes that can be taken again go round in a ring"
        spare.append(node)
        node = int(blocks.later[node])
    return spare


def _alike(blocks: Blocks, last: int, held: int) -> list[int]:
    alike = [last]
    node = int(blocks.next_copy[last])
    while node != last:
        assert len(alike) < held, "blocks of equal text are no ring"
        alike.append(node)
        node = int(blocks.next_copy[node])
    return alike
