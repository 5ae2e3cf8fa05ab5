"""Which form of a rule replays, and that it makes no difference to the answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from block_traces import chunk_of

from hitrate.errors import UsageError
from hitrate.sim.capacity import kernel as kernels
from hitrate.sim.capacity.interface import BlockCache, SteppedCache
from hitrate.sim.capacity.kernel import KERNELS, Kernel, Switching, check_kernel
from hitrate.sim.capacity.rules import BLOCK_RULES, Setting, block_rule
from hitrate.sim.fleet_replay import FleetReplay

COMPILED = (
    "vllm",
    "leaf-lru",
    "fifo",
    "fifo-in-turn",
    "block-lru",
    "block-lru-in-turn",
    "moonshot-2026-11",
    "sglang-2026-11",
)
CHUNKS = [
    chunk_of(["abc", "abd", "xyz", "abc", "abc"], [12, 12, 12, 12, 11]),
    chunk_of(["abc", "abd", "ab", "xyz"], [12, 12, 8, 12]),
    chunk_of(["abd", "xyz", "abc"], [12, 12, 12]),
]


def served(rule: str, kernel: Kernel) -> list[list[int]]:
    cache = block_rule(rule).make(Setting(5, 4, kernel=kernel))
    return [cache.add(chunk) for chunk in CHUNKS]


def form(cache: BlockCache) -> str:
    """The module of what replays."""
    return type(cache._cache if isinstance(cache, Switching) else cache).__module__.removeprefix(
        "hitrate.sim.capacity."
    )


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setitem(sys.modules, "hitrate.sim.capacity.fast.caches", None)


@pytest.mark.parametrize("rule", COMPILED)
def test_every_kernel_answers_the_same(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(kernels, "_PAYS_AFTER", 20)  # in the second chunk

    answers = {kernel: served(rule, kernel) for kernel in KERNELS}

    assert answers["auto"] == answers["fast"] == answers["python"]


@pytest.mark.parametrize(
    ("kernel", "forms"),
    [
        ("python", ["vllm", "vllm", "vllm"]),
        ("auto", ["vllm", "fast.caches", "fast.caches"]),
        ("fast", ["fast.caches", "fast.caches", "fast.caches"]),
    ],
)
def test_who_replays_which_chunk(kernel: Kernel, forms: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(kernels, "_PAYS_AFTER", 20)
    cache = block_rule("vllm").make(Setting(5, 4, kernel=kernel))

    seen = []
    for chunk in CHUNKS:
        cache.add(chunk)
        cache.check_integrity()
        seen.append(form(cache))

    assert seen == forms


def test_short_traces_do_not_wait_for_an_import() -> None:
    replayed = (
        "import sys; from test_kernel import served; served('vllm', 'auto'); "
        "print([name for name in ('numba', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", replayed], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )

    assert done.stdout == "[]\n"


@pytest.mark.usefixtures("without_the_extra")
def test_auto_stays_plain_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_PAYS_AFTER", 0)

    assert served("vllm", "auto") == served("vllm", "python")


@pytest.mark.usefixtures("without_the_extra")
def test_asking_for_what_is_missing_names_the_extra() -> None:
    with pytest.raises(UsageError, match=r"pip install 'hitrate\[fast\]'"):
        block_rule("leaf-lru").make(Setting(5, 4, kernel="fast"))
    check_kernel("auto")


@pytest.mark.parametrize("rule", ["block-lfu", "optimal"])
def test_rules_without_a_compiled_form_are_plain(rule: str) -> None:
    assert not isinstance(BLOCK_RULES[rule].make(Setting(5, 4, kernel="fast")), Switching)


@pytest.mark.parametrize("rule", list(BLOCK_RULES))
@pytest.mark.parametrize("kernel", ["python", "auto"])
def test_a_cache_of_no_blocks_serves_nothing(rule: str, kernel: Kernel) -> None:
    cache = block_rule(rule).make(Setting(0, 4, kernel=kernel))

    assert cache.add(CHUNKS[0]) == [0] * 5
    cache.check_integrity()


@pytest.mark.parametrize(
    ("rule", "stepped"), [("vllm", True), ("leaf-lru", True), ("fifo", True), ("block-lru", False)]
)
def test_only_rules_of_engines_take_requests_one_by_one(rule: str, stepped: bool) -> None:
    assert isinstance(block_rule(rule).make(Setting(5, 4)), SteppedCache) is stepped


def test_fleets_are_plain_whatever_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(kernels, "_PAYS_AFTER", 0)

    def total(kernel: Kernel) -> Any:
        fleet = FleetReplay(2, lambda: block_rule("vllm").make(Setting(5, 4, kernel=kernel)), "fewest-new-tokens", 4)
        for chunk in CHUNKS:
            fleet.add(chunk)
        fleet.check_integrity()
        assert all(form(replica.cache) == "vllm" for replica in fleet.replicas)
        return fleet.total()

    assert total("auto") == total("fast") == total("python")


def test_requests_that_never_fit_are_counted_by_either_form(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(kernels, "_PAYS_AFTER", 20)
    counts = []
    for kernel in KERNELS:
        cache = block_rule("vllm").make(Setting(2, 4, kernel=kernel))
        for chunk in CHUNKS:
            cache.add(chunk)
        counts.append(getattr(cache, "never_fit", None))

    assert counts == [11, 11, 11]
    assert getattr(block_rule("fifo").make(Setting(2, 4)), "never_fit", None) is None
