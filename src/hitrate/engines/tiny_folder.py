"""The tiny model as a folder: the same weights, vocabulary and template as the GGUF, for vLLM, MLX and transformers.

Five files: config.json, generation_config.json, model.safetensors, tokenizer.json and tokenizer_config.json with the
chat template. Layout of safetensors: https://github.com/huggingface/safetensors#format.
"""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import platformdirs

from hitrate.engines.gguf import Tensor
from hitrate.engines.tiny_model import (
    FEED_FORWARD,
    HEADS,
    HIDDEN,
    LAYERS,
    MODEL_NAME,
    MODEL_SHA256,
    NORM_EPSILON,
    ROPE_BASE,
    TRAINED_CONTEXT,
    chat_template,
    tensors,
)
from hitrate.engines.vocabulary import END_OF_TEXT, SPECIAL_TOKENS, TURN_END, load_vocabulary
from hitrate.errors import UsageError

_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def tiny_model_folder(parent: Path | None = None) -> Path:
    """The folder in `parent` (default: the user's cache folder), written first if it is missing.

    It appears whole or not at all, so several processes may ask at once. Raises UsageError if it cannot be written.
    """
    parent = Path(platformdirs.user_cache_dir("hitrate")) if parent is None else parent
    folder = parent / f"{MODEL_NAME}-{MODEL_SHA256[:12]}"
    if folder.is_dir():
        return folder
    try:
        parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=folder.name, suffix=".part", dir=parent))
        for name, data in tiny_model_files().items():
            (draft / name).write_bytes(data)
        draft.chmod(0o755)
        try:
            draft.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
            # Another process was first; its files are the same.
            for file in draft.iterdir():
                file.unlink()
            draft.rmdir()
    except OSError as error:
        raise UsageError(
            f"the tiny model cannot be written to {parent}: {error.strerror}; free it or set XDG_CACHE_HOME"
        ) from error
    return folder


def tiny_model_files() -> dict[str, bytes]:
    """Content by file name."""
    tokens = load_vocabulary().tokens
    ends = {"bos_token_id": tokens.index(END_OF_TEXT), "eos_token_id": tokens.index(TURN_END)}
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "attention_bias": False,
        "mlp_bias": False,
        "head_dim": HIDDEN // HEADS,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": FEED_FORWARD,
        "max_position_embeddings": TRAINED_CONTEXT,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": HEADS,
        "rms_norm_eps": NORM_EPSILON,
        "rope_theta": ROPE_BASE,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "vocab_size": len(tokens),
        **ends,
    }
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": TRAINED_CONTEXT,
        "bos_token": END_OF_TEXT,
        "eos_token": TURN_END,
        "pad_token": END_OF_TEXT,
        "chat_template": chat_template(),
    }
    return {
        "config.json": _json(config),
        "generation_config.json": _json(ends),
        "model.safetensors": safetensors([_renamed(tensor) for tensor in tensors()]),
        "tokenizer.json": _json(_tokenizer()),
        "tokenizer_config.json": _json(tokenizer_config),
    }


def safetensors(parts: Sequence[Tensor]) -> bytes:
    """The file: length of the header, the header as JSON, then the data, float32 as they are."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for tensor in parts:
        end = offset + len(tensor.data)
        # Here the fastest-running dimension stands last.
        header[tensor.name] = {"dtype": "F32", "shape": tensor.shape[::-1], "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(tensor.data for tensor in parts)


def _renamed(tensor: Tensor) -> Tensor:
    *block, part, kind = tensor.name.split(".")
    prefix = f"model.layers.{block[1]}." if block else ""
    data = _rotary_halves(tensor.data) if part in ("attn_q", "attn_k") else tensor.data
    return Tensor(f"{prefix}{_NAMES[part]}.{kind}", tensor.shape, data)


def _rotary_halves(data: bytes) -> bytes:
    """Rows of a query or key matrix with each head's pairs taken apart.

    A rotation turns rows 2i and 2i + 1 of a head in a llama GGUF, and rows i and i + half in this format.
    """
    size, width = 4 * HIDDEN, HIDDEN // HEADS
    rows = [data[start : start + size] for start in range(0, len(data), size)]
    within = [*range(0, width, 2), *range(1, width, 2)]
    order = [head + row for head in range(0, HIDDEN, width) for row in within]
    return b"".join(rows[number] for number in order)


def _tokenizer() -> dict[str, Any]:
    """Byte-level BPE that takes digits one by one, as llama.cpp's pre-tokeniser "smollm" does."""
    vocabulary = load_vocabulary()
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": vocabulary.tokens.index(token), "content": token, **flags} for token in SPECIAL_TOKENS],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: number for number, token in enumerate(vocabulary.tokens)},
            "merges": vocabulary.merges,
        },
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
