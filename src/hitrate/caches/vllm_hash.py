"""vLLM's own block hashes: what its KV cache events and its tiers call a block.

They serve as keys of `BlockChainCache.begin_keys`, so a model can be put beside the events of a running engine. This is
the algorithm `sha256_cbor` of vLLM 0.32 and 0.33 (`vllm/v1/core/kv_cache_utils.py`, `vllm/utils/hashing.py`): SHA-256
of the canonical CBOR of (hash of the block before, token ids, extra keys). The default algorithm, `sha256`, hashes a
Python pickle instead, which differs from one Python to the next; the `xxhash` ones draw a seed for each process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

DEFAULT_SEED = "vllm-none-hash"
"""Stands before the first block where PYTHONHASHSEED is not set; where it is, its value does."""


def block_hashes(
    tokens: Sequence[int],
    block_size: int,
    *,
    cache_salt: str | None = None,
    adapter: tuple[str, str] | None = None,
    seed: str = DEFAULT_SEED,
) -> list[bytes]:
    """32 bytes for each full block. `adapter` is a LoRA's name and path; token ids are from 0 to 2**64 - 1.

    Images and prompt embeddings have extra keys too; prompts with them are not covered.
    """
    parent = none_hash(seed)
    hashes = []
    for start in range(0, len(tokens) - block_size + 1, block_size):
        extra = [] if adapter is None else [_array([_text("lora"), *map(_text, adapter)])]
        if cache_salt and not start:
            extra.append(_array([_text("cache_salt"), _text(cache_salt)]))
        ids = _array([_head(0, token) for token in tokens[start : start + block_size]])
        content = [_head(2, len(parent)) + parent, ids, _array(extra) if extra else _NULL]
        parent = hashlib.sha256(_array(content)).digest()
        hashes.append(parent)
    return hashes


def none_hash(seed: str = DEFAULT_SEED) -> bytes:
    """What stands for the block before the first one."""
    return hashlib.sha256(_text(seed)).digest()


_NULL = b"\xf6"


def _text(value: str) -> bytes:
    data = value.encode()
    return _head(3, len(data)) + data


def _array(items: Sequence[bytes]) -> bytes:
    return _head(4, len(items)) + b"".join(items)


def _head(major: int, value: int) -> bytes:
    """A CBOR item's first bytes (RFC 8949, 3.1), in the shortest form, as canonical CBOR has it."""
    if value < 24:
        return bytes([major << 5 | value])
    for code, width in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if value < 1 << 8 * width:
            return bytes([major << 5 | code]) + value.to_bytes(width, "big")
    raise OverflowError(f"{value} does not fit 64 bits")
