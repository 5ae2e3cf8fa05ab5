"""A trace in Mooncake's form with as many blocks as asked for: chats that grow and end, always the same ones."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

BLOCK_TOKENS = 512
_CHATS = 500
_TURNS = 16
_GROWS_BY = 4
"""Blocks a turn."""


@dataclass
class _Story:
    """What a chat says, turn by turn."""

    prompts: list[str] = field(default_factory=list)
    """Of each turn so far, its block ids as in a file."""


class _Stories:
    def __init__(self, most: int | None) -> None:
        self._most = most
        self._told: list[_Story] = []
        self._blocks = 0

    def next(self, drawn: random.Random) -> _Story:
        """A new one; one of those told before where there are enough of them."""
        if self._most is not None and len(self._told) >= self._most:
            return drawn.choice(self._told)
        story = _Story()
        if self._most is not None:
            self._told.append(story)
        return story

    def prompt(self, story: _Story, turn: int) -> str:
        prompts = story.prompts
        if turn == len(prompts):
            new = ", ".join(map(str, range(self._blocks, self._blocks + _GROWS_BY)))
            self._blocks += _GROWS_BY
            prompts.append(f"{prompts[-1]}, {new}" if prompts else new)
        return prompts[turn]


def write(path: Path, blocks: int, distinct: int | None = None) -> int:
    """Requests written. About one block in eight is new; with `distinct` only until there are so many of them, and from
    then on chats are had again."""
    drawn = random.Random(7)
    stories = _Stories(None if distinct is None else max(1, distinct // (_TURNS * _GROWS_BY)))
    chats = [(stories.next(drawn), 0) for _ in range(_CHATS)]
    written = requests = 0
    with path.open("w") as out:
        while written < blocks:
            number = drawn.randrange(_CHATS)
            story, turn = chats[number]
            size = _GROWS_BY * (turn + 1)
            out.write(
                f'{{"timestamp": {100 * requests}, "input_length": {BLOCK_TOKENS * size - 100}, '
                f'"output_length": 50, "hash_ids": [{stories.prompt(story, turn)}]}}\n'
            )
            chats[number] = (story, turn + 1) if turn + 1 < _TURNS else (stories.next(drawn), 0)
            written += size
            requests += 1
    return requests
