"""What each layer of a model keeps of a prompt, from its config.json.

Members and defaults are those of the configuration classes of Hugging Face transformers
(https://github.com/huggingface/transformers, src/transformers/models/*/configuration_*.py, 5.24.0), and of files that
models were published with before they were taken in there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct


class LayerKind(NamedTuple):
    attention: bool
    """Keeps a key and a value of each token."""
    window: bool
    """Looks no further back than a window."""
    state: bool
    """Keeps one state of a sequence, whatever its length."""


FULL = LayerKind(True, False, False)
WINDOW = LayerKind(True, True, False)
STATE = LayerKind(False, False, True)
BOTH = LayerKind(True, False, True)
NOTHING = LayerKind(False, False, False)

_KINDS = {
    **dict.fromkeys(("full_attention", "attention", "full", "global", "global_attention", "self_attention"), FULL),
    **dict.fromkeys(("sliding_attention", "sliding_window", "sliding", "local_attention", "local"), WINDOW),
    **dict.fromkeys(("chunked_attention", "window_attention"), WINDOW),
    **dict.fromkeys(("linear_attention", "linear", "mamba", "mamba2", "recurrent", "rwkv"), STATE),
    **dict.fromkeys(("conv", "short_conv", "gated_deltanet", "kda"), STATE),
    "hybrid": BOTH,
    "hybrid_sliding": LayerKind(True, True, True),
    **dict.fromkeys(("moe", "mlp"), NOTHING),
}
_LETTERS = {"M": STATE, "*": FULL, "-": NOTHING, "E": NOTHING}
"""Of Nemotron-H's `hybrid_override_pattern`."""

_LAYERS = ("num_hidden_layers", "n_layer", "num_layers")
_LIST_OF_KINDS = re.compile(r"(layers?|attn|attention|block|mixer)_(block_)?(types?|kinds?|patterns?|layers)(_list)?$")
_OTHER_LISTS = re.compile(r"(^|_)(mlp|ffn|moe|mtp|vision|audio|draft|indexer|rope|cross)_")
_OF_STATES = re.compile(
    r"mamba|rwkv|xlstm|(^|_)ssm_|^kda_|^lru_width$|^conv_L_cache$|^state_size$|^linear_(num|key|value|conv|attn)_"
    r"|linear_attention|linear_attn|lightning_attn|delta_?net|^layer_group_size$"
)
_TYPES_WITH_STATES = re.compile(r"mamba|rwkv|xlstm|retnet|recurrent|hybrid|^minimax$")

_EVERY = {
    "gemma2": 2,
    "vaultgemma": 2,
    "gpt_oss": 2,
    "cohere2": 4,
    "cwm": 4,
    "olmo3": 4,
    "exaone4": 4,
    "gemma3n": 5,
    "gemma3": 6,
    "gemma4": 6,
    "gemma4_unified": 6,
}
"""Of so many layers the last one looks back without a limit, by `model_type`, where the file does not say."""


class Layers(Struct, frozen=True):
    kinds: tuple[LayerKind, ...]
    member: str | None
    """Of the file, that told which layers are attention; None where all are."""
    window: int | None
    """Tokens that a layer with a window looks back; None where it is not said."""


def layers_of(values: Mapping[str, Any]) -> Layers:
    """ValueError where layers keep states and it is not told which, or something that is not known."""
    layers = whole_number_if_there(values, *_LAYERS)
    if layers is not None and model_type(values) == "longcat_flash" and "num_hidden_layers" not in values:
        layers *= 2  # each of its layers has two attentions
    told = _told(values, layers)
    window = _window(values)
    if told is None:
        _refuse_states(values)
        if layers is None:
            raise ValueError(missing(_LAYERS[0]))
        return Layers(_by_window(values, layers, window), None, window)
    member, kinds = told
    if values.get("attention_window_size"):
        kinds = [one._replace(window=one.attention) for one in kinds]
    if not any(one.attention for one in kinds):
        raise ValueError(f"`{member}`: {_ALL_STATES}")
    return Layers(tuple(kinds), member, window)


_ALL_STATES = (
    "all layers are recurrent and keep a state instead of keys and values, of which an engine stores as many as it "
    "likes; give the capacity in blocks as the engine reports it"
)


def model_type(values: Mapping[str, Any]) -> str:
    """Without the ending of the part of it that reads text."""
    found = values.get("model_type")
    return found.removesuffix("_text") if isinstance(found, str) else ""


def whole_number(values: Mapping[str, Any], *names: str) -> int:
    """Of the first of these that is there."""
    found = whole_number_if_there(values, *names)
    if found is None:
        raise ValueError(missing(names[0]))
    return found


