"""Finds routing policies by the name used on the command line: `cache-aware` is the module `cache_aware`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import hitrate.sim.routing as package
from hitrate.errors import UsageError
from hitrate.sim.routing.interface import RoutingPolicy

_NOT_POLICIES = ("interface", "registry")


def policy_names() -> tuple[str, ...]:
    """Every name that `make_policy` knows, sorted."""
    modules = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(name.replace("_", "-") for name in modules if name not in _NOT_POLICIES))


def make_policy(specification: str, *, seed: int = 0) -> RoutingPolicy:
    """`NAME` or `NAME:SETTING=INTEGER,...`, for example `cache-aware:imbalance=8`.

    Raises UsageError with the names or settings that there are.
    """
    name, _, settings_text = specification.partition(":")
    if name not in policy_names():
        raise UsageError(f"routing policy {name!r} is not known; use one of {', '.join(policy_names())}")
    policy = importlib.import_module(f"{package.__name__}.{name.replace('-', '_')}").POLICY
    known = [parameter for parameter in inspect.signature(policy).parameters if parameter != "seed"]
    settings = {}
    for part in filter(None, settings_text.split(",")):
        key, _, value = part.partition("=")
        if key not in known or not value.isdecimal():
            wanted = ", ".join(f"{setting}=INTEGER" for setting in known) or "nothing"
            raise UsageError(f"routing policy {name!r} cannot be set to {part!r}; it takes {wanted}")
        settings[key] = int(value)
    made: RoutingPolicy = policy(seed=seed, **settings)
    return made
