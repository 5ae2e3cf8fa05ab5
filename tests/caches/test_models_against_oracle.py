"""Every model answers as its oracle does, through any sequence of requests, aborts, resets and waits."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from hitrate.caches.block_chain import BlockChainCache
from hitrate.caches.block_trie import BlockTrieCache
from hitrate.caches.breakpoints import BreakpointLease, Mark
from hitrate.caches.checkpoints import CheckpointCache
from hitrate.caches.exact import ExactCache
from hitrate.caches.marked import MarkedCache
from hitrate.caches.oracle import BlockOracle, RadixOracle
from hitrate.caches.oracle_breakpoints import ExactOracle, MarkedOracle
from hitrate.caches.oracle_checkpoints import CheckpointOracle
from hitrate.caches.oracle_slots import SlotOracle
from hitrate.caches.oracle_trie import TrieOracle
from hitrate.caches.oracle_units import UnitOracle
from hitrate.caches.radix import RadixCache
from hitrate.caches.slots import SlotCache
from hitrate.caches.units import UnitCache
from hitrate.errors import ContextTooSmall

TOKENS = st.lists(st.integers(0, 2), max_size=9)
NAMESPACES = st.sampled_from([None, None, None, "other"])
PICK = st.integers(0, 5)
EXAMPLES = int(os.environ.get("HITRATE_EXAMPLES", "8"))
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""A failure is shown as found: shrinking a machine of forty steps takes minutes, and the steps tell enough."""


class Options(NamedTuple):
    """What a request has besides its tokens: what is drawn, and the keywords made from it for a prompt."""

    draw: st.SearchStrategy[Any]
    request: Callable[[list[int], Any], dict[str, Any]]


def block_ends(prompt: list[int]) -> list[int]:
    """A block ends behind every 2, so equal prefixes have equal blocks, and with the prompt."""
    return [end for end, token in enumerate(prompt, start=1) if token == 2 or end == len(prompt)]


def marked_request(prompt: list[int], drawn: list[tuple[int, float]]) -> dict[str, Any]:
    """Marks at the drawn blocks, counted from the last one, the longer lifetimes first."""
    ends = block_ends(prompt)
    places = sorted({len(ends) - 1 - place for place, _ in drawn if place < len(ends)})
    lifetimes = sorted((ttl_s for _, ttl_s in drawn), reverse=True)
    return {"boundaries": ends, "marks": [Mark(*mark) for mark in zip(places, lifetimes, strict=False)]}


def exact_request(prompt: list[int], drawn: dict[str, Any]) -> dict[str, Any]:
    request = {**drawn, **marked_request(prompt, drawn["marks"])}
    if "messages" in drawn:
        request["messages"] = [index for index in range(len(request["boundaries"])) if index in drawn["messages"]]
    return request


def marks(ttls_s: list[float], most: int) -> st.SearchStrategy[list[tuple[int, float]]]:
    return st.lists(st.tuples(st.integers(0, 7), st.sampled_from(ttls_s)), max_size=most)


def checkpoint_request(prompt: list[int], drawn: dict[str, Any]) -> dict[str, Any]:
    """A user message starts at every 2, as a template's own token would say."""
    return {**drawn, "user_starts": [at for at, token in enumerate(prompt) if token == 2 and at]}


PLAIN = Options(st.just({}), lambda prompt, drawn: {})
OPTIONS = {
    "slots": Options(
        st.fixed_dictionaries(
            {}, optional={"id_slot": st.integers(0, 4), "cache_prompt": st.sampled_from([True, False])}
        ),
        lambda prompt, drawn: drawn,
    ),
    "checkpoints": Options(
        st.fixed_dictionaries(
            {}, optional={"id_slot": st.integers(0, 4), "cache_prompt": st.sampled_from([True, False])}
        ),
        checkpoint_request,
    ),
    "marks": Options(marks([4.0, 12.0], 4), marked_request),
    "marks of one lifetime": Options(marks([4.0], 7), marked_request),
    "breakpoints": Options(
        st.fixed_dictionaries(
            {"marks": marks([4.0, 12.0], 7)},
            optional={
                "mode": st.sampled_from(["implicit", "explicit"]),
                "ttl_s": st.sampled_from([4.0, 12.0]),
                "messages": st.sets(st.integers(0, 12)),
            },
        ),
        exact_request,
    ),
}


