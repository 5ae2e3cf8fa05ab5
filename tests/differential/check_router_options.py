"""The configurations of a plan, as the command lines of the real routers take them."""

from __future__ import annotations

import shlex

from interpreters import ask, python_of

from hitrate.sim.policies.registry import policy_names, settings_of
from hitrate.targets.routers import router_configurations
from hitrate.targets.routers.interface import Fleet

ROUTERS = {"sglang-router": "sglang", "vllm-router": "vllm"}


def commands() -> list[tuple[str, str, list[str]]]:
    """Policy, router, and the words behind its launcher."""
    found = []
    for name in policy_names():
        policy, settings = settings_of(name)
        fleet = Fleet(
            replicas=2,
            policy=policy,
            written=name,
            settings=settings,
            block_tokens=16,
            capacity_tokens=None,
            capacity_bytes=None,
            gpus_per_replica=1,
        )
        for one in router_configurations(fleet):
            if one.software in ROUTERS:
                words = shlex.split(one.text.replace("\\\n", " "))[3:]
                found.append((name, ROUTERS[one.software], words))
    return found


def test_real_routers_take_the_options_of_every_configuration() -> None:
    python = python_of("ROUTERS_PYTHON", "sglang-router 0.3.2 and vllm-router 0.1.17")
    asked = commands()
    answers = ask(python, "router_options.py", [[router, words] for _, router, words in asked])

    policies = [words[words.index("--policy") + 1] for _, _, words in asked]
    assert len(asked) >= 9
    assert answers == policies
