"""A trace made for tests: chats that grow, always the same ones. Not random to a reader of figures, only to a cache."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Iterator

from hitrate.core.records import Records, Skipped
from hitrate.core.trace import UNKNOWN, Chunk, Replayable

BLOCK_TOKENS = 16


class Chats:
    """`requests` of 24 chats, in chunks of `chunk` requests; without sessions for every seventh."""

    def __init__(self, requests: int = 300, chunk: int = 64, *, times: bool = True) -> None:
        self.facts = Replayable(path="chats", format="made", block_tokens=BLOCK_TOKENS, has_partial_blocks=True)
        self._requests = requests
        self._chunk = chunk
        self._times = times

    def chunks(self) -> Iterator[Chunk]:
        drawn = random.Random(5)
        chats: list[list[int]] = [[] for _ in range(24)]
        names = 0
        for first in range(0, self._requests, self._chunk):
            chunk = Chunk(array("d"), array("q"), array("q"), array("q"), array("q", [0]), array("q"))
            for number in range(first, min(first + self._chunk, self._requests)):
                session = drawn.randrange(len(chats))
                if len(chats[session]) > 40:
                    chats[session] = []
                grown = drawn.randrange(1, 8)
                chats[session] += range(names, names + grown)
                names += grown
                chunk.at_s.append(number / 4 if self._times else math.nan)
                chunk.input_tokens.append(BLOCK_TOKENS * len(chats[session]) - drawn.randrange(BLOCK_TOKENS))
                chunk.output_tokens.append(drawn.randrange(1, 200))
                chunk.sessions.append(session if number % 7 else UNKNOWN)
                chunk.ids.extend(chats[session])
                chunk.starts.append(len(chunk.ids))
            yield chunk

    def records(self) -> Records:
        skipped = (Skipped(line=3, reason="expected an object"),)
        return Records(read=self._requests + 1, used=self._requests, damaged=1, skipped=skipped)
