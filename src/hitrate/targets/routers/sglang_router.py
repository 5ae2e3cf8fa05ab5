"""sglang-router, the model gateway of SGLang: `python -m sglang_router.launch_router`."""

from __future__ import annotations

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import Fleet, command, urls

_POLICIES = {
    "sglang-cache-aware": "cache_aware",
    "power-of-two": "power_of_two",
    "random": "random",
    "round-robin": "round_robin",
}
_OPTIONS = {
    "cache": "--cache-threshold",
    "abs": "--balance-abs-threshold",
    "rel": "--balance-rel-threshold",
    "evict_s": "--eviction-interval-secs",
    "max_tree_size": "--max-tree-size",
}


def configuration(fleet: Fleet) -> Configuration | None:
    if fleet.policy not in _POLICIES:
        return None
    settings = fleet.settings
    whole = {"evict_s": int} if float(settings.get("evict_s", 0)).is_integer() else {}
    options = [
        (option, whole.get(name, lambda value: value)(settings[name]))
        for name, option in _OPTIONS.items()
        if name in settings
    ]
    other = settings.get("below") == "smallest-tree"
    return Configuration(
        software="sglang-router",
        version="0.3.2",
        source="https://pypi.org/project/sglang-router/0.3.2/ (sglang_router/router_args.py)",
        language="sh",
        text=command(
            "python -m sglang_router.launch_router",
            [("--worker-urls", urls(fleet)), ("--policy", _POLICIES[fleet.policy]), *options],
        ),
        note="this version has no way to choose the smallest tree (`below=smallest-tree`)" if other else "",
    )
