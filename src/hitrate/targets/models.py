"""Model lists (`GET /v1/models`) of every vendor's spelling: exact ids, prices, context.

A price is only taken where its unit is certain, from the spelling and from the size of the numbers; else it is unknown
and the price's `source` says so. Spellings and units:

- `pricing.prompt`, `completion`, `input_cache_read(s)`, `input_cache_write(s)`: USD per token, mostly as decimal text
  (https://openrouter.ai/docs/api-reference/list-available-models and, in the plural, for-providers; Crusoe, Cerebras)
- `pricing.input`, `output`, `cachedInput`: USD per million tokens (Together, types/supported_model.py of its SDK)
- `pricing` or `cost` with `input`, `output`, `cache_read`, `cache_write`: USD per million tokens (Baseten, models.dev)
- `prompt_text_token_price`, `cached_prompt_text_token_price`, `completion_text_token_price`: integers, US cents per
  100 million tokens, which is 0.0001 USD per million (xAI, https://docs.x.ai/docs/api-reference)

Prices above a context size, per image or per request are not read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Any, NamedTuple

from msgspec import Struct

from hitrate.core.money import Price

_DEAREST_PER_TOKEN = Decimal("0.001")
"""USD. A number above it cannot be a price per token (1,000 USD a million), one below it hardly one per million."""

_CONTEXT = (
    ("context_length",),
    ("context_window",),
    ("max_model_len",),
    ("max_context_length",),
    ("context_size",),
    ("max_prompt_length",),
    ("top_provider", "context_length"),
    ("meta", "n_ctx"),
    ("meta", "n_ctx_train"),
)
"""Where the longest prompt stands: OpenRouter and Together, Groq, vLLM and SGLang, Mistral and LM Studio, Novita, xAI,
OpenRouter, llama.cpp."""


class Model(Struct, frozen=True, kw_only=True):
    """One listed model. `price.source` is the spelling its prices were read from, "" when the list has none."""

    id: str
    price: Price = Price()
    context_tokens: int | None = None
    owned_by: str | None = None


class _Spelling(NamedTuple):
    holders: tuple[str, ...]
    """Members that hold the prices; "" is the model entry itself."""
    input: str
    cached: tuple[str, ...]
    written: tuple[str, ...]
    output: str
    per_token: bool
    scale: Decimal
    """To USD per million tokens."""


_MILLION = Decimal(1_000_000)

_SPELLINGS = (
    _Spelling(
        ("pricing",),
        "prompt",
        ("input_cache_read", "input_cache_reads"),
        ("input_cache_write", "input_cache_writes"),
        "completion",
        per_token=True,
        scale=_MILLION,
    ),
    _Spelling(
        ("pricing", "cost"),
        "input",
        ("cachedInput", "cached_input", "cache_read"),
        ("cache_write",),
        "output",
        per_token=False,
        scale=Decimal(1),
    ),
    _Spelling(
        ("",),
        "prompt_text_token_price",
        ("cached_prompt_text_token_price", "cached_prompt_token_price"),
        (),
        "completion_text_token_price",
        per_token=False,
        scale=Decimal("0.0001"),
    ),
)


def parse_models(body: bytes) -> list[Model]:
    """The models of a list in the order sent. ValueError, one line, when the body is no model list.

    Takes {"data": [...]}, {"models": [...]} and a bare list; entries without an id are left out.
    """
    try:
        listed = json.loads(body)
    except RecursionError:
        raise ValueError("no model list: JSON nested too deeply to be read") from None
    if isinstance(listed, dict):
        lists = [listed[name] for name in ("data", "models") if isinstance(listed.get(name), list)]
        if not lists:
            raise ValueError('no model list: expected {"data": [...]}, {"models": [...]} or a list')
        listed = lists[0]
    if not isinstance(listed, list):
        raise ValueError(f"no model list: found {type(listed).__name__}")
    models = (_model(entry) for entry in listed)
    return [model for model in models if model is not None]


def nearest_ids(model_id: str, known: Sequence[str], count: int = 3) -> list[str]:
    """The most similar ids, best first: those with the same name behind another vendor's prefix, then by spelling."""
    tail = model_id.rsplit("/", 1)[-1].lower()
    same_name = [one for one in known if one.rsplit("/", 1)[-1].lower() == tail]
    by_lower: dict[str, str] = {}
    for one in known:
        by_lower.setdefault(one.lower(), one)
    close = [by_lower[one] for one in get_close_matches(model_id.lower(), by_lower, n=count, cutoff=0.5)]
    containing = [one for one in known if tail and tail in one.lower()]
    return list(dict.fromkeys([*same_name, *close, *containing]))[:count]


def _model(entry: Any) -> Model | None:
    if isinstance(entry, str):
        return Model(id=entry) if entry else None
    if not isinstance(entry, Mapping):
        return None
    names = (entry.get(name) for name in ("id", "model", "name"))
    model_id = next((name for name in names if isinstance(name, str) and name), None)
    if model_id is None:
        return None
    owner = entry.get("owned_by")
    if "id" not in entry or owner == "google":
        # Google lists resource names and takes both; price lists and people know the id alone.
        model_id = model_id.removeprefix("models/")
    return Model(
        id=model_id,
        price=_price(entry),
        context_tokens=_context(entry),
        owned_by=owner if isinstance(owner, str) and owner else None,
    )


def _price(entry: Mapping[str, Any]) -> Price:
    for spelling in _SPELLINGS:
        for holder in spelling.holders:
            prices = entry.get(holder) if holder else entry
            if isinstance(prices, Mapping) and (spelling.input in prices or spelling.output in prices):
                return _read(prices, holder, spelling)
    return Price()


def _read(prices: Mapping[str, Any], holder: str, spelling: _Spelling) -> Price:
    source = f"{holder}.{spelling.input}".lstrip(".")
    main = [_amount(prices.get(name)) for name in (spelling.input, spelling.output)]
    known = [amount for amount in main if amount]
    small = not known or max(known) <= _DEAREST_PER_TOKEN
    if known and small != spelling.per_token:
        return Price(source=f"{source}: per token or per million cannot be told")

    def usd_per_mtok(*names: str) -> float | None:
        amounts = (_amount(prices.get(name)) for name in names)
        amount = next((one for one in amounts if one is not None), None)
        return None if amount is None else float(amount * spelling.scale)

    return Price(
        input_usd_per_mtok=usd_per_mtok(spelling.input),
        cached_usd_per_mtok=usd_per_mtok(*spelling.cached),
        written_usd_per_mtok=usd_per_mtok(*spelling.written),
        output_usd_per_mtok=usd_per_mtok(spelling.output),
        source=source,
    )


def _amount(value: Any) -> Decimal | None:
    """A price as listed; "$0.1" counts, negative ones ("-1" is OpenRouter's "varies") and anything else are unknown."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value).strip().removeprefix("$"))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None


def _context(entry: Mapping[str, Any]) -> int | None:
    for path in _CONTEXT:
        value: Any = entry
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12:
            return int(value)
    return None
