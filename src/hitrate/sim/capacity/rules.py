"""The rules of this folder by name, and the rule sets of engines and vendors as far as a trace of blocks tells them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from hitrate.caches.rules import RULE_SETS, RuleSet, describe
from hitrate.core.trace import Replayable
from hitrate.errors import UsageError
from hitrate.sim.capacity.block_lfu import BlockLfu
from hitrate.sim.capacity.block_lru import BlockLru
from hitrate.sim.capacity.fifo import Fifo, FifoInTurn
from hitrate.sim.capacity.interface import BlockCache
from hitrate.sim.capacity.kernel import Kernel, with_kernel
from hitrate.sim.capacity.leaf_lru import LeafLru, LeafLruInTurn
from hitrate.sim.capacity.optimal import Optimal
from hitrate.sim.capacity.vllm import VllmBlocks


class Setting(NamedTuple):
    """What a cache is made for."""

    capacity: int | None
    block_tokens: int
    ttl_s: float | None = None
    kernel: Kernel = "auto"
    """What a single replica's rule runs on; the answer is the same."""


class BlockRule(NamedTuple):
    name: str
    """As it is to be printed, with the numbers it depends on."""
    about: str
    make: Callable[[Setting], BlockCache]
    has_ttl: bool = False
    leading: bool = True
    """Whether it can say how many leading blocks it serves."""
    anywhere: bool = False
    """Whether it can count blocks behind a miss."""
    full_blocks: bool = False
    """Whether it has to know which blocks are full."""
    whole_trace: bool = False
    """Whether it has to be given the trace as one chunk."""
    step: int | None = None
    """Tokens that the engine credits in, where that is another size than the trace's blocks may have."""
    note: str = ""


def _vllm(at: Setting, minimum_tokens: int = 0) -> BlockCache:
    return with_kernel(
        at.kernel, VllmBlocks, at.capacity, at.block_tokens, minimum_tokens=minimum_tokens, ttl_s=at.ttl_s
    )


def _leaf_lru(at: Setting) -> BlockCache:
    return with_kernel(at.kernel, LeafLru, at.capacity, ttl_s=at.ttl_s)


_OWN = (
    BlockRule(
        "vllm",
        "vLLM: full blocks, never the last token, freed tail first",
        _vllm,
        has_ttl=True,
        full_blocks=True,
    ),
    BlockRule(
        "leaf-lru",
        "least recently used, a block after all that stand behind it: radix caches",
        _leaf_lru,
        has_ttl=True,
    ),
    BlockRule(
        "leaf-lru-in-turn",
        "the same, a prompt's blocks put in one by one: of one longer than the cache a block less stays",
        lambda at: LeafLruInTurn(at.capacity),
    ),
    BlockRule(
        "fifo",
        "first in, first out",
        lambda at: with_kernel(at.kernel, Fifo, at.capacity),
    ),
    BlockRule(
        "fifo-in-turn",
        "the same, counting each block when it is its turn, behind a miss too",
        lambda at: with_kernel(at.kernel, FifoInTurn, at.capacity),
        leading=False,
        anywhere=True,
    ),
    BlockRule(
        "block-lru",
        "least recently used, each block for itself",
        lambda at: with_kernel(at.kernel, BlockLru, at.capacity),
        leading=False,
        anywhere=True,
    ),
    BlockRule(
        "block-lru-in-turn",
        "the same, putting in each block before the next is looked up: simulators of object caches",
        lambda at: with_kernel(at.kernel, BlockLru, at.capacity, in_turn=True),
        leading=False,
        anywhere=True,
    ),
    BlockRule(
        "block-lfu",
        "least frequently used, each block for itself",
        lambda at: BlockLfu(at.capacity),
        leading=False,
        anywhere=True,
    ),
    BlockRule(
        "block-lfu-in-turn",
        "the same, putting in each block before the next is looked up",
        lambda at: BlockLfu(at.capacity, in_turn=True),
        leading=False,
        anywhere=True,
    ),
    BlockRule(
        "optimal",
        "evicts what is needed last, knowing the future: the most there is",
        lambda at: Optimal(at.capacity),
        whole_trace=True,
    ),
)

BLOCK_RULES: Mapping[str, BlockRule] = {rule.name: rule for rule in _OWN}

_BEYOND = {
    "slots": "slots hold one sequence each",
    "checkpoints": "slots hold one sequence each",
    "prompts": "it keeps whole prompts",
    "marked": "it caches where requests carry marks",
    "exact": "it caches where requests carry marks",
    "units": "it caches at the ends of prompts and replies",
    "objects": "it caches what is made by name",
}
"""Why a model of `hitrate.caches` cannot be replayed from blocks alone."""


def block_rule(name: str) -> BlockRule:
    """One of this folder, or the rule set of an engine or vendor. UsageError for one that blocks alone do not tell."""
    if name in BLOCK_RULES:
        return BLOCK_RULES[name]
    if name not in RULE_SETS:
        replayable = [one for one in RULE_SETS if RULE_SETS[one].model not in _BEYOND]
        raise UsageError(f"no rule is called {name!r}; known: {', '.join((*BLOCK_RULES, *replayable))}")
    rule = RULE_SETS[name]
    if rule.model in _BEYOND:
        raise UsageError(
            f"rule set {name} cannot be replayed from a trace of blocks: {_BEYOND[rule.model]}; "
            f"for a log with its requests use `hitrate whatif --rule-set {name}`"
        )
    return _of_vllms_kind(rule) if rule.model == "block chain" else _of_radix_kind(rule)


def _of_vllms_kind(rule: RuleSet) -> BlockRule:
    minimum = int(rule.parameters.get("minimum_tokens", 0))
    note = "that the very same prompt is served whole is not replayed" if rule.parameters.get("whole_prompts") else ""
    return BlockRule(
        describe(rule),
        rule.note,
        lambda at: _vllm(at, minimum),
        has_ttl=True,
        full_blocks=True,
        step=int(rule.parameters["block_size"]),
        note=note,
    )


def _of_radix_kind(rule: RuleSet) -> BlockRule:
    step = rule.parameters.get("page_size", rule.parameters.get("block_size"))
    return BlockRule(
        describe(rule),
        rule.note,
        _leaf_lru,
        step=step,
        note="evicts block by block; the engine evicts by nodes of its tree, which gives a little less",
    )


def step_note(rule: BlockRule, facts: Replayable) -> str | None:
    """What the trace's blocks do to the rule's step. UsageError where the step is none that they can be grouped to."""
    if rule.step is None or rule.step == facts.block_tokens:
        return None
    if rule.step > facts.block_tokens:
        raise UsageError(
            f"{rule.name} credits in steps of {rule.step} tokens, the blocks of {facts.path} have "
            f"{facts.block_tokens}: ask for --block-size {rule.step}"
        )
    return (
        f"{rule.name} credits in steps of {rule.step} tokens, the trace is known in blocks of {facts.block_tokens}: "
        "rates are lower bounds, by less than a block a request"
    )
