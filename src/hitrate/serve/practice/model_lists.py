"""How vendors list their models, each with the prices in its own spelling and unit.

Sources: `hitrate.targets.models`, which reads these lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from hitrate.serve.practice.options import PracticeModel

Listed = dict[str, Any]

_XAI_UNIT_USD_PER_MTOK = Decimal("0.0001")


def model_list(spelling: str, models: Sequence[PracticeModel], context: int | None) -> Any:
    """The body of `GET /models`. `context` is the longest request in tokens, None where there is no limit."""
    entries = [listed(spelling, model, context) for model in models]
    if spelling == "gemini":
        return {"models": entries}
    if spelling == "anthropic":
        return {"data": entries, "has_more": False, "first_id": models[0].name, "last_id": models[-1].name}
    return entries if spelling == "together" else {"object": "list", "data": entries}


def listed(spelling: str, model: PracticeModel, context: int | None) -> Listed:
    """One model."""
    return SPELLINGS[spelling](model, context)


def _plain(model: PracticeModel, context: int | None) -> Listed:
    return {"id": model.name, "object": "model", "created": 0, "owned_by": "hitrate"}


def _with_context(model: PracticeModel, context: int | None, name: str = "context_length") -> Listed:
    return _plain(model, context) | ({} if context is None else {name: context})


def _crusoe(model: PracticeModel, context: int | None) -> Listed:
    """USD per token as decimal text, cache reads in the plural."""
    return _with_context(model, context) | {"pricing": _per_token(model, "input_cache_reads", "input_cache_writes")}


def _openrouter(model: PracticeModel, context: int | None) -> Listed:
    """USD per token as decimal text, cache reads in the singular."""
    return _with_context(model, context) | {"pricing": _per_token(model, "input_cache_read", "input_cache_write")}


def _together(model: PracticeModel, context: int | None) -> Listed:
    """USD per million tokens."""
    prices = {
        "input": model.input_usd_per_mtok,
        "output": model.output_usd_per_mtok,
        "cachedInput": model.cached_usd_per_mtok,
    }
    return _with_context(model, context) | {"pricing": _known(prices)}


def _baseten(model: PracticeModel, context: int | None) -> Listed:
    """USD per million tokens."""
    prices = {
        "input": model.input_usd_per_mtok,
        "output": model.output_usd_per_mtok,
        "cache_read": model.cached_usd_per_mtok,
        "cache_write": model.write_usd_per_mtok,
    }
    return _with_context(model, context) | {"cost": _known(prices)}


def _xai(model: PracticeModel, context: int | None) -> Listed:
    """Whole numbers of 0.0001 USD per million tokens."""
    prices = {
        "prompt_text_token_price": model.input_usd_per_mtok,
        "cached_prompt_text_token_price": model.cached_usd_per_mtok,
        "completion_text_token_price": model.output_usd_per_mtok,
    }
    units = {name: int(Decimal(str(price)) / _XAI_UNIT_USD_PER_MTOK) for name, price in _known(prices).items()}
    return _with_context(model, context, "max_prompt_length") | units


def _groq(model: PracticeModel, context: int | None) -> Listed:
    return _with_context(model, context, "context_window")


def _vllm(model: PracticeModel, context: int | None) -> Listed:
    return _with_context(model, context, "max_model_len") | {"owned_by": "vllm"}


def _llamacpp(model: PracticeModel, context: int | None) -> Listed:
    return _plain(model, context) | {"owned_by": "llamacpp"} | ({} if context is None else {"meta": {"n_ctx": context}})


def _anthropic(model: PracticeModel, context: int | None) -> Listed:
    shown = {"type": "model", "id": model.name, "display_name": model.name, "created_at": "1970-01-01T00:00:00Z"}
    return shown | ({} if context is None else {"max_input_tokens": context})


def _gemini(model: PracticeModel, context: int | None) -> Listed:
    return {
        "name": f"models/{model.name}",
        "displayName": model.name,
        "supportedGenerationMethods": ["generateContent", "createCachedContent"],
    } | ({} if context is None else {"inputTokenLimit": context})


def _per_token(model: PracticeModel, reads: str, writes: str) -> dict[str, str]:
    prices = {
        "prompt": model.input_usd_per_mtok,
        "completion": model.output_usd_per_mtok,
        reads: model.cached_usd_per_mtok,
        writes: model.write_usd_per_mtok,
    }
    return {name: f"{(Decimal(str(price)) / 1_000_000).normalize():f}" for name, price in _known(prices).items()}


def _known(prices: dict[str, float | None]) -> dict[str, float]:
    return {name: price for name, price in prices.items() if price is not None}


SPELLINGS: dict[str, Callable[[PracticeModel, int | None], Listed]] = {
    "plain": _plain,
    "crusoe": _crusoe,
    "openrouter": _openrouter,
    "together": _together,
    "baseten": _baseten,
    "xai": _xai,
    "groq": _groq,
    "vllm": _vllm,
    "llamacpp": _llamacpp,
    "anthropic": _anthropic,
    "gemini": _gemini,
}

OWN_SPELLING = "crusoe"
"""Of the practice server in its own manner."""