def whole_number_if_there(values: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        found = values.get(name)
        if found is not None:
            if type(found) is not int or found < 1:
                raise ValueError(f"`{name}` is {found!r}, expected a whole number of at least 1")
            return found
    return None


def missing(*names: str) -> str:
    """What to do, beside: files leave out what is as in the model's class."""
    said = " and ".join(f"`{name}`" for name in names)
    which, it = ("is", "it") if len(names) == 1 else ("are", "them")
    return (
        f"{said} {which} missing; add {it} with what the model's card says, or its class in Hugging Face transformers, "
        "of which a config.json may leave the defaults out; or give the capacity in blocks"
    )


def _told(values: Mapping[str, Any], layers: int | None) -> tuple[str, list[LayerKind]] | None:
    """The member that says what each layer is, and what it says."""
    names = sorted((name for name in values if _names_kinds(name)), key=lambda name: name != "layer_types")
    for name in names:
        kinds = _named(name, values[name])
        if kinds is not None:
            return name, _fitted(name, kinds, layers)
    pattern = values.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return "hybrid_override_pattern", _fitted(
            "hybrid_override_pattern", [_known("hybrid_override_pattern", one, _LETTERS) for one in pattern], layers
        )
    if layers is None:
        return None
    return _by_index(values, layers) or _by_step(values, layers)


def _names_kinds(name: str) -> bool:
    return bool(_LIST_OF_KINDS.search(name)) and not _OTHER_LISTS.search(name)


def _named(name: str, value: Any) -> list[LayerKind] | None:
    """None for what is no list."""
    if not isinstance(value, list) or not value:
        return None
    if name == "attn_type_list":
        return [_known(name, one, {0: STATE, 1: FULL}) for one in value]
    return [_known(name, one, _KINDS) for one in value]


def _known(name: str, one: Any, kinds: Mapping[Any, LayerKind]) -> LayerKind:
    found = kinds.get(one) if isinstance(one, str | int) else None
    if found is None:
        raise ValueError(
            f"`{name}` has {one!r}, a kind of layer whose memory is not known; give the capacity in blocks as the "
            "engine reports it"
        )
    return found


def _fitted(name: str, kinds: Sequence[LayerKind], layers: int | None) -> list[LayerKind]:
    """To the number of layers: layers that only draft follow behind in some files, and RecurrentGemma repeats."""
    if layers is None:
        return list(kinds)
    if name == "block_types":
        return (list(kinds) * layers)[:layers]
    if len(kinds) < layers:
        raise ValueError(f"`{name}` names {len(kinds)} layers, `num_hidden_layers` is {layers}")
    return list(kinds[:layers])


_INDICES = {
    "full_attn_idxs": (FULL, STATE),
    "attn_layer_indices": (FULL, STATE),
    "cross_attention_layers": (NOTHING, FULL),
}
"""Members with indices of layers: what those named are, and what the others. Llama-3.2-Vision's cross attention keeps
keys of images, none of tokens."""


def _by_index(values: Mapping[str, Any], layers: int) -> tuple[str, list[LayerKind]] | None:
    linear = values.get("linear_attn_config")
    if isinstance(linear, Mapping) and linear.get("full_attn_layers"):
        name, indices = "linear_attn_config.full_attn_layers", linear["full_attn_layers"]
        first = 0 if any(0 in (linear.get(one) or ()) for one in ("full_attn_layers", "kda_layers")) else 1
    else:
        found = next((one for one in _INDICES if values.get(one)), None)
        if found is None:
            return None
        name, indices, first = found, values[found], 0
    if not isinstance(indices, list) or not all(type(one) is int and 0 <= one - first < layers for one in indices):
        raise ValueError(f"`{name}` is {indices!r}, expected indices of {layers} layers")
    named, others = _INDICES.get(name, (FULL, STATE))
    return name, [named if index + first in indices else others for index in range(layers)]


def _by_step(values: Mapping[str, Any], layers: int) -> tuple[str, list[LayerKind]] | None:
    """Qwen3-Next's every fourth layer, Jamba's and Falcon-H1's, where each layer has both."""
    interval = whole_number_if_there(values, "full_attention_interval")
    if interval is not None:
        return "full_attention_interval", [FULL if (i + 1) % interval == 0 else STATE for i in range(layers)]
    period, offset = values.get("attn_layer_period"), values.get("attn_layer_offset")
    if model_type(values) == "jamba" and type(period) is int and period > 0 and type(offset) is int:
        return "attn_layer_period", [FULL if i % period == offset else STATE for i in range(layers)]
    return ("model_type", [BOTH] * layers) if model_type(values) == "falcon_h1" else None


def _refuse_states(values: Mapping[str, Any]) -> None:
    member = next((name for name in values if _OF_STATES.search(name) and values[name]), None)
    if member is None and _TYPES_WITH_STATES.search(model_type(values)):
        member = "model_type"
    if member is not None:
        raise ValueError(
            f"`{member}`: layers are recurrent and keep a state, and it is not told which keep keys and values; add "
            "`layer_types`, or give the capacity in blocks as the engine reports it"
        )


def _window(values: Mapping[str, Any]) -> int | None:
    names = ["attention_chunk_size", "attention_window_size"]
    if values.get("use_sliding_window", not model_type(values).startswith("qwen")) is not False:
        names.insert(0, "sliding_window")
    return next((values[name] for name in names if type(values.get(name)) is int and values[name] > 0), None)


def _by_window(values: Mapping[str, Any], layers: int, window: int | None) -> tuple[LayerKind, ...]:
    """Of a model whose layers are all attention."""
    if window is None:
        return (FULL,) * layers
    if values.get("attention_chunk_size") == window:
        rotary = values.get("no_rope_layers")
        if isinstance(rotary, list) and len(rotary) >= layers:
            return tuple(WINDOW if one else FULL for one in rotary[:layers])
        return _last_of(whole_number_if_there(values, "no_rope_layer_interval") or 4, layers)
    pattern = next((values[name] for name in _PATTERNS if values.get(name)), _EVERY.get(model_type(values)))
    if isinstance(pattern, str) and set(pattern) <= {"L", "G"}:
        return tuple(WINDOW if pattern[i % len(pattern)] == "L" else FULL for i in range(layers))
    if type(pattern) is int and pattern > 0:
        return _last_of(pattern, layers)
    first = values.get("max_window_layers")
    if type(first) is int:
        return tuple(WINDOW if i >= first else FULL for i in range(layers))
    return (WINDOW,) * layers


_PATTERNS = ("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers")


def _last_of(every: int, layers: int) -> tuple[LayerKind, ...]:
    return tuple(WINDOW if (i + 1) % every else FULL for i in range(layers))
