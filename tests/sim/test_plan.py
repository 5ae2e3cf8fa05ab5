"""Which row is chosen, what it is beside, and what is warned of."""

from __future__ import annotations

from typing import Any

import pytest

from hitrate.core.simulation_results import Goal, SessionSpread, SimulatedPoint
from hitrate.sim.plan import make_plan

BLOCK = 16


def row(replicas: int, blocks: int | None, policy: str, hit_rate: float, **more: Any) -> SimulatedPoint:
    tokens = None if blocks is None else BLOCK * blocks
    known = {
        "prompt_tokens": 1000,
        "hit_tokens": None,
        "definition": "tokens",
        "rule_set": "vllm",
        "seed": 0,
        "block_size": BLOCK,
        "capacity_tokens": tokens,
        "capacity_gib": None,
        "ttl_s": None,
        "requests": 1000,
        "unit": "tokens",
        "hits": 1000 * hit_rate,
        "counted": 1000.0,
        "definition_text": "",
    }
    return SimulatedPoint(
        **{**known, "capacity_blocks": blocks, "replicas": replicas, "policy": policy, "hit_rate": hit_rate, **more}
    )


def plan(rows: list[SimulatedPoint], goal: Goal | None = None) -> Any:
    return make_plan(rows, range(len(rows)), goal)


BY_MEMORY = [
    row(4, 10, "random", 0.10),
    row(4, 10, "first-blocks", 0.20),
    row(4, 20, "random", 0.15),
    row(4, 20, "first-blocks", 0.39),
    row(4, 40, "random", 0.16),
    row(4, 40, "first-blocks", 0.40),
]


def test_the_least_memory_near_the_best_hit_rate() -> None:
    found = plan(BY_MEMORY)

    assert (found.cost, found.gain, found.front) == ("memory", "hit_rate", (1, 3, 5))
    assert found.rule == "the least KV memory with at least 95 % of the best hit rate"
    (choice,) = found.choices
    assert choice.row == 3
    assert (choice.cheaper.row, choice.dearer.row, choice.other_policy.row) == (1, 5, 2)
    assert choice.cheaper.hit_rate_more == pytest.approx(-0.19)
    assert (choice.cheaper.memory_more, choice.dearer.memory_more) == (-4 * 10 * BLOCK, 4 * 20 * BLOCK)
    assert choice.other_policy.hit_rate_more == pytest.approx(-0.24)


def test_without_a_goal_for_times_the_number_of_replicas_is_not_chosen() -> None:
    rows = [row(1, 10, "", 0.3), row(2, 10, "random", 0.2), row(2, 20, "random", 0.3), row(4, 10, "random", 0.1)]

    found = plan(rows)

    assert [choice.row for choice in found.choices] == [0, 2, 3]
    assert found.rule.endswith(", for each number of replicas")


def test_gpus_are_paid_for_by_their_number_and_memory_decides_between_equals() -> None:
    rows = [
        row(2, 40, "random", 0.40, provisioned_usd=9.98),
        row(2, 20, "random", 0.39, provisioned_usd=10.02),
        row(2, 10, "random", 0.20, provisioned_usd=10.00),
    ]

    found = plan(rows)

    assert (found.cost, found.choices[0].row, found.front) == ("provisioned_usd", 1, (2, 1, 0))


def test_of_vendors_the_lowest_bill() -> None:
    rows = [
        row(1, None, "", 0.7, ttl_s=300.0, hosted_usd=5.0),
        row(1, None, "", 0.9, ttl_s=3600.0, hosted_usd=6.0),
        row(1, None, "", 0.1, ttl_s=30.0, hosted_usd=9.0),
    ]

    found = plan(rows)

    assert (found.cost, found.rule, found.choices[0].row) == ("hosted_usd", "the lowest bill", 0)
    assert (found.front, found.choices[0].dearer.row, found.choices[0].dearer.cost_more) == ((0, 1), 1, 1.0)


TIMED = [
    row(2, 10, "random", 0.3, provisioned_usd=2.0, ttft_mean_s=4.0, ttft_p50_s=3.0, ttft_p90_s=8.0, ttft_p99_s=9.0),
    row(4, 10, "random", 0.2, provisioned_usd=4.0, ttft_mean_s=1.0, ttft_p50_s=0.5, ttft_p90_s=1.5, ttft_p99_s=2.5),
    row(8, 10, "random", 0.1, provisioned_usd=8.0, ttft_mean_s=0.6, ttft_p50_s=0.4, ttft_p90_s=0.8, ttft_p99_s=1.0),
]


