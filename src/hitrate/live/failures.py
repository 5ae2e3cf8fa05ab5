"""Refusals that make a run pointless, told from those that only cost one row."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hitrate.core.model import Call
from hitrate.errors import ContextTooSmall, HitrateError, KeyRefused, ModelNotFound, RateLimited, TargetError
from hitrate.explain.turns.rows import error_with_status
from hitrate.targets.dialects import dialect
from hitrate.targets.models import nearest_ids
from hitrate.targets.presets import Target

_CONTEXT = re.compile(r"context (length|size|window)|maximum.{0,20}length|too many tokens|too long", re.IGNORECASE)
_MODEL = re.compile(r"model", re.IGNORECASE)

_PROMPT_AND_CONTEXT = (
    # llama.cpp: "request (3012 tokens) exceeds the available context size (2048 tokens), try increasing it"
    re.compile(r"\((?P<prompt>[\d,]+) tokens\) exceeds the available context size \((?P<context>[\d,]+) tokens\)"),
    # OpenAI and alike: "... maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    re.compile(r"context length is (?P<context>[\d,]+) tokens.*?resulted in (?P<prompt>[\d,]+) tokens"),
    # vLLM: "... However, you requested 9000 tokens (8990 in the messages, 10 in the completion)."
    re.compile(r"context length is (?P<context>[\d,]+) tokens.*?\((?P<prompt>[\d,]+) in the messages"),
    # Anthropic and alike: "prompt is too long: 210000 tokens > 200000 maximum"
    re.compile(r"too long: (?P<prompt>[\d,]+) tokens > (?P<context>[\d,]+)"),
)

_CONTEXT_SETTINGS = {
    "llamacpp": "start the server with a larger context (slots share it) or fewer slots, e.g. "
    "hitrate engine llamacpp --context 32768 --slots 4",
    "practice": "raise --context-limit, --capacity-tokens, or with slots --context-tokens (slots share it)",
    "vllm": "start the server with a larger --max-model-len",
    "sglang": "start the server with a larger --context-length",
    "ollama": "set OLLAMA_CONTEXT_LENGTH higher and start it again",
    "lmstudio": "load the model with a larger context length",
}
_ANY_CONTEXT_SETTING = (
    "use a shorter prompt or a model with a larger context; a server of your own has a setting for it (llama.cpp "
    "--ctx-size, shared by its slots; vLLM --max-model-len; SGLang --context-length)"
)


def where_to_mend_the_key(target: Target) -> str:
    if target.key_variable:
        return f"check the key in {target.key_variable}"
    return "it wants a key: name its variable with --key-variable"


def refusal(call: Call, target: Target, *, known_models: Sequence[str]) -> HitrateError | None:
    """The error that ends the run, or None when the call was answered or its failure may be passing."""
    if call.status is None or call.status < 400:
        return None
    said, with_status = call.error or f"HTTP {call.status}", error_with_status(call)
    name = target.name
    if call.status in (401, 403):
        return KeyRefused(f"{name} refused the key ({with_status}); {where_to_mend_the_key(target)}")
    if call.status == 404:
        return _not_found(call, target, known_models)
    if call.status in (400, 413, 422) and _CONTEXT.search(said):
        return _context_too_small(target, said)
    if call.status in (400, 405, 413, 422):
        return TargetError(f"{name} refused the request ({with_status})")
    if call.status == 429:
        return _rate_limited(call, name, said)
    return None


def _not_found(call: Call, target: Target, known_models: Sequence[str]) -> TargetError:
    """A 404 is about the model only where it says so: a server that lacks the address answers "Not Found"."""
    name, said = target.name, error_with_status(call)
    listed = call.model in known_models
    near = f"nearest ids: {', '.join(ids)}" if (ids := nearest_ids(call.model or "", known_models)) else None
    if not _MODEL.search(call.error or ""):
        unlisted = f" It lists no model '{call.model}'; {near}" if near and not listed else ""
        base = (target.base_url or "").partition("?")[0].rstrip("/")
        url = base + dialect(call.dialect).request_path(call.model or "", stream=True)
        return TargetError(f"{name} has no such address: POST {url} ({said}); is the base URL right?{unlisted}")
    if listed:
        return TargetError(f"{name} refused the model '{call.model}', which it lists ({said})")
    hint = near or f"list its ids with: hitrate models {command_word(target)}"
    return ModelNotFound(f"{name} has no model '{call.model}' ({said}); {hint}")


def command_word(target: Target) -> str:
    """What names the target on a command line: an address stands for itself."""
    by_address = re.fullmatch(r"\S+:\d+|localhost|\S+\.\S+", target.name) is not None
    return target.base_url if by_address and target.base_url else target.name


def _rate_limited(call: Call, name: str, said: str) -> RateLimited:
    times = "once" if len(call.waits) == 1 else f"{len(call.waits)} times"
    waited = f"waited {sum(call.waits):.0f} s, {times}" if call.waits else "it named no wait that is worth it"
    limit = call.response_headers.get("x-ratelimit-limit-requests")
    seen = f"; limit seen: {limit} requests" if limit else ""
    return RateLimited(
        f"{name} still answers 429 ({waited}{seen}; it says: {said}); lower the rate with --rpm or use fewer --sessions"
    )


def _context_too_small(target: Target, said: str) -> ContextTooSmall:
    setting = _CONTEXT_SETTINGS.get(target.name, _ANY_CONTEXT_SETTING)
    sizes = next((match for pattern in _PROMPT_AND_CONTEXT if (match := pattern.search(said))), None)
    if sizes is None:
        return ContextTooSmall(f"{target.name}: the prompt does not fit the context ({said}); {setting}")
    prompt, context = (int(sizes[name].replace(",", "")) for name in ("prompt", "context"))
    per_slot = " a slot" if "slot" in said or target.name == "llamacpp" else ""
    return ContextTooSmall(
        f"{target.name}: the prompt has {prompt:,} tokens and the context only {context:,}{per_slot}; {setting}"
    )