def machine(make: Callable[[], tuple[Any, Any]], options: Options) -> type[RuleBasedStateMachine]:
    """Model and oracle side by side. Prompts mostly start with what an earlier request left behind."""

    class ModelAgainstOracle(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.oracle = make()
            self.now = 0.0
            self.leases: list[tuple[Any, Any]] = []
            self.seen: list[list[int]] = [[]]

        def answer(self, cache: Any, prompt: list[int], request: dict[str, Any]) -> Any:
            try:
                return cache.begin(prompt, **request)
            except ContextTooSmall:
                return None

        def lease(self, pick: int) -> tuple[Any, Any]:
            return self.leases[pick % len(self.leases)]

        @rule(pick=PICK, cut=st.integers(0, 4), tail=TOKENS, namespace=NAMESPACES, drawn=options.draw)
        def begin(self, pick: int, cut: int, tail: list[int], namespace: str | None, drawn: Any) -> None:
            base = self.seen[-1 - pick % len(self.seen)]
            prompt = base[: len(base) - cut] + tail
            request = {"now": self.now, "namespace": namespace, **options.request(prompt, drawn)}
            expected = self.oracle.peek(prompt, **request)
            assert self.model.peek(prompt, **request) == expected
            mine, theirs = (self.answer(cache, prompt, request) for cache in (self.model, self.oracle))
            assert (mine is None) == (theirs is None)
            if mine is not None:
                assert mine.cached_tokens == theirs.cached_tokens == expected
                if isinstance(mine, BreakpointLease):
                    assert mine.written_by_ttl == self.oracle.written(theirs)
                self.leases.append((mine, theirs))
                self.seen.append(prompt)

        @precondition(lambda self: self.leases)
        @rule(pick=PICK)
        def publish(self, pick: int) -> None:
            for cache, lease in zip((self.model, self.oracle), self.lease(pick), strict=True):
                cache.publish(lease, now=self.now)

        @precondition(lambda self: self.leases)
        @rule(pick=PICK, generated=TOKENS)
        def finish(self, pick: int, generated: list[int]) -> None:
            pair = self.leases.pop(pick % len(self.leases))
            self.seen.append(list(pair[1].tokens) + generated)
            for cache, lease in zip((self.model, self.oracle), pair, strict=True):
                cache.finish(lease, generated, now=self.now)

        @precondition(lambda self: self.leases)
        @rule(pick=PICK)
        def abort(self, pick: int) -> None:
            for cache, lease in zip((self.model, self.oracle), self.leases.pop(pick % len(self.leases)), strict=True):
                cache.abort(lease, now=self.now)

        @rule(seconds=st.sampled_from([0.5, 2.0, 5.0]))
        def wait(self, seconds: float) -> None:
            self.now += seconds

        @precondition(lambda self: len(self.seen) > 12)
        @rule()
        def reset(self) -> None:
            self.model.reset()
            self.oracle.reset()
            del self.seen[1:]

        @rule(prompt=TOKENS, namespace=NAMESPACES)
        def peek(self, prompt: list[int], namespace: str | None) -> None:
            expected = self.oracle.peek(prompt, now=self.now, namespace=namespace)
            for _ in range(2):
                assert self.model.peek(prompt, now=self.now, namespace=namespace) == expected

        @invariant()
        def sound(self) -> None:
            self.model.check_integrity()

    return ModelAgainstOracle


def slots(count: int, context: int | None = None, *, limit: int | None = None, **options: Any) -> tuple[Any, Any]:
    """`limit` is the host store's size, at one byte a token."""
    names = {"reuse": "cache_reuse", "saves_idle": "cache_idle_slots", "unified": "kv_unified"}
    mine = {names.get(name, "slot_prompt_similarity"): value for name, value in options.items()}
    return (
        SlotCache(count, context, host_cache_bytes=limit, bytes_per_token=1, **mine),
        SlotOracle(count, context, limit_bytes=limit, **options),
    )


def checkpoints(
    count: int, context: int | None = None, *, limit: int | None = None, cells: int = 0, **options: Any
) -> tuple[Any, Any]:
    """`cells` of a window, fewer than the server ever makes: so they are used up by few tokens."""
    names = {"full": "full_window", "step": "checkpoint_min_step", "unified": "kv_unified"}
    mine = {names.get(name, name): value for name, value in options.items()}
    model = CheckpointCache(count, context, host_cache_bytes=limit, cells=cells or None, **mine)
    return model, CheckpointOracle(count, context, limit_bytes=limit, cell_count=cells, **options)


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "blocks of 2, 7 of them": lambda: (BlockChainCache(2, 7), BlockOracle(2, 7)),
    "blocks of 3, 20 of them, 4 s": lambda: (BlockChainCache(3, 20, ttl_s=4), BlockOracle(3, 20, ttl_s=4)),
    "blocks of 1, 12 of them": lambda: (BlockChainCache(1, 12), BlockOracle(1, 12)),
    "blocks of 2, no limit, at least 4": lambda: (BlockChainCache(2, minimum_tokens=4), BlockOracle(2, None, 4)),
    "blocks of 2, no limit, 4 s": lambda: (BlockChainCache(2, ttl_s=4), BlockOracle(2, None, ttl_s=4)),
    "blocks of 3 and whole prompts, 12 of them, 4 s": lambda: (
        BlockChainCache(3, 12, ttl_s=4, whole_prompts=True),
        BlockOracle(3, 12, ttl_s=4, whole_prompts=True),
    ),
    "blocks of 2 and whole prompts, no limit": lambda: (
        BlockChainCache(2, minimum_tokens=4, whole_prompts=True),
        BlockOracle(2, None, 4, whole_prompts=True),
    ),
    "trie of blocks of 2, 12 of them": lambda: (BlockTrieCache(2, 12, 1), TrieOracle(2, 12, 1)),
    "trie of blocks of 3, 9 of them, 4 ahead": lambda: (BlockTrieCache(3, 9, 4), TrieOracle(3, 9, 4)),
    "trie of blocks of 2, no limit": lambda: (BlockTrieCache(2, None, 3), TrieOracle(2, None, 3)),
    "radix, 14 tokens": lambda: (RadixCache(1, 14), RadixOracle(1, 14)),
    "radix, 30 tokens, 4 s": lambda: (RadixCache(1, 30, ttl_s=4), RadixOracle(1, 30, ttl_s=4)),
    "radix, pages of 2, 21 tokens": lambda: (RadixCache(2, 21), RadixOracle(2, 21)),
    "radix, prompts at their end, 20 tokens, 4 s": lambda: (
        RadixCache(1, 20, ttl_s=4, prompts_at_end=True),
        RadixOracle(1, 20, ttl_s=4, prompts_at_end=True),
    ),
    "radix, no limit": lambda: (RadixCache(), RadixOracle(1, None)),
    "radix, pages of 3, no limit, 4 s": lambda: (RadixCache(3, ttl_s=4), RadixOracle(3, None, ttl_s=4)),
    "2 slots, store of 25": lambda: slots(2, limit=25),
    "3 slots, store by tokens": lambda: slots(3, 12),
    "2 slots, no store": lambda: slots(2, limit=0),
    "3 slots, idle ones not saved": lambda: slots(3, limit=40, saves_idle=False),
    "3 slots, reuse 2, similarity 0.5": lambda: slots(3, limit=30, reuse=2, similarity=0.5),
    "3 slots share 20 tokens": lambda: slots(3, 20, limit=30, unified=True),
    "3 slots share 24 tokens, idle ones stay": lambda: slots(3, 24, limit=30, unified=True, saves_idle=False),
    "3 slots share 24 tokens, no store": lambda: slots(3, 24, limit=0, unified=True, reuse=1),
    "2 slots, similarity off": lambda: slots(2, limit=30, similarity=0.0),
    "recurrent, 2 slots, checkpoints": lambda: checkpoints(2, micro_batch=2, batch=6, step=2),
    "recurrent, 1 slot, 2 checkpoints": lambda: checkpoints(1, micro_batch=3, checkpoints=2, step=4),
    "recurrent, no checkpoints": lambda: checkpoints(2, checkpoints=0),
    "window of 4, checkpoints": lambda: checkpoints(2, window=4, cells=8, micro_batch=3, step=1),
    "window of 3, 3 checkpoints, no store": lambda: checkpoints(
        1, window=3, cells=7, micro_batch=2, checkpoints=3, step=3, limit=0
    ),
    "window of 5, 1 checkpoint": lambda: checkpoints(2, window=5, cells=9, micro_batch=4, checkpoints=1, step=0),
    "window of 3, no checkpoints": lambda: checkpoints(2, window=3, cells=6, micro_batch=2, checkpoints=0),
    "window of 3 kept full, checkpoints": lambda: checkpoints(2, 60, window=3, cells=60, full=True),
    "window of 3, checkpoints, one pool": lambda: checkpoints(
        3, 60, window=3, cells=15, micro_batch=4, step=2, unified=True
    ),
    "marks, 4 s or 12 s": lambda: (MarkedCache(3, 20, (4, 12)), MarkedOracle(3, 20, (4, 12))),
    "marks, look-back 2": lambda: (MarkedCache(0, 2, (4, 12)), MarkedOracle(0, 2, (4, 12))),
    "marks of one lifetime, readable at the end": lambda: (
        MarkedCache(2, 3, (4,), refuses_more_marks=False, readable_at_end=True),
        MarkedOracle(2, 3, (4,), at_end=True),
    ),
    "marks, each block before them written": lambda: (
        MarkedCache(4, 3, (4, 12), writes_every_block=True),
        MarkedOracle(4, 3, (4, 12), every_block=True),
    ),
    "breakpoints, latest 3": lambda: (ExactCache(2, 3, None, (4, 12)), ExactOracle(2, 3, None, (4, 12))),
    "breakpoints, 2 earlier messages": lambda: (ExactCache(0, 80, 2, (4, 12)), ExactOracle(0, 80, 2, (4, 12))),
    "units": lambda: (UnitCache(3), UnitOracle(3, 0, None, None)),
    "units written after 2 s, living 4 s": lambda: (UnitCache(0, 2, 4), UnitOracle(0, 2, 4, None)),
    "units every 3 tokens, 4 s": lambda: (UnitCache(2, 0.5, 4, 3), UnitOracle(2, 0.5, 4, 3)),
}


@pytest.mark.parametrize("name", MODELS)
def test_model_answers_as_its_oracle(name: str) -> None:
    words = [words for words in OPTIONS if words in name]
    run_state_machine_as_test(
        machine(MODELS[name], OPTIONS[max(words, key=len)] if words else PLAIN),
        settings=settings(
            max_examples=EXAMPLES,
            phases=PHASES,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
