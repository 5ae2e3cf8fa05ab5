"""Refusals that make a run pointless, told from those that only cost one row."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hitrate.core.model import Call
from hitrate.errors import ContextTooSmall, HitrateError, ModelNotFound, RateLimited, TargetError
from hitrate.targets.models import nearest_ids

_CONTEXT = re.compile(r"context|maximum.{0,20}length|too many tokens|too long", re.IGNORECASE)
_LLAMA_CPP_SIZES = re.compile(r"\((\d+) tokens\) exceeds the available context size \((\d+) tokens\)")
_MODEL = re.compile(r"model", re.IGNORECASE)


def refusal(call: Call, *, key_variable: str | None, known_models: Sequence[str]) -> HitrateError | None:
    """The error that ends the run, or None when the call was answered or its failure may be passing."""
    if call.status is None or call.status < 400:
        return None
    said = call.error or f"HTTP {call.status}"
    if call.status in (401, 403):
        where = (
            f"check the key in {key_variable}" if key_variable else "this target wants a key: give --key-variable NAME"
        )
        return TargetError(f"{call.target} refused the key (HTTP {call.status}: {said}); {where}")
    if call.status == 404 and (_MODEL.search(said) or known_models):
        near = nearest_ids(call.model or "", known_models)
        hint = f"nearest ids: {', '.join(near)}" if near else f"list them with: hitrate models {call.target}"
        return ModelNotFound(f"{call.target} has no model '{call.model}' (HTTP 404: {said}); {hint}")
    if call.status == 404:
        return TargetError(f"{call.target} has no such address (HTTP 404: {said}); is the base URL right, with /v1?")
    if call.status in (400, 413, 422) and _CONTEXT.search(said):
        return _context_too_small(call, said)
    if call.status in (400, 405, 413, 422):
        return TargetError(f"{call.target} refused the request (HTTP {call.status}: {said})")
    if call.status == 429:
        waited = (
            f"waited {sum(call.waits):.0f} s, {len(call.waits)} times" if call.waits else "did not say how long to wait"
        )
        limit = call.response_headers.get("x-ratelimit-limit-requests")
        seen = f", limit seen: {limit} requests" if limit else ""
        return RateLimited(f"{call.target} still answers 429 ({waited}{seen}); lower the rate with --rpm")
    return None


def _context_too_small(call: Call, said: str) -> ContextTooSmall:
    sizes = _LLAMA_CPP_SIZES.search(said)
    if sizes:
        prompt, slot = (int(number) for number in sizes.groups())
        return ContextTooSmall(
            f"{call.target}: the prompt has {prompt:,} tokens and a slot only {slot:,}; start the server with a larger "
            "context (it is shared by all slots) or fewer slots, e.g. hitrate engine llamacpp --context 16384 --slots 4"
        )
    return ContextTooSmall(
        f"{call.target}: the prompt does not fit the context ({said}); use a shorter prompt, fewer turns, "
        "or a model or server setting with a larger context"
    )
