"""Targets by name or by address. The facts are data: one TOML file a target under `presets/`, with source and date.

A user's own targets stand in `targets.toml` in the configuration folder of hitrate, one table a target, with the
members of `Target`. A table with the name of a preset changes the members it gives and keeps the others:

    [staging]
    base_url = "https://llm.example.com/v1"
    key_variable = "STAGING_KEY"

    [azure]
    base_url = "https://my-resource.openai.azure.com/openai/v1"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
import platformdirs
from msgspec import Struct

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.errors import InputFileError, KeyMissing, UsageError
from hitrate.targets.dialects.interface import Markers

_PRESETS = Path(__file__).with_name("presets")
_BARE_HOST_PATHS = {"gemini-generate": "/v1beta", "bedrock-converse": "", "llamacpp-completion": ""}
"""What is added to a bare host, by wire format; "/v1" on the others."""
_ENDPOINTS = ("/chat/completions", "/responses", "/messages")
"""Taken off the end of an address: people copy them from examples."""
_PLACE_IN_TOML = lazy_pattern(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


class Knob(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a value is put into a request: a member of the body, or a header."""

    place: Literal["body", "header"]
    name: str


class Target(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One address that models can be asked at, and what is known about it."""

    name: str
    base_url: str | None = None
    """Without a slash at the end. None: it is the user's own (Azure) and has to be given."""
    key_variable: str | None = None
    """Environment variable that holds the key; None: no key is sent."""
    key_required: bool = True
    """False: the key is sent if it is set (an engine started without one takes none)."""
    signing: Literal["aws"] | None = None
    """How requests are signed where the key variable is not set; None: they cannot be."""
    dialect: str = "openai-chat"
    affinity: tuple[Knob, ...] = ()
    """Knobs that keep a session on one replica, the preferred one first."""
    cold_knob: Knob | None = None
    """Takes a value of its own per call and keeps the prompt as it is. None: a nonce in the first tokens has to do."""
    markers: Markers = "auto"
    """Lifetime of the cache breakpoints that hitrate sets, on wires where nothing is cached without them."""
    cold_without_markers: bool = False
    """Whether a call without breakpoints neither reads the cache nor writes to it."""
    rule_set: str | None = None
    """Name of the cache rules that predict the cached tokens; None where they are not published."""
    rule_set_by_model: dict[str, str] = {}
    """Other rules of some models, by shell pattern of the id; the first pattern that fits counts."""
    step_tokens: int | None = None
    """Unit in which cached tokens are credited, where it was measured though the rules are not published."""
    tokenizer: str | None = None
    """A name in `hitrate.tokens`, "llamacpp" or "vllm" for an engine that tells its own, None when not known."""
    start_command: str | None = None
    """What starts it, for targets on the user's own machine."""
    reports_cached: str = "not known"
    """Whether and how cached tokens are reported, with the flag that turns it on."""
    not_accepted: tuple[str, ...] = ()
    """Request members this target refuses."""
    extra: dict[str, Any] = {}
    """Body members that go with every call, for what this target tells only when asked."""
    spills_over: bool = False
    """Whether a high rate of one prefix sends calls to further machines (OpenAI: above about 15 a minute)."""
    max_tokens_member: str = "max_tokens"
    """The body member that limits the reply."""
    least_max_tokens: int = 1
    """The smallest limit of a reply that the target takes."""
    source: str = ""
    date: str = ""
    """When the facts were read, as YYYY-MM-DD."""
    notes: str = ""

    def rule_set_for(self, model: str | None) -> str | None:
        """The rules of that model; those of the target for one that no pattern fits."""
        name = (model or "").rpartition("/")[2].lower()
        found = (rule for pattern, rule in self.rule_set_by_model.items() if fnmatchcase(name, pattern))
        return next(found, self.rule_set)

    @property
    def reporting_hint(self) -> str | None:
        """What to know of `reports_cached` when a reply came without cached tokens: a flag, a condition; else None."""
        if self.reports_cached == "not known" or self.reports_cached.startswith("yes:"):
            return None
        return self.reports_cached.removeprefix("yes, ").removeprefix("yes ")


def user_file() -> Path:
    """Where a user's own targets stand; the file need not exist."""
    return platformdirs.user_config_path("hitrate") / "targets.toml"


def all_names(file: Path | None = None) -> list[str]:
    """Presets and the user's own targets, sorted. InputFileError when the user's file cannot be read."""
    presets = {entry.name.removesuffix(".toml") for entry in _PRESETS.iterdir() if entry.name.endswith(".toml")}
    return sorted(presets | _user_tables(file or user_file()).keys())


def is_own(name: str, file: Path | None = None) -> bool:
    """Whether the user's own file has a table of that name, be it a target or changes to a preset."""
    return name in _user_tables(file or user_file())


def load(name_or_url: str, file: Path | None = None) -> Target:
    """The target of that name, or one made from an http(s) address.

    `file` stands in for the user's own. UsageError with the nearest names when there is none; InputFileError when the
    user's file cannot be read.
    """
    if "://" in name_or_url:
        return _from_url(name_or_url)
    file = file or user_file()
    own = _user_tables(file)
    preset = _preset_table(name_or_url)
    if name_or_url not in own and preset is None:
        from difflib import get_close_matches

        names = all_names(file)
        near = get_close_matches(name_or_url.lower(), names, n=3, cutoff=0.5)
        hint = f"nearest: {', '.join(near)}" if near else f"known: {', '.join(names)}"
        raise UsageError(f"no target called {name_or_url!r}; {hint}; or give a base URL with http://")
    table = {**(preset or {}), **own.get(name_or_url, {}), "name": name_or_url}
    try:
        target = msgspec.convert(table, Target)
        if target.base_url is None:
            return target
        return msgspec.structs.replace(target, base_url=check_base_url(target.base_url, target.dialect))
    except (msgspec.ValidationError, UsageError) as error:
        raise InputFileError(str(file), f"[{name_or_url}] {error}", line=_line_of(name_or_url, file)) from None


def require_base_url(target: Target) -> str:
    """The base URL. UsageError, naming where to put it, when the target has none."""
    if target.base_url is None:
        where = f"give it with --base-url, or as base_url under [{target.name}] in {user_file()}"
        raise UsageError(f"{target.name} has no base URL of its own: {where}")
    return target.base_url


def key_for(target: Target, environ: Mapping[str, str]) -> str | None:
    """The key to send, None when none is needed or set, or when requests are signed instead.

    KeyMissing when it is needed; the key is never in the text.
    """
    if target.key_variable is None:
        return None
    key = environ.get(target.key_variable, "").strip()
    if key and not (key.isascii() and key.isprintable()):
        raise KeyMissing(f"the key in {target.key_variable} holds characters that cannot be sent; nothing was sent")
    if key:
        return key
    if not target.key_required or target.signing is not None:
        return None
    raise KeyMissing(
        f"{target.name} needs a key and {target.key_variable} is not set; nothing was sent",
        hint=f"export {target.key_variable}=..., or name another variable: key_variable in {user_file()}",
    )


def check_base_url(url: str, dialect: str = "openai-chat") -> str:
    """A base URL as it is used: no slash or endpoint at the end, what the wire format wants added to a bare host.

    UsageError when it is no http(s) address or holds a user name or password, which would end up in reports.
    """
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname
        parts.port  # noqa: B018  raises ValueError for a port out of range
    except ValueError as error:
        raise UsageError(f"{url!r} is no base URL: {error}") from None
    if "@" in parts.netloc:
        raise UsageError("a base URL must not hold a user name or password; put the key into an environment variable")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise UsageError(f"{url!r} is no base URL; expected something like http://127.0.0.1:8000/v1")
    path = parts.path.rstrip("/")
    endpoint = next((one for one in _ENDPOINTS if path.endswith(one)), "")
    path = path.removesuffix(endpoint).rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path or _BARE_HOST_PATHS.get(dialect, '/v1')}"


