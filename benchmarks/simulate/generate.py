"""A trace in Mooncake's form with as many blocks as asked for: chats that grow and end, always the same ones."""

from __future__ import annotations

import random
from pathlib import Path

BLOCK_TOKENS = 512
_CHATS = 500
_LONGEST = 64
_GROWS_BY = 4


def write(path: Path, blocks: int) -> int:
    """Requests written. About one block in eight is new."""
    drawn = random.Random(7)
    chats: list[list[int]] = [[] for _ in range(_CHATS)]
    written = requests = names = 0
    with path.open("w") as out:
        while written < blocks:
            chat = drawn.randrange(_CHATS)
            if len(chats[chat]) >= _LONGEST:
                chats[chat] = []
            chats[chat] += range(names, names + _GROWS_BY)
            names += _GROWS_BY
            ids = chats[chat]
            length = BLOCK_TOKENS * len(ids) - 100
            out.write(
                f'{{"timestamp": {100 * requests}, "input_length": {length}, "output_length": 50, "hash_ids": {ids}}}\n'
            )
            written += len(ids)
            requests += 1
    return requests
