"""Replicas behind a router: what a session's next call finds."""

from __future__ import annotations

import pytest
from fake_cache import FakeCache

from hitrate.errors import UsageError
from hitrate.sim.fleet import Fleet
from hitrate.sim.routing.interface import RoutingRequest


def serve(fleet, tokens, *, affinity=None, namespace=None, generated=(), now=0.0):
    """One whole visit; returns the tokens it was served and its replica."""
    visit = fleet.route(RoutingRequest(tokens, affinity, namespace), now=now)
    assert fleet.begin(visit, now=now)
    fleet.publish(visit, now=now)
    fleet.finish(visit, generated, now=now)
    fleet.check_integrity()
    return visit.cached_tokens, visit.replica


def share_of_next_calls_that_find_their_history(policy, *, sessions, shared=False):
    fleet = Fleet(18, policy, FakeCache, seed=11, shared=shared)
    found = 0
    for session in range(sessions):
        opening, key = (session,) * 4, f"session {session}"
        serve(fleet, opening, affinity=key)
        found += serve(fleet, (*opening, -1), affinity=key)[0] == 4
    return found / sessions


def test_random_routing_over_18_replicas_finds_history_one_time_in_18():
    # 1/18 = 0.0556; 0.040 to 0.078 is the 95 % Wilson interval of that share at n = 600.
    assert 0.040 < share_of_next_calls_that_find_their_history("random", sessions=600) < 0.078


@pytest.mark.parametrize("policy", ["session-affinity", "cache-aware"])
def test_affinity_and_cache_awareness_always_find_it(policy):
    assert share_of_next_calls_that_find_their_history(policy, sessions=60) == 1.0


def test_a_shared_store_makes_routing_no_factor():
    assert share_of_next_calls_that_find_their_history("random", sessions=60, shared=True) == 1.0


def test_replies_and_namespaces():
    fleet = Fleet(1, "random", FakeCache)
    assert serve(fleet, (1, 2), generated=(3, 4)) == (0, 0)
    assert serve(fleet, (1, 2, 3, 4, 5)) == (4, 0)
    assert serve(fleet, (1, 2, 3, 4, 5), namespace="salt") == (0, 0)


def test_nothing_is_readable_before_it_is_published():
    fleet = Fleet(1, "random", FakeCache)
    first, second, third = (fleet.route(RoutingRequest((1, 2)), now=0.0) for _ in range(3))
    assert fleet.begin(first, now=0.0) and fleet.begin(second, now=0.0)
    fleet.publish(first, now=1.0)
    assert fleet.begin(third, now=1.0)
    assert [visit.cached_tokens for visit in (first, second, third)] == [0, 0, 2]


def test_load_counts_waiting_visits_and_falls_when_they_end():
    fleet = Fleet(2, "least-load", lambda: FakeCache(room=1))
    first, second, third = (fleet.route(RoutingRequest((1,)), now=0.0) for _ in range(3))
    assert [visit.replica for visit in (first, second, third)] == [0, 1, 0]
    assert [fleet.begin(visit, now=0.0) for visit in (first, second, third)] == [True, True, False]
    assert third.cached_tokens is None
    assert [replica.load for replica in fleet.replicas] == [2, 1]
    fleet.abort(third, now=0.0)
    fleet.abort(third, now=0.0)
    fleet.finish(first, now=1.0)
    assert [replica.load for replica in fleet.replicas] == [0, 1]


def test_reset_forgets_and_visits_under_way_end_without_effect():
    fleet = Fleet(2, "round-robin", FakeCache)
    serve(fleet, (1, 2))
    under_way = fleet.route(RoutingRequest((7, 8)), now=0.0)
    assert fleet.begin(under_way, now=0.0)
    fleet.reset()
    fleet.finish(under_way, (9,), now=1.0)
    fleet.check_integrity()
    assert [replica.load for replica in fleet.replicas] == [0, 0]
    assert serve(fleet, (1, 2)) == (0, 0)
    assert serve(fleet, (7, 8)) == (0, 1)


def test_a_fleet_needs_a_replica():
    with pytest.raises(UsageError, match="at least 1 replica"):
        Fleet(0, "random", FakeCache)
