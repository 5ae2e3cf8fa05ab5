"""Tiny models whose memory llama.cpp cannot cut at any token: with sliding windows, and recurrent.

Vocabulary, template, sizes and ways as `tiny_model`. The architectures are those with the fewest kinds of tensors:
OLMo 3 (`olmo2`; layers 0 to 2 see a window, layer 3 all) and Mamba (one state for all that was read).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from hitrate.engines import gguf
from hitrate.engines.gguf import Tensor
from hitrate.engines.tiny_model import (
    FEED_FORWARD,
    HEADS,
    HIDDEN,
    LAYERS,
    NORM_EPSILON,
    ROPE_BASE,
    TRAINED_CONTEXT,
    model_path,
    ones,
    random_weights,
    tokenizer_metadata,
    words_only,
)
from hitrate.engines.vocabulary import load_vocabulary

WINDOW = 128
"""Tokens that the layers with a sliding window see."""

_INNER = 2 * HIDDEN
"""llama.cpp takes no other expansion for Mamba."""
_STATE = 16
_CONVOLUTION = 4
_TIME_STEP_RANK = 8


def sliding_window_bytes() -> bytes:
    metadata: dict[str, gguf.Metadata] = {
        "general.architecture": "olmo2",
        "general.name": "hitrate-tiny-swa",
        "general.file_type": 0,
        "olmo2.context_length": TRAINED_CONTEXT,
        "olmo2.embedding_length": HIDDEN,
        "olmo2.block_count": LAYERS,
        "olmo2.feed_forward_length": FEED_FORWARD,
        "olmo2.attention.head_count": HEADS,
        "olmo2.attention.head_count_kv": HEADS,
        "olmo2.attention.layer_norm_rms_epsilon": NORM_EPSILON,
        "olmo2.attention.sliding_window": WINDOW,
        "olmo2.rope.dimension_count": HIDDEN // HEADS,
        "olmo2.rope.freq_base": ROPE_BASE,
        **tokenizer_metadata(),
    }
    return gguf.encode(metadata, _with_ends([part for layer in range(LAYERS) for part in _olmo(f"blk.{layer}")]))


def recurrent_bytes() -> bytes:
    metadata: dict[str, gguf.Metadata] = {
        "general.architecture": "mamba",
        "general.name": "hitrate-tiny-recurrent",
        "general.file_type": 0,
        "mamba.context_length": TRAINED_CONTEXT,
        "mamba.embedding_length": HIDDEN,
        "mamba.block_count": LAYERS,
        "mamba.feed_forward_length": 0,
        "mamba.attention.head_count": 0,
        "mamba.attention.layer_norm_rms_epsilon": NORM_EPSILON,
        "mamba.ssm.conv_kernel": _CONVOLUTION,
        "mamba.ssm.inner_size": _INNER,
        "mamba.ssm.state_size": _STATE,
        "mamba.ssm.time_step_rank": _TIME_STEP_RANK,
        **tokenizer_metadata(),
    }
    return gguf.encode(metadata, _with_ends([part for layer in range(LAYERS) for part in _mamba(f"blk.{layer}")]))


def _olmo(prefix: str) -> list[Tensor]:
    return [
        *(random_weights(f"{prefix}.attn_{part}.weight", HIDDEN, HIDDEN) for part in ("q", "k", "v", "output")),
        ones(f"{prefix}.attn_q_norm.weight"),
        ones(f"{prefix}.attn_k_norm.weight"),
        ones(f"{prefix}.post_attention_norm.weight"),
        random_weights(f"{prefix}.ffn_gate.weight", HIDDEN, FEED_FORWARD),
        random_weights(f"{prefix}.ffn_up.weight", HIDDEN, FEED_FORWARD),
        random_weights(f"{prefix}.ffn_down.weight", FEED_FORWARD, HIDDEN),
        ones(f"{prefix}.post_ffw_norm.weight"),
    ]


def _mamba(prefix: str) -> list[Tensor]:
    # How fast each of a channel's states fades: -1, -2, ... as Mamba is initialised.
    decay = struct.pack(f"<{_STATE}f", *(-1.0 - state for state in range(_STATE))) * _INNER
    return [
        ones(f"{prefix}.attn_norm.weight"),
        random_weights(f"{prefix}.ssm_in.weight", HIDDEN, 2 * _INNER),
        random_weights(f"{prefix}.ssm_conv1d.weight", _CONVOLUTION, _INNER),
        _zeros(f"{prefix}.ssm_conv1d.bias"),
        random_weights(f"{prefix}.ssm_x.weight", _INNER, _TIME_STEP_RANK + 2 * _STATE),
        random_weights(f"{prefix}.ssm_dt.weight", _TIME_STEP_RANK, _INNER),
        _zeros(f"{prefix}.ssm_dt.bias"),
        Tensor(f"{prefix}.ssm_a", (_STATE, _INNER), decay),
        ones(f"{prefix}.ssm_d", _INNER),
        random_weights(f"{prefix}.ssm_out.weight", _INNER, HIDDEN),
    ]


def _zeros(name: str) -> Tensor:
    return Tensor(name, (_INNER,), bytes(4 * _INNER))


def _with_ends(layers: list[Tensor]) -> list[Tensor]:
    vocabulary = load_vocabulary()
    return [
        random_weights("token_embd.weight", HIDDEN, len(vocabulary.tokens)),
        *layers,
        ones("output_norm.weight"),
        words_only(random_weights("output.weight", HIDDEN, len(vocabulary.tokens)), vocabulary.word_ids),
    ]


VARIANTS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "tiny-swa": ("0895a40e114ddcdab771d23211d7da5754c14d6fa163bf86f9064203e94b5a9a", sliding_window_bytes),
    "tiny-recurrent": ("0f68094e1b487a018160052536391142e535ed3d1269247891f304c9d86d8630", recurrent_bytes),
}
"""Name on the command line → SHA-256 of the file, and what makes it."""


def variant_path(name: str, folder: Path | None = None) -> Path:
    """The file of the variant of that name, see `tiny_model.model_path`."""
    sha256, content = VARIANTS[name]
    return model_path(f"hitrate-{name}", sha256, content, folder)
