"""Compiled rules answer what the plain ones answer, on any trace."""

from __future__ import annotations

import errno
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType

import pytest
from block_traces import mooncake
from hypothesis import given, settings
from hypothesis import strategies as st

from hitrate.core.trace import UNKNOWN, Chunk
from hitrate.sim.capacity.block_lru import BlockLru
from hitrate.sim.capacity.fifo import Fifo, FifoInTurn
from hitrate.sim.capacity.interface import BlockCache
from hitrate.sim.capacity.leaf_lru import LeafLru
from hitrate.sim.capacity.vllm import VllmBlocks

pytest.importorskip("numba")

import numba
from numba.core.caching import IndexDataCacheFile

from hitrate.sim.capacity.fast import caches, kernels

BLOCK = 4

Make = Callable[[int | None], BlockCache]

RULES: list[tuple[str, Make, Make]] = [
    ("leaf-lru", LeafLru, caches.LeafLru),
    ("leaf-lru, ttl", lambda size: LeafLru(size, ttl_s=2.5), lambda size: caches.LeafLru(size, ttl_s=2.5)),
    ("fifo", Fifo, caches.Fifo),
    ("fifo-in-turn", FifoInTurn, caches.FifoInTurn),
    ("block-lru", BlockLru, caches.BlockLru),
    (
        "block-lru-in-turn",
        lambda size: BlockLru(size, in_turn=True),
        lambda size: caches.BlockLru(size, in_turn=True),
    ),
    ("vllm", lambda size: VllmBlocks(size, BLOCK), lambda size: caches.VllmBlocks(size, BLOCK)),
    (
        "vllm, ttl",
        lambda size: VllmBlocks(size, BLOCK, ttl_s=2.5),
        lambda size: caches.VllmBlocks(size, BLOCK, ttl_s=2.5),
    ),
    (
        "vllm, ttl and minimum",
        lambda size: VllmBlocks(size, BLOCK, minimum_tokens=7, ttl_s=0),
        lambda size: caches.VllmBlocks(size, BLOCK, minimum_tokens=7, ttl_s=0),
    ),
]

Request = tuple[Sequence[object], int, int]
"""Names of blocks, tokens behind the last full block, seconds since the request before."""

rest_and_wait = (st.integers(0, 3), st.integers(0, 2))
prefixes = st.lists(st.tuples(st.lists(st.integers(0, 1), max_size=6), *rest_and_wait), max_size=40)
"""Steps down a tree of prompts: what stands behind other text is another block."""
single_blocks = st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=6), *rest_and_wait), max_size=40)
"""No trace should have these: the same block behind other text, and twice in a prompt."""


def chunks_of(requests: Sequence[Request], size: int) -> list[Chunk]:
    numbers: dict[object, int] = {}
    chunks = []
    now = 0
    for first in range(0, len(requests), size):
        some = requests[first : first + size]
        chunk = Chunk(array("d"), array("q"), array("q"), array("q"), array("q", [0]), array("q"))
        for names, rest, wait in some:
            now += wait
            chunk.at_s.append(now)
            chunk.input_tokens.append(BLOCK * len(names) + rest)
            chunk.output_tokens.append(UNKNOWN)
            chunk.sessions.append(UNKNOWN)
            chunk.ids.extend(numbers.setdefault(name, len(numbers)) for name in names)
            chunk.starts.append(len(chunk.ids))
        chunks.append(chunk)
    return chunks


def tree(requests: Sequence[tuple[list[int], int, int]]) -> list[Request]:
    return [([tuple(steps[: end + 1]) for end in range(len(steps))], rest, wait) for steps, rest, wait in requests]


def assert_equal(plain: BlockCache, compiled: BlockCache, chunks: Sequence[Chunk]) -> None:
    for chunk in chunks:
        assert compiled.add(chunk) == plain.add(chunk)
        compiled.check_integrity()
    assert getattr(compiled, "never_fit", None) == getattr(plain, "never_fit", None)


