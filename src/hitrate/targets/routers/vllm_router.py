"""vllm-router: `python -m vllm_router.launch_router`."""

from __future__ import annotations

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import SESSION_HEADER, Fleet, command, urls

_POLICIES = {
    "vllm-cache-aware": "cache_aware",
    "consistent-hash": "consistent_hash",
    "session-affinity": "consistent_hash",
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
    """It hashes sessions or whole prompts, so there is none for a hash of the first blocks."""
    if fleet.policy not in _POLICIES or fleet.settings.get("blocks"):
        return None
    options = [(option, _whole(fleet.settings[name])) for name, option in _OPTIONS.items() if name in fleet.settings]
    return Configuration(
        software="vllm-router",
        version="0.1.17",
        source="https://pypi.org/project/vllm-router/0.1.17/ (vllm_router/router_args.py)",
        language="sh",
        text=command(
            "python -m vllm_router.launch_router",
            [("--worker-urls", urls(fleet)), ("--policy", _POLICIES[fleet.policy]), *options],
        ),
        note=_note(fleet),
    )


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() and value >= 10 else value


def _note(fleet: Fleet) -> str:
    if fleet.policy in ("consistent-hash", "session-affinity"):
        return f"every request has to carry the header {SESSION_HEADER}, the same in all of a session"
    if fleet.policy == "vllm-cache-aware":
        return (
            "matches prompts only where engines render them (/v1/completions/render, /v1/chat/completions/render); "
            "without, it takes the shortest queue"
        )
    return ""