def _from_url(url: str) -> Target:
    base_url = check_base_url(url)
    return Target(name=urlsplit(base_url).netloc, base_url=base_url, source="given by the user")


def _preset_table(name: str) -> dict[str, Any] | None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        return None
    file = _PRESETS.joinpath(f"{name}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def _user_tables(file: Path) -> dict[str, dict[str, Any]]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputFileError(str(file), f"cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputFileError(str(file), f"not UTF-8 at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        place = _PLACE_IN_TOML.search(str(error))
        line, column = (int(place[1]), int(place[2])) if place and place[1] else (None, None)
        reason = _PLACE_IN_TOML.sub("", str(error))
        raise InputFileError(str(file), f"expected TOML: {reason}", line=line, column=column) from None
    for name, table in content.items():
        if not isinstance(table, dict):
            raise InputFileError(str(file), f"expected a table [{name}], found a value", line=_line_of(name, file))
    return content


def _line_of(name: str, file: Path) -> int | None:
    """The line where a table or member of that name starts, as far as plain spelling tells."""
    start = re.compile(rf"""\s*(\[\s*["']?{re.escape(name)}["']?\s*\]|["']?{re.escape(name)}["']?\s*=)""")
    lines = file.read_text(encoding="utf-8-sig").splitlines() if file.is_file() else []
    return next((number for number, line in enumerate(lines, 1) if start.match(line)), None)
