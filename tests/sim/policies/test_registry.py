"""Names and settings as they are written on a command line."""

from __future__ import annotations

import pytest

from hitrate.errors import UsageError
from hitrate.sim.policies.registry import about, make_policy, needs_time, policy_names


def test_names_are_those_of_the_practice_server_and_of_real_routers() -> None:
    assert policy_names() == (
        "aibrix-prefix-cache",
        "cache-aware",
        "consistent-hash",
        "dynamo-kv",
        "fewest-new-tokens",
        "first-blocks",
        "least-load",
        "llm-d-approximate",
        "llm-d-precise",
        "power-of-two",
        "random",
        "ray-prefix-aware",
        "round-robin",
        "session-affinity",
        "sglang-cache-aware",
        "smg-prefix-hash",
        "vllm-cache-aware",
    )


@pytest.mark.parametrize("name", policy_names())
def test_each_can_be_made_and_says_what_it_does(name: str) -> None:
    make_policy(name, seed=3).reset()
    assert about(name).endswith(".") and "\n\n" not in about(name)


def test_which_of_them_weigh_requests_in_flight() -> None:
    assert needs_time("sglang-cache-aware:abs=32") and needs_time("dynamo-kv")
    assert not needs_time("first-blocks") and not needs_time("round-robin")


@pytest.mark.parametrize(
    ("specification", "said"),
    [
        ("nearest", "routing policy 'nearest' is not known; use one of aibrix-prefix-cache, cache-aware"),
        ("random:a=1", "routing policy 'random' cannot be set to 'a=1'; it takes nothing"),
        ("first-blocks:blocks=two", "cannot be set to 'blocks=two'; it takes blocks=INTEGER"),
        ("first-blocks:blocks=-2", "cannot be set to 'blocks=-2'"),
        ("dynamo-kv:prefill_load_scale=much", "it takes overlap_score_credit=NUMBER, prefill_load_scale=NUMBER"),
        ("sglang-cache-aware:below=largest-tree", "below=min-load|smallest-tree"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(specification: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        make_policy(specification)
    assert said in raised.value.message
