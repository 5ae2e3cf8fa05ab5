"""Routing policies: what they look at, and where they send."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pytest

from hitrate.errors import UsageError
from hitrate.sim.routing.interface import RoutingRequest
from hitrate.sim.routing.registry import make_policy, policy_names


class Looked(NamedTuple):
    """A replica with a load and the tokens it would serve."""

    load: int = 0
    served: int = 0

    def peek(self, request):
        return self.served


IDLE = [Looked()] * 18


def choices(policy, requests, replicas=IDLE):
    return [policy.choose(request, replicas) for request in requests]


def sessions(*keys):
    return [RoutingRequest(affinity=key) for key in keys]


def test_names_are_those_of_the_command_line():
    assert policy_names() == ("cache-aware", "least-load", "random", "round-robin", "session-affinity")


@pytest.mark.parametrize("name", ["cache-aware", "least-load", "random", "round-robin", "session-affinity"])
def test_equal_seeds_choose_alike_and_reset_starts_again(name):
    requests = sessions(None, "a", None, "b", "a") * 20
    policy = make_policy(name, seed=7)
    first = choices(policy, requests)
    assert first == choices(make_policy(name, seed=7), requests)
    policy.reset()
    assert first == choices(policy, requests)


def test_random_depends_on_the_seed_and_reaches_every_replica():
    requests = sessions(None) * 2000
    one, two = (choices(make_policy("random", seed=seed), requests) for seed in (1, 2))
    assert one != two
    assert set(one) == set(range(18))
    assert max(Counter(one).values()) < 170  # 111 expected; five standard deviations above is 163


def test_round_robin_takes_turns():
    assert choices(make_policy("round-robin"), sessions(None) * 5, IDLE[:3]) == [0, 1, 2, 0, 1]


def test_affinity_keeps_a_session_whatever_the_seed():
    keys = [f"session {number}" for number in range(200)]
    one, two = (choices(make_policy("session-affinity", seed=seed), sessions(*keys)) for seed in (1, 2))
    assert one == two
    assert len(set(one)) == 18


def test_affinity_moves_only_the_share_of_a_new_replica():
    keys = sessions(*(f"session {number}" for number in range(400)))
    policy = make_policy("session-affinity")
    before, after = choices(policy, keys, IDLE[:4]), choices(policy, keys, IDLE[:5])
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {4}
    assert 50 < len(moved) < 110  # 80 expected


def test_affinity_without_a_key_is_random():
    requests = sessions(None) * 50
    affinity, random = (choices(make_policy(name, seed=3), requests) for name in ("session-affinity", "random"))
    assert affinity == random


@pytest.mark.parametrize(
    ("specification", "replicas", "chosen"),
    [
        ("cache-aware", [Looked(0, 16), Looked(9, 32), Looked(0, 0)], 1),
        ("cache-aware", [Looked(2, 32), Looked(1, 32), Looked(1, 32)], 1),
        ("cache-aware", [Looked(), Looked(), Looked()], 0),
        ("cache-aware:imbalance=8", [Looked(0, 16), Looked(9, 32), Looked(0, 0)], 0),
        ("cache-aware:imbalance=9", [Looked(0, 16), Looked(9, 32), Looked(0, 0)], 1),
        ("least-load", [Looked(3, 0), Looked(1, 0), Looked(1, 99)], 1),
    ],
)
def test_choice_by_cache_and_load(specification, replicas, chosen):
    assert make_policy(specification).choose(RoutingRequest((1, 2, 3)), replicas) == chosen


@pytest.mark.parametrize(
    ("specification", "says"),
    [
        ("sticky", "use one of cache-aware, least-load, random, round-robin, session-affinity"),
        ("interface", "is not known"),
        ("cache-aware:threshold=8", "it takes imbalance=INTEGER"),
        ("cache-aware:imbalance=often", "it takes imbalance=INTEGER"),
        ("random:seed=8", "it takes nothing"),
    ],
)
def test_unknown_names_and_settings_say_what_there_is(specification, says):
    with pytest.raises(UsageError, match=says):
        make_policy(specification)