@pytest.mark.parametrize(("plain", "compiled"), [rule[1:] for rule in RULES], ids=[name for name, _, _ in RULES])
@given(requests=prefixes, capacity=st.integers(0, 9) | st.none(), size=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_prefixes(plain: Make, compiled: Make, requests: list, capacity: int | None, size: int) -> None:
    assert_equal(plain(capacity), compiled(capacity), chunks_of(tree(requests), size))


@pytest.mark.parametrize(("plain", "compiled"), [rule[1:] for rule in RULES], ids=[name for name, _, _ in RULES])
@given(requests=single_blocks, capacity=st.integers(0, 9) | st.none(), size=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_odd_traces(plain: Make, compiled: Make, requests: list, capacity: int | None, size: int) -> None:
    assert_equal(plain(capacity), compiled(capacity), chunks_of(requests, size))


@pytest.mark.parametrize(("plain", "compiled"), [rule[1:] for rule in RULES], ids=[name for name, _, _ in RULES])
def test_arrays_grow_with_the_trace(plain: Make, compiled: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "_NODES", 1)
    monkeypatch.setattr(caches, "_IDS", 1)
    requests: list[Request] = [([f"{n % 17}.{n % 3}", f"{n}.a", f"{n}.b", n], n % 4, n % 2) for n in range(200)]

    assert_equal(plain(90), compiled(90), chunks_of(requests, 7))
    assert_equal(plain(None), compiled(None), chunks_of(requests, 50))


def test_prompts_that_are_cached_to_the_end_are_there_twice() -> None:
    requests: list[Request] = [("abcd", 0, 0), ("abcd", 0, 0), ("abcd", 0, 0), ("abcde", 0, 0), ("xyz", 0, 0)] * 5

    assert_equal(VllmBlocks(9, BLOCK), caches.VllmBlocks(9, BLOCK), chunks_of(requests, 25))


@pytest.mark.parametrize(("plain", "compiled"), [rule[1:] for rule in RULES], ids=[name for name, _, _ in RULES])
def test_an_empty_chunk_changes_nothing(plain: Make, compiled: Make) -> None:
    empty = Chunk(array("d"), array("q"), array("q"), array("q"), array("q", [0]), array("q"))

    assert_equal(plain(3), compiled(3), [empty, *chunks_of([("ab", 1, 0), ("ab", 1, 0)], 2), empty])


@pytest.mark.parametrize("capacity", [5_859, None])
def test_mooncakes_conversations(capacity: int | None) -> None:
    chunk = mooncake()
    for plain, compiled in (
        (LeafLru(capacity), caches.LeafLru(capacity)),
        (Fifo(capacity), caches.Fifo(capacity)),
        (BlockLru(capacity), caches.BlockLru(capacity)),
        (VllmBlocks(capacity, 512, ttl_s=600), caches.VllmBlocks(capacity, 512, ttl_s=600)),
    ):
        assert compiled.add(chunk) == plain.add(chunk)


@pytest.mark.parametrize(
    ("column", "place", "value", "said"),
    [
        ("later", 3, 3, "the list is longer"),
        ("sooner", 2, 0, "the list is shorter"),
        ("node_of", 0, 0, "listed that are not there"),
        ("next_copy", 1, 2, "no ring"),
        ("is_copy", 1, True, "copies are miscounted"),
        ("sums", kernels.ADDED, 9, "a node is lost"),
        ("sums", kernels.HELD, 99, "more blocks than the capacity"),
    ],
)
def test_broken_arrays_are_noticed(column: str, place: int, value: int, said: str) -> None:
    cache = caches.VllmBlocks(5, BLOCK)
    cache.add(chunks_of([("abc", 1, 0), ("abd", 1, 0)], 2)[0])
    cache.check_integrity()

    getattr(cache._blocks, column)[place] = value

    with pytest.raises(AssertionError, match=said):
        cache.check_integrity()


def test_numbers_below_0_are_refused_before_a_kernel_runs() -> None:
    chunk = chunks_of([("ab", 1, 0)], 1)[0]

    with pytest.raises(AssertionError, match="numbered from 0"):
        caches.LeafLru(5).add(chunk._replace(ids=array("q", [0, -9])))


def test_what_cannot_be_kept_is_compiled_anew() -> None:
    spaces: dict[str, FunctionType] = {}
    exec("def twice(number): return 2 * number", spaces)  # no file, so no place beside it

    assert kernels._compiled(spaces["twice"])(21) == 42


def twice(number: int) -> int:
    return 2 * number


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where numba keeps what it compiled."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def test_what_was_compiled_is_kept(kept: Path) -> None:
    assert kernels._compiled(twice)(21) == 42
    assert [file.suffix for file in sorted(kept.rglob("*.nb?"))] == [".nbc", ".nbi"]
    again = kernels._compiled(twice)
    assert again(21) == 42
    assert sum(again.stats.cache_hits.values()) == 1


@pytest.mark.parametrize(("step", "number"), [("save", errno.ENOSPC), ("save", errno.EDQUOT), ("load", errno.EIO)])
def test_a_disk_that_fails_then_is_no_failure(
    kept: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    failed = []

    def fail(*arguments: object) -> None:
        failed.append(step)
        raise OSError(number, "no disk")

    monkeypatch.setattr(IndexDataCacheFile, step, fail)
    assert kernels._compiled(twice)(21) == 42
    assert failed == [step]
