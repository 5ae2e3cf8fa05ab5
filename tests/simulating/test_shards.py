"""A fleet shared out by replica: what comes of the shards together is what comes of the fleet, in every member."""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_traces import Chats

from hitrate.core.records import Records
from hitrate.core.trace import UNKNOWN, Chunk, Replayable
from hitrate.sim.fleet_shard import UNSEEING
from hitrate.sim.policies.registry import policy_names
from hitrate.simulating.packed import packed
from hitrate.simulating.replaying import replay
from hitrate.simulating.shards import Shard, can_be_shared_out, replay_shard, together
from hitrate.simulating.tasks import perform, put_together, share_out
from hitrate.simulating.wanted import Point


class Drawn:
    """Prompts of a tree of blocks, of 4 tokens each, in one chunk."""

    def __init__(self, requests: list[tuple[list[int], int, int]]) -> None:
        self.facts = Replayable(path="drawn", format="made", block_tokens=4, has_partial_blocks=True)
        self._requests = requests

    def chunks(self) -> Iterator[Chunk]:
        chunk = Chunk(array("d"), array("q"), array("q"), array("q"), array("q", [0]), array("q"))
        numbers: dict[tuple[int, ...], int] = {}
        for number, (path, session, short) in enumerate(self._requests):
            names = [tuple(path[: end + 1]) for end in range(len(path))]
            chunk.ids.extend(numbers.setdefault(name, len(numbers)) for name in names)
            chunk.starts.append(len(chunk.ids))
            chunk.at_s.append(float(number))
            chunk.input_tokens.append(max(1, 4 * len(path) - short))
            chunk.output_tokens.append(short - 1)
            chunk.sessions.append(session)
        yield chunk

    def records(self) -> Records:
        return Records(read=len(self._requests), used=len(self._requests))


PROMPTS = st.tuples(st.lists(st.integers(0, 1), min_size=1, max_size=6), st.integers(UNKNOWN, 3), st.integers(0, 3))
POINTS = st.builds(
    Point,
    rule=st.sampled_from(["vllm", "leaf-lru", "fifo", "openai-chat-before-gpt-5.6"]),
    definition=st.sampled_from(["tokens", "vllm", "blocks", "full-blocks", "even-tokens"]),
    capacity=st.sampled_from([None, 2, 5, 12]),
    ttl_s=st.sampled_from([None, 3.0]),
    replicas=st.integers(2, 7),
    policy=st.sampled_from([*UNSEEING, "consistent-hash:blocks=2,virtual_nodes=3", "first-blocks:blocks=1"]),
    seed=st.integers(0, 3),
    price_steps=st.sampled_from([None, (), (9,)]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PROMPTS, min_size=1, max_size=30), POINTS, st.integers(1, 7), st.integers(0, 5))
def test_shards_together_are_the_fleet(requests, point: Point, of: int, first: int) -> None:
    if point.rule == "fifo":
        point = Point(**{**{name: getattr(point, name) for name in point.__struct_fields__}, "ttl_s": None})
    trace, of = Drawn(requests), min(of, point.replicas)
    assert can_be_shared_out(point)
    sums, (whole,) = replay(trace, [point], first)
    shares = [replay_shard(trace, point, first, Shard(number, of)) for number in range(of)]

    assert together([pickle.loads(pickle.dumps(share)) for _, share in shares]) == whole
    assert {repr(its) for its, _ in shares} == {repr(sums)}


@pytest.mark.parametrize(
    "point",
    [
        Point(rule="vllm", definition="tokens", capacity=9, replicas=4, policy="least-load"),
        Point(rule="vllm", definition="tokens", capacity=9, replicas=4, policy="cache-aware"),
        Point(rule="vllm", definition="request-mean", capacity=9, replicas=4, policy="random"),
        Point(rule="vllm", definition="tokens", capacity=9, replicas=1, policy="random"),
        Point(rule="vllm", definition="tokens", capacity=9),
    ],
)
def test_what_cannot_be_shared_out(point: Point) -> None:
    assert not can_be_shared_out(point)


@pytest.mark.parametrize("policy", ["cache-aware", "least-load", "llm-d-precise", "fewest-new-tokens"])
def test_a_policy_that_looks_at_caches_is_stopped(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should it ever be taken for one that does not."""
    monkeypatch.setattr("hitrate.sim.fleet_shard.UNSEEING", policy_names())
    with pytest.raises(AttributeError):
        replay_shard(
            Chats(), Point(rule="vllm", definition="tokens", capacity=9, replicas=3, policy=policy), 0, Shard(0, 2)
        )


def test_one_large_fleet_is_shared_out_and_put_together() -> None:
    points = [
        Point(rule="leaf-lru", definition="tokens", capacity=40, kernel="python"),
        Point(rule="vllm", definition="tokens", capacity=25, replicas=5, policy="session-affinity"),
        Point(rule="leaf-lru", definition="blocks", capacity=90, kernel="python"),
    ]
    with packed(Chats()) as trace:
        tasks = share_out(points, None, 7, 10**7, 3)
        expected = replay(trace, points, 7)
        sums, replayed, _ = put_together(tasks, [perform(trace, task) for task in tasks])

    assert [(task.places, task.shard) for task in tasks] == [
        ((0,), None),
        ((1,), Shard(0, 2)),
        ((1,), Shard(1, 2)),
        ((2,), None),
    ]
    assert (sums, replayed) == expected
