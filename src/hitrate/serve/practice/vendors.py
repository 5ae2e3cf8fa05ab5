"""What `hitrate serve --as NAME` imitates: one TOML file a vendor or engine under `presets/`, with source and date.

A preset says which wires are spoken at which base path, how counts are spelled, which knobs have an effect, and which
options of the practice server stand in for what the vendor runs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec
from msgspec import Struct

from hitrate.caches.rules import minimum_tokens, rule_set
from hitrate.errors import UsageError
from hitrate.serve.practice.options import NO_RULE, RULES_OWN, PracticeModel, PracticeOptions

_PRESETS = resources.files("hitrate.serve.practice").joinpath("presets")


class Refusal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A member of the body that gets an error, unless its value is among `accepts`."""

    member: str
    message: str
    models: str = "*"
    """Ids of the models that refuse it, as a shell pattern."""
    accepts: tuple[Any, ...] = ()
    status: int = 400
    kind: str = "invalid_request_error"
    code: str | None = None


class Vendor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    wires: tuple[str, ...]
    """Names in `hitrate.serve.practice.wires`, the main one first."""
    base_path: str = "/v1"
    """Ahead of the wires' paths, and in the address that the server tells; "/v1" and none at all are answered, too."""
    other_base_paths: tuple[str, ...] = ()
    models: tuple[PracticeModel, ...]
    options: dict[str, Any] = {}
    """Members of `PracticeOptions` that differ from its defaults."""
    key_required: bool = True
    """Some key has to come with each call; which one does not matter, unless the server was given one."""
    required_headers: tuple[str, ...] = ()
    affinity: tuple[str, ...] = ()
    """Knobs that name a session, the one that wins first: "body:NAME" or "header:name"."""
    caches_only_with_affinity: bool = False
    """Requests without a session's key use no cache."""
    isolation: tuple[str, ...] = ()
    """Members of the body that part the cache, as paths with dots."""
    usage: dict[str, str] = {}
    """Chat completions: JSON path in the reply to a figure of `figures`, beside prompt, completion and total tokens."""
    usage_when_asked: dict[str, dict[str, str]] = {}
    """The same, for a member of the body that has to be true."""
    stream_usage: Literal["asked", "always", "in choice"] = "asked"
    """Chat completions: in a last chunk when asked for; in the chunk that ends the reply; or in that chunk's choice."""
    details: Literal["full", "null", "absent"] = "full"
    """Chat completions: how cached tokens are reported, as counts, as null, or not at all."""
    details_flag: str | None = None
    """The engine's own flag that turns the counts on; `--cache-report` stands for it here."""
    headers: dict[str, str] = {}
    """Response header to a figure."""
    error_shape: Literal["openai", "flat", "status code", "text"] = "openai"
    """Chat completions: error object with members, the members at the top, a status as code, or a code and a text."""
    model_list: str = "plain"
    """A spelling in `model_lists`."""
    refuses: tuple[Refusal, ...] = ()
    source: str
    date: str
    """When the facts were read, as YYYY-MM-DD."""
    note: str = ""
    """What is not published and chosen here."""

    def refusal(self, sent: dict[str, Any], model: str) -> Refusal | None:
        """The first refusal that a body runs into."""
        for refusal in self.refuses:
            value = sent.get(refusal.member)
            if value is not None and value not in refusal.accepts and fnmatchcase(model, refusal.models):
                return refusal
        return None


def imitating(name: str, options: PracticeOptions, given: Collection[str]) -> PracticeOptions:
    """`options` in the manner of a vendor: what was `given` (names of members) stays, all else is the vendor's.

    The minimum is that of the first model where the rule knows it. Raises UsageError for an unknown name.
    """
    found = vendor(name)
    defaults = {"models": found.models, **found.options}
    members = {member: getattr(options, member) for member in options.__struct_fields__}
    if "rule" in given:
        # The vendor's numbers go with the vendor's rule.
        defaults = {member: value for member, value in defaults.items() if member not in _OF_THE_RULE}
    members |= {member: RULES_OWN for member in _RULES_OWN if member not in given}
    members |= {member: value for member, value in defaults.items() if member not in given}
    if "minimum_tokens" not in (*given, *defaults) and members["rule"] != NO_RULE:
        of_model = minimum_tokens(rule_set(members["rule"]), members["models"][0].name)
        members["minimum_tokens"] = RULES_OWN if of_model is None else of_model
    return PracticeOptions(**{**members, "imitates": name})


_RULES_OWN = ("block_size", "minimum_tokens", "slots", "write_delay_ms")
_OF_THE_RULE = ("rule", *_RULES_OWN, "ttl_s")


def vendor_names() -> list[str]:
    return sorted(entry.name.removesuffix(".toml") for entry in _PRESETS.iterdir() if entry.name.endswith(".toml"))


@cache
def vendor(name: str) -> Vendor:
    """Raises UsageError with the known names."""
    names = vendor_names()
    if name not in names:
        near = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        nearest = f"nearest: {', '.join(near)}; " if near else ""
        raise UsageError(f"--as {name}: there is no such preset; {nearest}known: {', '.join(names)}")
    table = tomllib.loads(_PRESETS.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    return msgspec.convert({**table, "name": name}, Vendor)
