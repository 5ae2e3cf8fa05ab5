"""KV cache memory of a token, from a model's config.json.

Every attention layer keeps a key and a value for each KV head: 2 x heads x head size x bytes of a number. Latent
attention (MLA, DeepSeek) keeps one compressed vector and one rotary key instead, whatever the number of heads. So it
was published for DeepSeek-V3, Qwen2.5-72B and Llama-3.1-405B: 70.272, 327.680 and 516.096 KB
(https://arxiv.org/abs/2505.09343, table 1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

GIB = 1 << 30

_BYTES = {
    "float32": 4.0,
    "float16": 2.0,
    "bfloat16": 2.0,
    "fp8": 1.0,
    "fp8_e4m3": 1.0,
    "fp8_e5m2": 1.0,
    "int8": 1.0,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
}
"""Of a number in the cache. The last ones are llama.cpp's, 32 numbers and their scales (ggml/src/ggml-common.h)."""

CACHE_TYPES = tuple(_BYTES)

_OF_WINDOW = ("sliding_attention", "chunked_attention", "local_attention", "sliding_window")
_STATES = ("linear_attention", "mamba", "mamba2", "recurrent", "conv", "short_conv", "rwkv")
_STATE_MEMBERS = ("mamba_d_state", "ssm_state_size", "ssm_cfg", "linear_num_value_heads", "hybrid_override_pattern")


class KvMemory(Struct, frozen=True, kw_only=True):
    bytes_per_token: int
    """Of one sequence in all layers; over all GPUs, where heads are split over several."""
    layers: int
    """That keep keys and values of their own."""
    cache_type: str
    notes: tuple[str, ...] = ()

    def gib(self, tokens: int) -> float:
        return tokens * self.bytes_per_token / GIB

    def blocks(self, gib: float, block_tokens: int) -> int:
        """Whole blocks that fit."""
        return math.floor(gib * GIB / (self.bytes_per_token * block_tokens))


def kv_memory(config: Mapping[str, Any], cache_type: str | None = None) -> KvMemory:
    """From a config.json as Hugging Face models have it. `cache_type` is the cache's number format where it is not the
    model's own.

    ValueError for a config that does not say enough, or a model whose cache does not grow by so many bytes a token.
    """
    text: Any = next((config[name] for name in ("text_config", "llm_config", "language_config") if name in config), {})
    values = {**config, **text} if isinstance(text, Mapping) else dict(config)
    _refuse_states(values)
    chosen = cache_type or _own_type(values)
    size = _BYTES.get(chosen)
    if size is None:
        raise ValueError(f"no cache type {chosen!r}; known: {', '.join(_BYTES)}")
    layers = _number(values, "num_hidden_layers", "n_layer", "num_layers")
    shared = values.get("num_kv_shared_layers") or 0
    own_layers = layers - (shared if isinstance(shared, int) else 0)
    numbers = _latent(values) or 2 * _kv_heads(values) * _head_size(values)
    notes = list(_window_notes(values, layers))
    if shared:
        notes.append(f"{shared} of {layers} layers use the keys and values of others")
    notes.append(
        f"{math.ceil(own_layers * numbers * size):,} bytes of KV cache a token ({own_layers} layers, {chosen})"
    )
    return KvMemory(
        bytes_per_token=math.ceil(own_layers * numbers * size),
        layers=own_layers,
        cache_type=chosen,
        notes=tuple(notes),
    )


def _refuse_states(values: Mapping[str, Any]) -> None:
    types = values.get("layer_types") or values.get("layers_block_type") or ()
    states = sum(isinstance(one, str) and one in _STATES for one in types)
    member = next((name for name in _STATE_MEMBERS if values.get(name)), None)
    if states or member:
        what = f"{states} of {len(types)} layers are" if states else f"`{member}`: some layers are"
        raise ValueError(
            f"{what} recurrent and keep a state, of which an engine stores as many as it likes; "
            "give the capacity in blocks as the engine reports it"
        )
    if values.get("index_head_dim"):
        raise ValueError(
            "`index_head_dim`: sparse attention keeps an index beside the cache, in a form of the engine's own; give "
            "the capacity in blocks as the engine reports it"
        )


def _own_type(values: Mapping[str, Any]) -> str:
    found = values.get("torch_dtype") or values.get("dtype")
    if not isinstance(found, str):
        raise ValueError("neither `torch_dtype` nor `dtype` is given: name the cache type")
    return found.removeprefix("torch.")


def _latent(values: Mapping[str, Any]) -> int | None:
    """Numbers of MLA a layer and token (DeepSeek-V2, https://arxiv.org/abs/2405.04434, section 2.1)."""
    if not values.get("kv_lora_rank"):
        return None
    return _number(values, "kv_lora_rank") + _number(values, "qk_rope_head_dim")


def _kv_heads(values: Mapping[str, Any]) -> int:
    if values.get("multi_query"):
        return 1
    return _number(values, "num_key_value_heads", "num_kv_heads", "n_head_kv", "num_attention_heads", "n_head")


def _head_size(values: Mapping[str, Any]) -> int:
    if values.get("head_dim"):
        return _number(values, "head_dim")
    width, heads = _number(values, "hidden_size", "n_embd", "d_model"), _number(values, "num_attention_heads", "n_head")
    if width % heads:
        raise ValueError(f"{width} numbers are not to be divided by {heads} heads, and `head_dim` is not given")
    return width // heads


def _window_notes(values: Mapping[str, Any], layers: int) -> list[str]:
    """Layers that look no further back than a window. Prefix caches keep their blocks like all others, or leave those
    behind the window away, as the engine chooses."""
    window = values.get("sliding_window") or values.get("attention_chunk_size")
    if not isinstance(window, int) or values.get("use_sliding_window") is False:
        return []
    types = values.get("layer_types")
    pattern = values.get("sliding_window_pattern") or values.get("_sliding_window_pattern")
    if isinstance(types, list):
        count = sum(one in _OF_WINDOW for one in types)
    elif isinstance(pattern, int) and pattern > 0:
        count = layers - layers // pattern
    else:
        count = layers
    if not count:
        return []
    return [
        f"{count} of {layers} layers look back {window:,} tokens only; they are counted in full, as by an engine that "
        "drops nothing behind the window: with one that does, more fits"
    ]


def _number(values: Mapping[str, Any], *names: str) -> int:
    """Of the first of these that is there."""
    for name in names:
        found = values.get(name)
        if found is not None:
            if type(found) is not int or found < 1:
                raise ValueError(f"`{name}` is {found!r}, expected a whole number of at least 1")
            return found
    raise ValueError(f"`{names[0]}` is missing")
