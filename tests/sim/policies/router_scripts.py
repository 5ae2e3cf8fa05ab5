"""Traffic that real routers were asked to route, and the same traffic through the policies that stand for them.

Requests are asked one after another. One that is `held` stays in flight until its `End`, so loads are what the script
says and nothing depends on speed.
"""

from __future__ import annotations

import hashlib
import json
import random
from array import array
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hitrate.sim.policies.hash_ring import HashRing
from hitrate.sim.policies.interface import BlockPolicy, BlockRequest
from hitrate.sim.policies.registry import make_policy

RECORDED = Path(__file__).resolve().parents[2] / "data" / "routers"


class Ask(NamedTuple):
    number: int
    text: str
    held: bool = False
    session: str | None = None


class End(NamedTuple):
    number: int


class Run(NamedTuple):
    """`model` is the policy that stands for the router's, None where its choices are checked in another way."""

    name: str
    router: str
    policy: str
    workers: int
    steps: tuple[Ask | End, ...]
    options: tuple[str, ...] = ()
    model: str | None = None
    renders: bool = True
    """Whether the workers tell the router a prompt's tokens, of which each character is one."""

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(self.steps).encode()).hexdigest()[:16]


COMMON = "cache prefix block tree worker queue route prompt token layer head page swap evict match split leaf root node"
WORDS = [*COMMON.split(), "größe", "naïve", "前缀", "キャッシュ", "кэш", "🙂", "façade"]


def traffic(seed: int, requests: int, workers: int, *, most_held: int, repeated: float) -> Iterator[Ask | End]:
    """Openings that several share, conversations that grow, texts of their own; up to `most_held` are in flight.

    The first ones, as many as there are workers, have nothing in common and are all in flight: routers count their
    workers in an order of their own, and this shows it. `repeated` is the share of texts that go on from another.
    """
    randomness = random.Random(seed)

    def words(count: int) -> str:
        return " ".join(randomness.choice(WORDS) for _ in range(count))

    texts: list[str] = []
    held: list[int] = []
    for number in range(requests):
        if number < workers:
            yield Ask(number, f"{number} stands alone {words(4)}", held=True)
            held.append(number)
            continue
        while held and (len(held) >= most_held or randomness.random() < 0.3):
            yield End(held.pop(randomness.randrange(len(held))))
        if texts and randomness.random() < repeated:
            before = randomness.choice(texts)
            text = before[: randomness.randrange(len(before))] + words(randomness.randrange(1, 30))
            text = randomness.choice((text, f"{before} {words(randomness.randrange(1, 12))}", before))
        else:
            text = words(randomness.randrange(3, 40))
        texts = [*texts[-30:], text]
        stays = randomness.random() < 0.6 and most_held > workers
        yield Ask(number, text, held=stays)
        if stays:
            held.append(number)
    for number in held:
        yield End(number)


def sessions(seed: int, requests: int) -> Iterator[Ask]:
    randomness = random.Random(seed)
    for number in range(requests):
        session = f"session-{randomness.randrange(24)}" + randomness.choice(("", "", "-a"))
        yield Ask(number, f"turn {number}", session=session)


def by_tree(router: str, model: str) -> Iterator[Run]:
    """`cache_aware` with its own thresholds, and with such as are reached by a few requests."""
    for name, seed, workers, most_held, repeated, options in (
        ("few in flight", 11, 2, 5, 0.7, ()),
        ("many in flight", 12, 4, 24, 0.8, ()),
        ("mostly one text", 13, 3, 16, 0.95, ("abs=3", "rel=1.2")),
        ("imbalanced", 14, 4, 30, 0.9, ("abs=2", "rel=1.5", "cache=0.6")),
    ):
        flags = {"abs": "--balance-abs-threshold", "rel": "--balance-rel-threshold", "cache": "--cache-threshold"}
        yield Run(
            f"{name}, {workers} workers",
            router,
            "cache_aware",
            workers,
            tuple(traffic(seed, 150, workers, most_held=most_held, repeated=repeated)),
            tuple(part for option in options for part in (flags[option.split("=")[0]], option.split("=")[1])),
            model + (":" + ",".join(options) if options else ""),
        )


@cache
def runs() -> tuple[Run, ...]:
    quiet = tuple(Ask(number, f"text {number % 7}") for number in range(40))
    return (
        *by_tree("sglang", "sglang-cache-aware"),
        *by_tree("vllm", "vllm-cache-aware"),
        Run(
            "engines that do not render, 3 workers",
            "vllm",
            "cache_aware",
            3,
            tuple(traffic(22, 80, 3, most_held=8, repeated=0.9)),
            (),
            "vllm-cache-aware:no_render=1",
            renders=False,
        ),
        Run("in turn, 3 workers", "sglang", "round_robin", 3, quiet, (), "round-robin"),
        Run("in turn, 3 workers", "vllm", "round_robin", 3, quiet, (), "round-robin"),
        Run("by session, 4 workers", "vllm", "consistent_hash", 4, tuple(sessions(31, 80))),
    )


class Queue:
    """A replica of which a router knows only its own requests."""

    def __init__(self) -> None:
        self.in_flight = 0


def decisions(run: Run) -> list[int]:
    """What the policy decides, character by character: to it every character is a block."""
    assert run.model is not None
    policy: BlockPolicy = make_policy(run.model)
    queues = [Queue() for _ in range(run.workers)]
    numbers: dict[tuple[int, str], int] = {}
    where: dict[int, int] = {}
    for step in run.steps:
        if isinstance(step, End):
            queues[where[step.number]].in_flight -= 1
            continue
        asked = array("q")
        last = -1
        for character in step.text:
            last = numbers.setdefault((last, character), len(numbers))
            asked.append(last)
        request = BlockRequest(step.number, asked, len(asked), 1)
        where[step.number] = policy.choose(request, queues)  # type: ignore[arg-type]
        if step.held:
            queues[where[step.number]].in_flight += 1
    return [where[number] for number in sorted(where)]


def ring_decisions(run: Run, urls: list[str]) -> list[int]:
    """What vllm-router's ring over these URLs decides by the session's header."""
    ring = HashRing(urls)
    asks = [step for step in run.steps if isinstance(step, Ask)]
    return [ring.find(f"header:x-session-id:{step.session}") for step in asks]


def recorded(router: str) -> Mapping[str, Any]:
    answers: Mapping[str, Any] = json.loads((RECORDED / f"{router}_router.json").read_text())
    return answers