@pytest.mark.parametrize(
    ("statistic", "seconds", "chosen"),
    [("p99", 10.0, 0), ("p99", 2.5, 1), ("p99", 2.0, 2), ("p90", 2.0, 1), ("mean", 0.7, 2), ("p50", 3.0, 0)],
)
def test_the_cheapest_that_meets_a_goal(statistic: str, seconds: float, chosen: int) -> None:
    found = plan(TIMED, Goal(statistic=statistic, seconds=seconds))

    assert ([choice.row for choice in found.choices], found.nearest) == ([chosen], None)
    assert found.gain == f"ttft_{statistic}_s"
    assert found.front == (0, 1, 2)


def test_a_goal_that_no_row_meets() -> None:
    found = plan(TIMED, Goal(statistic="p99", seconds=0.25))

    assert found.choices == ()
    assert (found.nearest.row, found.nearest.ttft_more_s) == (2, 0.75)


def test_rows_that_refuse_requests_are_not_deployed() -> None:
    found = plan([row(2, 10, "random", 0.4, never_fit=1), row(2, 20, "random", 0.4, never_fit=0)])

    assert ([choice.row for choice in found.choices], found.front) == ([1], (1,))
    assert found.warnings[0] == (
        "1 of 2 rows are left out of the plan: some requests are longer than a whole cache of theirs"
    )


def test_a_fleet_of_which_one_replica_works_is_not_chosen_where_another_is_there() -> None:
    rows = [row(4, 10, "cache-aware", 0.4, imbalance=4.0), row(4, 20, "first-blocks", 0.4, imbalance=1.1)]

    found = plan(rows)

    assert found.choices[0].row == 1
    assert found.warnings[0] == (
        "policy cache-aware sends nearly everything to one replica: the busiest computes 4.0 times the mean. The "
        "others stand idle, whatever its hit rate"
    )


def test_a_policy_that_sees_no_load_is_not_judged_by_it() -> None:
    rows = [row(4, 10, "sglang-cache-aware:abs=32", 0.4, imbalance=4.0), row(4, 10, "random", 0.1, imbalance=1.0)]

    assert plan(rows).warnings[0].startswith("policy sglang-cache-aware:abs=32 seems to send nearly everything")


def sessions(number: int) -> SessionSpread:
    return SessionSpread(sessions=number, min=0.0, p25=0.0, median=0.0, p75=0.0, max=0.0, mean=0.0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"requests": 39}, "too few to tell how evenly a policy uses 4 replicas: 39 requests"),
        (
            {"by_session": sessions(1)},
            "too few to tell how evenly a policy uses 4 replicas: 1,000 requests of 1 session",
        ),
        ({"by_session": sessions(8), "requests": 40}, "policy sglang-cache-aware seems to send nearly everything"),
        ({}, "policy sglang-cache-aware seems to send nearly everything"),
    ],
)
def test_few_requests_or_sessions_say_nothing_of_a_policy(more: dict[str, Any], said: str) -> None:
    warnings = plan([row(4, 10, "sglang-cache-aware", 0.4, imbalance=4.0, **more)]).warnings

    assert warnings[0].startswith(said)
    assert sum("replica" in warning for warning in warnings[:-1]) == 1


def test_conversations_stand_for_sessions_that_rows_know_nothing_of() -> None:
    rows = [row(4, 10, "cache-aware", 0.4, imbalance=4.0), row(4, 10, "random", 0.3, imbalance=1.0)]

    few, enough = (make_plan(rows, range(2), None, conversations) for conversations in (7, 8))
    assert few is not None and enough is not None
    assert few.warnings[0] == ("too few to tell how evenly a policy uses 4 replicas: 1,000 requests of 7 conversations")
    assert enough.warnings[0].startswith("policy cache-aware sends nearly everything to one replica")
    assert (few.choices[0].row, enough.choices[0].row) == (0, 1)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(4, 10, "random", 0.2, imbalance=1.8)], "4 replicas by random: the busiest computes 1.80 times the mean"),
        (BY_MEMORY[:4], "the hit rate still grows at the largest size replayed"),
        (BY_MEMORY, "hit rates say what is not computed again, not how much sooner tokens come"),
    ],
)
def test_what_is_warned_of(rows: list[SimulatedPoint], said: str) -> None:
    assert [warning for warning in plan(rows).warnings if warning.startswith(said)]


def test_with_times_and_sizes_that_suffice_nothing_is_warned_of() -> None:
    assert plan(TIMED, Goal(statistic="p99", seconds=2.0)).warnings == ()


def test_policies_of_caches_without_a_limit_are_weighed_by_their_replicas() -> None:
    rows = [row(2, None, "random", 0.2), row(2, None, "first-blocks", 0.4)]

    found = plan(rows)

    assert (found.cost, [choice.row for choice in found.choices]) == ("replicas", [1])


def test_no_plan_without_a_row_that_can_be_deployed() -> None:
    assert plan([row(2, 10, "random", 0.4, never_fit=3)]) is None
    assert make_plan([], [], None) is None
