"""The price of a call, from the nearest source that knows it; where none does, the call is unpriced and says why.

In this order: what the command line says; what the log itself says; the user's own file; the target's own model list
(`GET /v1/models`), where it was asked; the package genai-prices.

The user's file is `prices.toml` beside `targets.toml`, in US dollars per million tokens:

    [[price]]
    target = "crusoe"                 # left out: any
    model = "deepseek-ai/*"           # exact, or with * and ?
    input = 0.30
    cached = 0.006
    output = 1.20
    from = 2026-09-01                 # left out: always; the latest that had begun counts
    tier = "batch"                    # left out: the standard service tier
    written = 0.375                   # cache writes; left out: no premium
    written_1h = 0.60
    source = "our contract"

    [[price.above]]                   # prices of calls with longer prompts; what is left out stays
    tokens = 200000
    input = 0.60
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
import platformdirs
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from hitrate.core.cost import Quote
from hitrate.core.model import Call
from hitrate.core.money import LargePrompt, Price, Unpriced, scaled
from hitrate.errors import InputFileError

Amount = Annotated[float, Meta(ge=0)]

PROVIDERS = {
    "anthropic": "anthropic",
    "azure": "azure",
    "baseten": "baseten",
    "bedrock": "aws",
    "cerebras": "cerebras",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "gemini": "google",
    "gemini-openai": "google",
    "groq": "groq",
    "minimax": "minimax",
    "mistral": "mistral",
    "moonshot": "moonshotai",
    "novita": "novita",
    "openai": "openai",
    "openai-responses": "openai",
    "openrouter": "openrouter",
    "together": "together",
    "xai": "x-ai",
    "zai": "zai",
}
"""Targets as genai-prices calls them. Crusoe, DeepInfra and DashScope it does not know."""

OWN_MACHINES = frozenset(
    {"dynamo", "llamacpp", "lmdeploy", "lmstudio", "mlx", "ollama", "practice", "sglang", "tensorrt-llm", "tgi", "vllm"}
)
"""Targets that nobody sends a bill for by the token."""

_BY_MODEL_NAME = (
    ("accounts/fireworks/", "fireworks"),
    ("claude-", "anthropic"),
    ("anthropic.claude-", "bedrock"),
    ("gpt-oss", None),
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4-", "openai"),
    ("gemini-", "gemini"),
    ("grok-", "xai"),
)
"""Models that one vendor alone sells under that name. An open model's name says nothing about who served it."""

_CLAUDE_WRITE, _CLAUDE_WRITE_1H = 1.25, 2.0
"""In multiples of the input price, the same for all Claude models and sellers
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching, "Pricing")."""

_MAY_NAME_TIER = frozenset({"service_tier", "usage"})
"""Members of a usage as received in which `service_tier` finds one."""

_WRITES = "cache_write_tokens_details"
"""Members of a usage as received that say of what kinds its prompt tokens are; a gateway may send both."""

STANDARD_TIERS = frozenset({"standard", "default", "auto", "on_demand"})


class _Step(Struct, frozen=True, forbid_unknown_fields=True):
    tokens: Annotated[int, Meta(gt=0)]
    input: Amount | None = None
    cached: Amount | None = None
    written: Amount | None = None
    written_1h: Amount | None = None
    output: Amount | None = None


class _Entry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    model: str
    input: Amount
    cached: Amount | None = None
    output: Amount | None = None
    written: Amount | None = None
    written_1h: Amount | None = None
    target: str | None = None
    tier: str | None = None
    since: datetime.date | None = msgspec.field(default=None, name="from")
    source: str = ""
    above: tuple[_Step, ...] = ()


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    price: tuple[_Entry, ...] = ()


