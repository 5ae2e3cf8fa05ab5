"""The tiny model: a real llama of random weights that hitrate writes itself, so nothing has to be downloaded.

Caching, prefill time and token counts depend on the architecture and the prompt, not on what the weights know; its
replies are words in no order. 4 layers of 128 give a cold time to first token that is many times the warm one, in a
file of some 7 MiB. The bytes are the same on every machine: SHA-256's sibling SHAKE-256 draws them.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import math
import os
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs

from hitrate.engines import gguf
from hitrate.engines.gguf import Tensor
from hitrate.engines.vocabulary import END_OF_TEXT, SPECIAL_TOKENS, TURN_END, load_vocabulary
from hitrate.errors import UsageError

MODEL_NAME = "hitrate-tiny"
MODEL_SHA256 = "46a7c17b37a86a23ae40bd176397bdd2fa8be81be5f84aa744b113aad7061359"

HIDDEN = 128
LAYERS = 4
HEADS = 4
FEED_FORWARD = 384
NORM_EPSILON = 1e-5
ROPE_BASE = 10000.0
TRAINED_CONTEXT = 32768
SEED = b"hitrate tiny model 1"

_NORMAL, _CONTROL = 1, 3


def tiny_model_bytes() -> bytes:
    """The whole GGUF file."""
    metadata: dict[str, gguf.Metadata] = {
        "general.architecture": "llama",
        "general.name": MODEL_NAME,
        "general.file_type": 0,
        "llama.context_length": TRAINED_CONTEXT,
        "llama.embedding_length": HIDDEN,
        "llama.block_count": LAYERS,
        "llama.feed_forward_length": FEED_FORWARD,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": HEADS,
        "llama.attention.layer_norm_rms_epsilon": NORM_EPSILON,
        "llama.rope.dimension_count": HIDDEN // HEADS,
        "llama.rope.freq_base": ROPE_BASE,
        "llama.vocab_size": len(load_vocabulary().tokens),
        **tokenizer_metadata(),
    }
    return gguf.encode(metadata, tensors())


def tokenizer_metadata() -> dict[str, gguf.Metadata]:
    vocabulary = load_vocabulary()
    special = range(len(vocabulary.tokens) - len(SPECIAL_TOKENS), len(vocabulary.tokens))
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": vocabulary.tokens,
        "tokenizer.ggml.token_type": [
            _CONTROL if number in special else _NORMAL for number in range(len(vocabulary.tokens))
        ],
        "tokenizer.ggml.merges": vocabulary.merges,
        "tokenizer.ggml.bos_token_id": vocabulary.tokens.index(END_OF_TEXT),
        "tokenizer.ggml.eos_token_id": vocabulary.tokens.index(TURN_END),
        "tokenizer.ggml.padding_token_id": vocabulary.tokens.index(END_OF_TEXT),
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": chat_template(),
    }


def chat_template() -> str:
    """The Jinja template: ChatML turns, tools as JSON after the system text, tool calls and results in place."""
    return importlib.resources.files("hitrate.engines").joinpath("data/chat_template.jinja").read_text(encoding="utf-8")


def tensors() -> list[Tensor]:
    """The weights, named and laid out as a llama GGUF has them."""
    vocabulary = load_vocabulary()
    weights = [random_weights("token_embd.weight", HIDDEN, len(vocabulary.tokens))]
    for layer in range(LAYERS):
        prefix = f"blk.{layer}"
        weights += [
            ones(f"{prefix}.attn_norm.weight"),
            *(random_weights(f"{prefix}.attn_{part}.weight", HIDDEN, HIDDEN) for part in ("q", "k", "v", "output")),
            ones(f"{prefix}.ffn_norm.weight"),
            random_weights(f"{prefix}.ffn_gate.weight", HIDDEN, FEED_FORWARD),
            random_weights(f"{prefix}.ffn_up.weight", HIDDEN, FEED_FORWARD),
            random_weights(f"{prefix}.ffn_down.weight", FEED_FORWARD, HIDDEN),
        ]
    return [
        *weights,
        ones("output_norm.weight"),
        words_only(random_weights("output.weight", HIDDEN, len(vocabulary.tokens)), vocabulary.word_ids),
    ]


def ones(name: str, length: int = HIDDEN) -> Tensor:
    return Tensor(name, (length,), struct.pack("<f", 1.0) * length)


def random_weights(name: str, columns: int, rows: int) -> Tensor:
    """Uniform values of variance 1 / columns in 256 levels, one drawn byte each.

    The four bytes of the floats are translated plane by plane, which takes milliseconds where packing takes seconds.
    """
    drawn = hashlib.shake_256(SEED + name.encode()).digest(columns * rows)
    half_width = math.sqrt(3 / columns)
    levels = [struct.pack("<f", (2 * level - 255) / 255 * half_width) for level in range(256)]
    data = bytearray(4 * len(drawn))
    for plane in range(4):
        data[plane::4] = drawn.translate(bytes(level[plane] for level in levels))
    return Tensor(name, (columns, rows), bytes(data))


def words_only(output: Tensor, word_ids: tuple[int, ...]) -> Tensor:
    """The output matrix with the rows of all other tokens at zero, a score that some word always beats.

    So a reply is whole words, never half a character or an early end, and when it is sent back as history it becomes
    the very tokens that were generated: the tiny model's conversations cache as cleanly as an engine can.
    """
    size = 4 * HIDDEN
    data = bytearray(len(output.data))
    for number in word_ids:
        data[number * size : (number + 1) * size] = output.data[number * size : (number + 1) * size]
    return Tensor(output.name, output.shape, bytes(data))


def tiny_model_path(folder: Path | None = None) -> Path:
    """See `model_path`."""
    return model_path(MODEL_NAME, MODEL_SHA256, tiny_model_bytes, folder)


def model_path(name: str, sha256: str, content: Callable[[], bytes], folder: Path | None = None) -> Path:
    """The model file in `folder` (default: the user's cache folder), written first if it is missing or differs.

    It appears whole or not at all, so several processes may ask at once. Raises UsageError if it cannot be written.
    """
    folder = Path(platformdirs.user_cache_dir("hitrate")) if folder is None else folder
    path = folder / f"{name}-{sha256[:12]}.gguf"
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_whole(path, content())
    except OSError as error:
        raise UsageError(
            f"the tiny model cannot be written to {folder}: {error.strerror}; free it or set XDG_CACHE_HOME"
        ) from error
    return path


def _write_whole(path: Path, data: bytes) -> None:
    handle, draft = tempfile.mkstemp(prefix=path.name, suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)
