"""Blocks of a prompt's tokens by name: each name is a hash over its block and all before it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from hashlib import blake2b

_WIDTH = array("q").itemsize


def block_names(tokens: Sequence[int], block_tokens: int, root: bytes = b"") -> list[bytes]:
    """One for each block, the last one whether it is full or not. Prompts of different `root`s share nothing."""
    data = array("q", tokens).tobytes()
    width = block_tokens * _WIDTH
    name = root
    names = []
    for start in range(0, len(data), width):
        name = blake2b(data[start : start + width] + name, digest_size=16).digest()
        names.append(name)
    return names
