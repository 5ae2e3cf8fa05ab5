"""How real routers and engines are told to do what was replayed: one file each, found by the policy's name.

Every module has `configuration(fleet)`, which gives None for a policy that it does not have. Options are those of the
version named; settings that were replayed are always written down, the defaults too, since routers change theirs.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import Fleet

_NO_ROUTERS = ("interface", "engines")

_NONE_HAS = {
    "cache-aware": (
        "no router sends requests by the longest match alone; sglang-cache-aware and vllm-cache-aware do it with a "
        "guard against overload"
    ),
    "fewest-new-tokens": "no router has exactly this cost; dynamo-kv is near",
}


def router_configurations(fleet: Fleet) -> tuple[Configuration, ...]:
    """Of every router that has the fleet's policy, by the routers' names."""
    names = sorted(module.name for module in iter_modules(__path__) if module.name not in _NO_ROUTERS)
    found = (import_module(f"{__name__}.{name}").configuration(fleet) for name in names)
    return tuple(one for one in found if one is not None)


def why_none(fleet: Fleet) -> str:
    """For a policy that no router here has."""
    return _NONE_HAS.get(fleet.policy, f"no router is known that is told to route by {fleet.written}")
