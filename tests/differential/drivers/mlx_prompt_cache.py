"""Runs inside MLX-LM's own environment and puts sequences through its real `LRUPromptCache`, without a model.

Standard input holds one JSON value a line:

    {"sequences": 10, "trims": true}      a new cache
    ["fetch", [ids]]                      answered with the cached tokens
    ["insert", [ids], kind]               answered with the number of sequences then kept
"""

from __future__ import annotations

import json
import sys
from typing import Any

from mlx_lm.models.cache import LRUPromptCache


class State:
    """Stands for one layer's keys and values: only their length counts."""

    nbytes = 1

    def __init__(self, length: int, trims: bool) -> None:
        self.length = length
        self.trims = trims

    def is_trimmable(self) -> bool:
        return self.trims

    def trim(self, count: int) -> int:
        self.length -= count
        return count


def fetched(cache: LRUPromptCache, tokens: list[int]) -> int:
    found, rest = cache.fetch_nearest_cache("model", tokens)
    cached_tokens = len(tokens) - len(rest)
    assert found is None or found[0].length == cached_tokens, "the state and the count disagree"
    return cached_tokens


def main() -> None:
    cache, trims = LRUPromptCache(), True
    for line in sys.stdin:
        asked: Any = json.loads(line)
        if isinstance(asked, dict):
            cache, trims = LRUPromptCache(asked["sequences"]), asked["trims"]
        elif asked[0] == "fetch":
            print(fetched(cache, asked[1]))
        else:
            cache.insert_cache("model", asked[1], [State(len(asked[1]), trims)], cache_type=asked[2])
            print(len(cache))


if __name__ == "__main__":
    main()
