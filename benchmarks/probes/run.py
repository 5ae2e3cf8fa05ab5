"""How often the probes are right: every one on practice servers in virtual time, with 100 seeds each.

    make probes                       # or: python benchmarks/probes/run.py [SEEDS] [SCENARIO ...]

A scenario draws the truth (block size, lifetime, replicas, ...) and the noise from its seed, lets the probe find out
through the same calls as on any target, and compares. `wrong` are answers that contradict the truth; a probe that
could not tell is not wrong, but counts as `open`.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "live"))

from virtual_target import probed, virtual_lab

from hitrate.core.probe_results import Answer

JITTER = 0.2


class Outcome(NamedTuple):
    what: str
    answer: Answer
    right: bool
    calls: int


Scenario = Callable[[random.Random, int], Iterator[Outcome]]


def run(*names: str, **how: Any) -> tuple[dict[tuple[str, str], Answer], int]:
    lab = virtual_lab(**how)
    return asyncio.run(probed(*names, lab=lab)), lab.calls


def holds(answer: Answer, truth: float) -> bool:
    low = 0.0 if answer.low is None else answer.low
    return low <= truth and (answer.high is None or truth <= answer.high)


def granularity_and_minimum(source: random.Random, seed: int) -> Iterator[Outcome]:
    block, minimum = source.choice((16, 24, 32, 64, 128, 256)), source.choice((0, 300, 512, 1024, 2048))
    how = {"block_size": block, "minimum_tokens": minimum, "jitter": JITTER, "seed": seed}
    found, calls = run("granularity", "minimum", **how)
    step, least = found["granularity", ""], found["minimum", ""]
    yield Outcome("granularity", step, step.value == block, calls)
    credited = max(block, -(-minimum // block) * block)
    yield Outcome("minimum", least, least.value == credited, calls)


def lifetime(source: random.Random, seed: int) -> Iterator[Outcome]:
    truth = source.uniform(2, 100)
    found, calls = run("lifetime", ttl_s=truth, jitter=JITTER, seed=seed)
    yield Outcome("lifetime", found["lifetime", ""], holds(found["lifetime", ""], truth), calls)


def write_delay(source: random.Random, seed: int) -> Iterator[Outcome]:
    truth = source.choice((0.0, source.uniform(0.3, 10)))
    found, calls = run("write-delay", write_delay_ms=1000 * truth, jitter=JITTER, seed=seed)
    yield Outcome("write delay", found["write-delay", ""], holds(found["write-delay", ""], truth), calls)


def opening(source: random.Random, seed: int) -> Iterator[Outcome]:
    preset, truth = source.choice((("deepseek", "third call"), ("openai", "never"), ("crusoe", "second call")))
    found, calls = run("opening", imitates=preset, jitter=JITTER, seed=seed)
    yield Outcome("opening", found["opening", ""], found["opening", ""].choice == truth, calls)


def generated(source: random.Random, seed: int) -> Iterator[Outcome]:
    preset, truth = source.choice((("llamacpp", "reused"), ("anthropic", "not reused"), ("groq", "reused")))
    found, calls = run("granularity", "generated", imitates=preset, jitter=JITTER, seed=seed)
    yield Outcome("generated tokens", found["generated", ""], found["generated", ""].choice == truth, calls)


def look_back(source: random.Random, seed: int) -> Iterator[Outcome]:
    preset, truth = source.choice((("anthropic", 20), ("bedrock", 20), ("openai", 21), ("crusoe", None)))
    found, calls = run("look-back", imitates=preset, jitter=JITTER, seed=seed)
    yield Outcome("look-back", found["look-back", ""], found["look-back", ""].value == truth, calls)


def replicas(source: random.Random, seed: int) -> Iterator[Outcome]:
    numbers = (1, 2, 3, 4, 6, 8, 12, 18, 24)
    truth = numbers[seed % len(numbers)]
    found, calls = run("replicas", replicas=truth, jitter=JITTER, seed=seed)
    yield Outcome("replicas", found["replicas", ""], holds(found["replicas", ""], truth), calls)


def affinity(source: random.Random, seed: int) -> Iterator[Outcome]:
    number, works = source.choice((2, 3, 4, 8, 18)), seed % 2 == 0
    routing = "session-affinity" if works else "random"
    found, calls = run("replicas", "affinity", replicas=number, routing=routing, jitter=JITTER, seed=seed)
    answer = next(one for (name, _), one in found.items() if name == "affinity")
    truth = "works" if works else "no effect"
    yield Outcome(
        f"affinity, a knob {'that works' if works else 'without effect'}", answer, answer.choice == truth, calls
    )


def sharing(source: random.Random, seed: int) -> Iterator[Outcome]:
    by_time, number = seed % 2 == 0, source.choice((1, 1, 3))
    faults = ("no-details",) if by_time else ()
    found, calls = run("sharing", faults=faults, replicas=number, jitter=JITTER, seed=seed)
    how = "by time" if by_time else "by counts"
    for (name, scope), answer in found.items():
        if name == "sharing" and scope:
            truth = "shared" if scope == "another user" else "not shared"
            yield Outcome(
                f"sharing {how}, {'shared' if truth == 'shared' else 'apart'}", answer, answer.choice == truth, calls
            )


def hidden(source: random.Random, seed: int) -> Iterator[Outcome]:
    cached = seed % 2 == 0
    rule = {} if cached else {"rule": "none"}
    found, calls = run("hidden", faults=("no-details",), jitter=source.choice((0.1, 0.3, 0.6)), seed=seed, **rule)
    truth = "hidden" if cached else "none seen"
    yield Outcome(
        f"hidden, {'cached' if cached else 'not cached'}",
        found["hidden", ""],
        found["hidden", ""].choice == truth,
        calls,
    )


SCENARIOS: dict[str, Scenario] = {
    one.__name__.replace("_", "-"): one
    for one in (
        granularity_and_minimum,
        lifetime,
        write_delay,
        opening,
        generated,
        look_back,
        replicas,
        affinity,
        sharing,
        hidden,
    )
}


def main(arguments: list[str]) -> None:
    seeds = int(arguments[0]) if arguments and arguments[0].isdigit() else 100
    names = [name for name in arguments if name in SCENARIOS] or list(SCENARIOS)
    print(f"{'probe':40} {'runs':>5} {'right':>6} {'wrong':>6} {'open':>5} {'calls':>6} {'s':>6}")
    for name in names:
        started = time.monotonic()
        by_what: dict[str, list[Outcome]] = {}
        for seed in range(seeds):
            for outcome in SCENARIOS[name](random.Random(f"{name} {seed}"), seed):
                by_what.setdefault(outcome.what, []).append(outcome)
        seconds = time.monotonic() - started
        for what, outcomes in by_what.items():
            told = [one for one in outcomes if one.answer.status == "answered"]
            right = sum(one.right for one in told)
            calls = sum(one.calls for one in outcomes) / len(outcomes)
            print(
                f"{what:40} {len(outcomes):5} {right:6} {len(told) - right:6} {len(outcomes) - len(told):5} "
                f"{calls:6.0f} {seconds:6.1f}"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
