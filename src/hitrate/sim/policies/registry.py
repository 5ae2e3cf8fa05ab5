"""Finds policies over blocks by name: those of this folder, and those of `hitrate.sim.routing`, which are the same."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import hitrate.sim.policies as blocks
import hitrate.sim.routing as tokens
from hitrate.errors import UsageError
from hitrate.sim.policies.interface import BlockPolicy

_NOT_POLICIES = ("choosing", "hash_ring", "interface", "registry", "router_index")


def policy_names() -> tuple[str, ...]:
    """Every name that `make_policy` knows, sorted."""
    return tuple(sorted(_modules()))


def make_policy(specification: str, *, seed: int = 0) -> BlockPolicy:
    """`NAME` or `NAME:SETTING=VALUE,...`, for example `sglang-cache-aware:abs=32,rel=1.1`.

    Raises UsageError with the names or settings that there are.
    """
    policy, settings = _parsed(specification)
    made: BlockPolicy = policy(seed=seed, **settings)
    return made


def needs_time(specification: str) -> bool:
    """Whether the policy weighs requests in flight, so that it does not show itself where there are none."""
    return bool(getattr(_parsed(specification)[0], "needs_time", False))


def needs_sessions(specification: str) -> bool:
    """Whether it goes by sessions, set as it is: where requests are of none it keeps no prompts together that go on."""
    return bool(getattr(make_policy(specification), "needs_sessions", False))


def settings_of(specification: str) -> tuple[str, dict[str, Any]]:
    """The policy's name and all its settings, those left out as they are by default; UsageError as above."""
    policy, given = _parsed(specification)
    known = inspect.signature(policy).parameters.values()
    defaults = {setting.name: setting.default for setting in known if setting.name != "seed"}
    return specification.partition(":")[0], {**defaults, **given}


def about(name: str) -> str:
    """The first sentence of what the policy does."""
    return inspect.cleandoc(importlib.import_module(_modules()[name]).__doc__ or "").partition("\n\n")[0]


def _modules() -> dict[str, str]:
    return {
        module.name.replace("_", "-"): f"{package.__name__}.{module.name}"
        for package in (tokens, blocks)
        for module in pkgutil.iter_modules(package.__path__)
        if module.name not in _NOT_POLICIES
    }


def _parsed(specification: str) -> tuple[Any, dict[str, Any]]:
    name, _, settings_text = specification.partition(":")
    modules = _modules()
    if name not in modules:
        raise UsageError(f"routing policy {name!r} is not known; use one of {', '.join(sorted(modules))}")
    policy = importlib.import_module(modules[name]).POLICY
    known = {
        setting.name: setting.annotation
        for setting in inspect.signature(policy, eval_str=True).parameters.values()
        if setting.name != "seed"
    }
    settings = {}
    for part in filter(None, settings_text.split(",")):
        key, _, text = part.partition("=")
        value = _value(known[key], text) if key in known else None
        if value is None:
            wanted = ", ".join(f"{setting}={_wanted(kind)}" for setting, kind in known.items()) or "nothing"
            raise UsageError(f"routing policy {name!r} cannot be set to {part!r}; it takes {wanted}")
        settings[key] = value
    return policy, settings


_KINDS: Mapping[Any, str] = {int: "INTEGER", float: "NUMBER"}


def _wanted(kind: Any) -> str:
    return "|".join(get_args(kind)) if get_origin(kind) is Literal else _KINDS[kind]


def _value(kind: Any, text: str) -> Any:
    """None for a text that is no value of this kind, and for negative numbers, which no setting takes."""
    if get_origin(kind) is Literal:
        return text if text in get_args(kind) else None
    try:
        value = kind(text)
    except ValueError:
        return None
    return value if value >= 0 else None
