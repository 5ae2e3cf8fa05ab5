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

from hitrate.core.layer_kinds import (
    LayerKind,
    Layers,
    layers_of,
    missing,
    model_type,
    whole_number,
    whole_number_if_there,
)

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

_OTHER_HEADS = {
    "global_head_dim": "head_dim",
    "num_global_key_value_heads": "num_key_value_heads",
    "swa_head_dim": "head_dim",
    "swa_num_key_value_heads": "num_key_value_heads",
    "per_layer_config": None,
    "attention_other_setting": None,
    "block_configs": None,
}
"""Members that give some layers heads of their own, and those of the other layers."""

_OTHER_HEADS_BY_CLASS = ("gemma4", "gemma4_unified")
"""512 numbers a head in layers that look back without a limit, though the file does not say it."""

_CLASS_DEFAULTS = {
    "gemma": (16, 16, 256),
    "gemma2": (8, 4, 256),
    "gemma3": (8, 4, 256),
    "gemma3n": (8, 2, 256),
    "gpt_oss": (64, 8, 64),
    "llama4": (40, 8, 128),
    "qwen3": (32, 32, 128),
    "qwen3_next": (16, 2, 256),
    "qwen3_5": (16, 4, 256),
    "qwen3_5_moe": (16, 2, 256),
    "mistral": (32, 8, None),
    "mixtral": (32, 8, None),
}
"""Heads, KV heads and head size of classes whose files leave them out, or where they do not follow from the others
(https://github.com/huggingface/transformers, src/transformers/models/*/configuration_*.py, 5.24.0)."""


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
    _refuse_what_is_stored_otherwise(values)
    found = layers_of(values)
    chosen = cache_type or _own_type(values)
    size = _BYTES.get(chosen)
    if size is None:
        raise ValueError(f"no cache type {chosen!r}; known: {', '.join(_BYTES)}")
    shared = values.get("num_kv_shared_layers")
    shared = shared if type(shared) is int else 0
    own = [kind for kind in found.kinds[: len(found.kinds) - shared] if kind.attention]
    numbers, notes = _latent(values), []
    if numbers is None:
        left_out = _left_out(values)
        values |= left_out
        notes += [f"`{name}` is not given: {value}, as the model's class has it" for name, value in left_out.items()]
        numbers = _kv_heads(values) * _key_and_value_size(values)
    notes = [*_layer_notes(found, own, shared), *notes]
    total = math.ceil(len(own) * numbers * size)
    notes.append(f"{total:,} bytes of KV cache a token ({len(own)} layers, {chosen})")
    return KvMemory(bytes_per_token=total, layers=len(own), cache_type=chosen, notes=tuple(notes))


def _refuse_what_is_stored_otherwise(values: Mapping[str, Any]) -> None:
    if values.get("index_head_dim"):
        raise ValueError(
            "`index_head_dim`: sparse attention keeps an index beside the cache, in a form of the engine's own; give "
            "the capacity in blocks as the engine reports it"
        )
    if model_type(values) in _OTHER_HEADS_BY_CLASS:
        values = {"global_head_dim": 512, **values}
    for name, usual in _OTHER_HEADS.items():
        if values.get(name) and (usual is None or values[name] != values.get(usual)):
            raise ValueError(
                f"`{name}`: layers have different heads, which engines store in forms of their own; give the capacity "
                "in blocks as the engine reports it"
            )


def _layer_notes(found: Layers, own: list[LayerKind], shared: int) -> list[str]:
    layers, notes = len(found.kinds), []
    attention, states = (sum(kinds) for kinds in zip(*((one.attention, one.state) for one in found.kinds), strict=True))
    if states:
        notes.append(
            f"{attention} of {layers} layers keep keys and values (`{found.member}`); "
            f"{states} keep a state a sequence, which is not counted, and a prefix is served only where an engine "
            "stored the state at its end"
        )
    elif len(own) + shared < layers:
        notes.append(f"{len(own)} of {layers} layers keep keys and values of tokens (`{found.member}`)")
    windows = sum(kind.window for kind in own)
    if windows:
        # Prefix caches keep their blocks like all others, or leave those behind the window away.
        back = "a window" if found.window is None else f"{found.window:,} tokens"
        notes.append(
            f"{windows} of {layers} layers look back {back} only; they are counted in full, as by an engine that "
            "drops nothing behind the window: with one that does, more fits"
        )
    if shared:
        notes.append(f"{shared} of {layers} layers use the keys and values of others")
    return notes


def _own_type(values: Mapping[str, Any]) -> str:
    found = values.get("torch_dtype") or values.get("dtype")
    if not isinstance(found, str):
        raise ValueError("neither `torch_dtype` nor `dtype` is given: name the cache type")
    return found.removeprefix("torch.")


def _latent(values: Mapping[str, Any]) -> int | None:
    """Numbers of MLA a layer and token (DeepSeek-V2, https://arxiv.org/abs/2405.04434, section 2.1)."""
    if not values.get("kv_lora_rank"):
        return None
    return whole_number(values, "kv_lora_rank") + whole_number(values, "qk_rope_head_dim")


def _left_out(values: Mapping[str, Any]) -> dict[str, int]:
    """Heads that the file leaves to the model's class. ValueError where that is not known, for all of them at once."""
    names = ("num_attention_heads", "num_key_value_heads", "head_dim")
    defaults = _CLASS_DEFAULTS.get(model_type(values), (None, None, None))
    left_out = {name: one for name, one in zip(names, defaults, strict=True) if one and name not in values}
    if "num_key_value_heads" in left_out or any(values.get(name) for name in _KV_HEADS + _HEADS + _ONE_KV_HEAD):
        return left_out
    needed = names[:2] if _width(values) else names[1:]
    raise ValueError(missing(*(name for name in needed if not values.get(name))))


_HEADS = ("num_attention_heads", "n_head")
_KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv")
_ONE_KV_HEAD = ("multi_query",)


def _width(values: Mapping[str, Any]) -> int | None:
    return whole_number_if_there(values, "hidden_size", "n_embd", "d_model")


def _kv_heads(values: Mapping[str, Any]) -> int:
    if values.get("multi_query_attention"):  # ChatGLM
        return whole_number(values, "multi_query_group_num")
    if values.get("multi_query") and not values.get("new_decoder_architecture"):  # Falcon's new one has several
        return 1
    return whole_number(values, *_KV_HEADS, *_HEADS)


def _key_and_value_size(values: Mapping[str, Any]) -> int:
    key = whole_number_if_there(values, "head_dim", "attention_head_dim", "kv_channels")
    if key is None:
        heads = whole_number_if_there(values, *_HEADS)
        width = _width(values)
        if heads is None or width is None:
            raise ValueError(missing("head_dim"))
        if width % heads:
            raise ValueError(f"{width} numbers are not to be divided by {heads} heads, and `head_dim` is not given")
        key = width // heads
    return key + (whole_number_if_there(values, "v_head_dim") or key)