class UserPrices:
    """The user's own file, read."""

    def __init__(self, entries: Sequence[_Entry], file: Path) -> None:
        self._entries = entries
        self._file = file

    def find(self, target: str, model: str, day: datetime.date, tier: str | None) -> Price | None:
        """The price that had begun last on that day; of two with one day the later in the file."""
        fitting = [
            entry
            for entry in self._entries
            if entry.target in (None, target)
            and entry.tier == tier
            and fnmatchcase(model, entry.model)
            and (entry.since is None or entry.since <= day)
        ]
        if not fitting:
            return None
        entry = max(enumerate(fitting), key=lambda pair: (pair[1].since or datetime.date.min, pair[0]))[1]
        steps = (
            LargePrompt(above_tokens=step.tokens, **_per_mtok(step))
            for step in sorted(entry.above, key=lambda step: step.tokens)
        )
        return Price(
            **_per_mtok(entry),
            above=tuple(steps),
            source=entry.source or str(self._file),
            since=None if entry.since is None else entry.since.isoformat(),
        )


def user_file() -> Path:
    """Where a user's own prices stand; the file need not exist."""
    return platformdirs.user_config_path("hitrate") / "prices.toml"


def read_user_prices(file: Path | None = None) -> UserPrices:
    """Empty when there is no file. InputFileError, with the place, when it cannot be read."""
    file = file or user_file()
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return UserPrices((), file)
    except OSError as error:
        raise InputFileError(str(file), f"cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputFileError(str(file), f"not UTF-8 at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputFileError(str(file), f"expected TOML: {error}") from None
    try:
        return UserPrices(msgspec.convert(content, _File).price, file)
    except msgspec.ValidationError as error:
        raise InputFileError(str(file), str(error)) from None


class PriceBook:
    """Finds the price of a call.

    `given` is the command line's, `listed` the target's own list by model id; `model` and `provider` (a target's name)
    stand in for what a log leaves out. `now` prices calls of unknown time.
    """

    def __init__(
        self,
        *,
        now: datetime.datetime,
        given: Price | None = None,
        user: UserPrices | None = None,
        listed: Mapping[str, Price] | None = None,
        model: str | None = None,
        provider: str | None = None,
    ) -> None:
        self._now = now
        self._given = given
        self._user = user
        self._listed = listed or {}
        self._model = model
        self._provider = provider
        self._known: dict[tuple[Any, ...], Quote | Unpriced] = {}
        self._answers: dict[Quote | Unpriced, Quote | Unpriced] = {}
        self._own: Price | None = None

    def quote(self, call: Call) -> Quote | Unpriced:
        raw, timing = call.raw_usage, call.timing
        tier = None if raw is None or _MAY_NAME_TIER.isdisjoint(raw) else service_tier(call)
        if raw and _has_unpriced_writes(raw):
            return Unpriced("no price of twelve-hour cache writes")
        # Prices change by the day and, at DeepSeek, by the hour.
        key = (call.target, call.model, tier, None if timing is None else timing.at // 60)
        found = self._known.get(key)
        if found is None:
            if len(self._known) > 10_000:
                self._known.clear()
            found = self._known[key] = self._as_before(self._quoted(call, tier))
        return found

    @property
    def own(self) -> Price | None:
        """Prices that the log itself gives."""
        return self._own

    @own.setter
    def own(self, price: Price | None) -> None:
        if price is not self._own:
            self._own = price
            self._known.clear()

    def _quoted(self, call: Call, tier: str | None) -> Quote | Unpriced:
        model = self._model or call.model
        target = target_called(self._provider or call.target)
        given = self._own if self._given is None else self._given
        if given is not None:
            return Quote(price=with_documented_writes(given, model), provider=target or None, tier=tier)
        if model is None:
            return Unpriced("no model named")
        at = None if call.timing is None else datetime.datetime.fromtimestamp(call.timing.at, datetime.UTC)
        return self._look_up(target, model, at, tier)

    def _as_before(self, found: Quote | Unpriced) -> Quote | Unpriced:
        """The very object of an equal answer that was given lately: calls at one price are added up faster."""
        if found not in self._answers and len(self._answers) > 1_000:
            self._answers.clear()
        return self._answers.setdefault(found, found)

    def quote_ahead(self, target: str, model: str) -> Quote | Unpriced:
        """The price now of calls that are yet to be made, at the standard tier."""
        if self._given is not None:
            return Quote(price=with_documented_writes(self._given, model), provider=target or None, tier=None)
        return self._look_up(target_called(target), model, self._now, None)

    def _look_up(self, target: str, model: str, at: datetime.datetime | None, tier: str | None) -> Quote | Unpriced:
        note = None if at is not None else f"the time of the calls is not known: prices of {self._now.date()}"
        moment = at or self._now
        provider = target or provider_of(model) or ""
        if self._user is not None:
            price = self._user.find(provider, model, moment.date(), tier)
            if price is not None:
                return Quote(
                    price=with_documented_writes(price, model), provider=provider or None, tier=tier, note=note
                )
        if tier is None and (price := self._listed.get(model)) is not None and price.known:
            return Quote(price=with_documented_writes(price, model), provider=provider or None, tier=tier)
        if provider in OWN_MACHINES:
            return Unpriced("an engine of your own has no list price; give one with --price")
        if not provider:
            return Unpriced("the log does not say who served the model; name it with --provider, or give --price")
        if provider not in PROVIDERS:
            return Unpriced(f"no price list for {provider}; give --price, or ask it with --prices-from {provider}")
        from hitrate.targets.price_library import UnknownModel, library_price

        try:
            found = library_price(PROVIDERS[provider], model, moment, tier)
        except UnknownModel:
            return Unpriced(f"no price known at {provider}; give it with --price or in {user_file().name}")
        if isinstance(found, Unpriced):
            return found
        if not target:
            note = "; ".join(part for part in (note, "the seller is told by the model's name") if part)
        return Quote(price=with_documented_writes(found, model), provider=provider, tier=tier, note=note)


@lru_cache(maxsize=256)
def target_called(name: str) -> str:
    """A target by a name that logs use for it: in another case, or as genai-prices calls it."""
    lowered = name.strip().lower()
    return next((target for target, known in PROVIDERS.items() if known == lowered), lowered)


def provider_of(model: str) -> str | None:
    """Who sells a model, where its name tells; None for open models, which many sell."""
    name = model.lower()
    if "anthropic.claude-" in name:  # Bedrock puts a region in front
        return "bedrock"
    return next((target for start, target in _BY_MODEL_NAME if name.startswith(start)), None)


def service_tier(call: Call) -> str | None:
    """The tier a reply says it was served at: "flex", "priority", "batch", ...; None for the standard one."""
    raw = call.raw_usage or {}
    tier = raw.get("service_tier")
    if tier is None and isinstance(raw.get("usage"), dict):
        tier = raw["usage"].get("service_tier")
    return tier if isinstance(tier, str) and tier not in STANDARD_TIERS else None


def with_documented_writes(price: Price, model: str | None) -> Price:
    """Claude's write prices from its input price, where a list leaves them out; `derived` says which."""
    if model is None or "claude" not in model.lower() or price.input_usd_per_mtok is None:
        return price
    factors = {"written_usd_per_mtok": _CLAUDE_WRITE, "written_1h_usd_per_mtok": _CLAUDE_WRITE_1H}
    missing = {name: factor for name, factor in factors.items() if getattr(price, name) is None}
    if not missing:
        return price
    steps = tuple(
        replace(step, **{name: scaled(step.input_usd_per_mtok, factor) for name, factor in missing.items()})
        if step.input_usd_per_mtok is not None
        else step
        for step in price.above
    )
    amounts = {name: scaled(price.input_usd_per_mtok, factor) for name, factor in missing.items()}
    return replace(price, **amounts, above=steps, derived=(*price.derived, *missing))  # type: ignore[arg-type]


def _has_unpriced_writes(usage: Mapping[str, Any]) -> bool:
    """OpenAI bills twelve-hour writes higher, by a factor it does not publish."""
    details, others = usage.get("prompt_tokens_details"), usage.get("input_tokens_details")
    if type(details) is dict and _WRITES in details and _has_twelve_hours(details[_WRITES]):
        return True
    return type(others) is dict and _WRITES in others and _has_twelve_hours(others[_WRITES])


def _has_twelve_hours(writes: Any) -> bool:
    found = writes.get("ttl_12h_tokens") if isinstance(writes, dict) else None
    return isinstance(found, int) and found > 0


def _per_mtok(entry: _Entry | _Step) -> dict[str, Any]:
    values = asdict(entry)
    names = ("input", "cached", "written", "written_1h", "output")
    return {f"{name}_usd_per_mtok": values[name] for name in names}
