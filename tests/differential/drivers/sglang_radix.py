"""Puts requests through SGLang's own `RadixCache` (`srt/mem_cache/radix_cache.py`), on the CPU.

Runs in any environment with torch. SGLANG_SOURCE is a folder with the unpacked wheel (`unzip sglang-*.whl`): the
package cannot be installed without CUDA. The tree, its keys, its eviction strategy and its base class are the wheel's
own files; what they import of kernels, metrics and server settings is replaced by empty stand-ins, and the pool of
token slots by a count. Standard input holds one JSON value a line:

    {"page_size": 1, "tokens": 400}       a new cache with room for so many tokens
    ["begin", 1, [ids], salt, adapter]    answered with the cached tokens
    ["finish", 1, [ids]]  ["abort", 1]  ["reset"]

The driver does what the scheduler does for a request that is computed in one step: match all but the last token, lock
the match, make room, checkpoint the prompt; then a slot for each token generated but the last, and a checkpoint of all.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import sys
import types
from array import array
from pathlib import Path
from types import SimpleNamespace
from typing import Any

STANDING_IN = (
    "sglang.kernels",
    "sglang.srt.disaggregation",
    "sglang.srt.environ",
    "sglang.srt.mem_cache.allocator",
    "sglang.srt.mem_cache.cpp_utils",
    "sglang.srt.mem_cache.memory_pool",
    "sglang.srt.observability",
    "sglang.srt.runtime_context",
    "sglang.srt.utils",
)
PACKAGES = ("sglang", "sglang.srt", "sglang.srt.mem_cache", "sglang.srt.mem_cache.unified_cache")


class StandIn(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if any(name == one or name.startswith(f"{one}.") for one in STANDING_IN):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> StandIn:
        stand_in = StandIn(spec.name)
        stand_in.__path__ = []
        return stand_in

    def exec_module(self, module: types.ModuleType) -> None:
        pass


sys.meta_path.insert(0, Finder())
for package in PACKAGES:
    module = types.ModuleType(package)
    module.__path__ = [str(Path(os.environ["SGLANG_SOURCE"], *package.split(".")))]
    sys.modules[package] = module

import torch  # noqa: E402
from sglang.srt.mem_cache.base_prefix_cache import EvictParams, MatchPrefixParams  # noqa: E402
from sglang.srt.mem_cache.cache_init_params import CacheInitParams  # noqa: E402
from sglang.srt.mem_cache.radix_cache import RadixCache, RadixKey  # noqa: E402

LONGEST = 1 << 14


class Pool:
    """Token slots by page. `evict_to_free_tokens` is the rule of `allocator/base.py`: evict what is missing."""

    device = "cpu"

    def __init__(self, page_size: int, tokens: int) -> None:
        self.page_size = page_size
        self.free_pages = list(range(tokens // page_size))

    def available_size(self) -> int:
        return len(self.free_pages) * self.page_size

    def evict_to_free_tokens(self, tree: RadixCache, tokens: int) -> bool:
        missing = tokens - self.available_size()
        if missing > 0:
            tree.evict_for_alloc(EvictParams(num_tokens=missing))
        return self.available_size() >= tokens

    def extend(self, row: torch.Tensor, start: int, end: int) -> None:
        """Slots for the positions `start` to `end` of a row, the rest of its last page first."""
        for position in range(start, end):
            if position % self.page_size:
                row[position] = row[position - 1] + 1
            else:
                row[position] = self.free_pages.pop() * self.page_size

    def free_segment(self, slots: torch.Tensor, start_pos: int = 0) -> None:
        assert start_pos % self.page_size == 0, "a page would be freed twice"
        self.free_pages += [int(slot) // self.page_size for slot in slots[:: self.page_size]]


class Rows:
    """The table of slots by request and position."""

    def __init__(self) -> None:
        self.req_to_token = torch.zeros((64, LONGEST), dtype=torch.int64)
        self.free = list(range(64))

    def write(self, place: tuple[int, slice], slots: torch.Tensor) -> None:
        self.req_to_token[place] = slots


class Driver:
    def __init__(self, page_size: int, tokens: int) -> None:
        self.page_size = page_size
        self.pool, self.rows = Pool(page_size, tokens), Rows()
        self.tree = RadixCache(CacheInitParams(False, self.rows, self.pool, page_size))
        self.running: dict[int, Any] = {}

    def begin(self, number: int, tokens: list[int], salt: str | None, adapter: str | None) -> int:
        one = SimpleNamespace(
            extra_key=adapter,
            cache_salt=salt,
            priority=None,
            origin_input_ids=array("q", tokens),
            full_untruncated_fill_ids=array("q", tokens),
            kv=SimpleNamespace(
                req_pool_idx=self.rows.free.pop(), cache_inserted_len=0, cache_protected_len=0, swa_evict_floor=0
            ),
        )
        key = RadixKey(array("q", tokens[:-1]), adapter, cache_salt=salt)
        match = self.tree.match_prefix(MatchPrefixParams(key=key))
        cached_tokens = match.device_prefix_len
        one.last_node = match.last_device_node
        one.lock = self.tree.lock(one.last_node)
        row = self.rows.req_to_token[one.kv.req_pool_idx]
        row[:cached_tokens] = self.tree.path_device_indices(one.last_node)
        one.kv.cache_protected_len = one.kv.cache_inserted_len = cached_tokens
        # `alloc_paged_token_slots_extend` asks for one page more than it may need.
        asked = len(tokens) - cached_tokens + (self.page_size if self.page_size > 1 else 0)
        self.pool.evict_to_free_tokens(self.tree, asked)
        self.pool.extend(row, cached_tokens, len(tokens))
        self.tree.checkpoint(one, up_to=len(tokens))
        self.running[number] = one
        return cached_tokens

    def finish(self, number: int, reply: list[int]) -> None:
        one = self.running.pop(number)
        row = self.rows.req_to_token[one.kv.req_pool_idx]
        for token in reply[:-1]:
            length = len(one.full_untruncated_fill_ids)
            # `alloc_paged_token_slots_decode` asks for a whole page at every token.
            has_room = self.pool.evict_to_free_tokens(self.tree, self.page_size)
            if length % self.page_size == 0 and not has_room:
                break
            self.pool.extend(row, length, length + 1)
            one.full_untruncated_fill_ids.append(token)
        length = len(one.full_untruncated_fill_ids)
        self.tree.checkpoint(one, up_to=length)
        self._release(one, length)

    def abort(self, number: int) -> None:
        one = self.running.pop(number)
        self._release(one, len(one.full_untruncated_fill_ids))

    def _release(self, one: Any, length: int) -> None:
        row = self.rows.req_to_token[one.kv.req_pool_idx]
        self.pool.free_segment(row[one.kv.cache_protected_len : length], start_pos=one.kv.cache_protected_len)
        self.tree.unlock(one.lock)
        self.rows.free.append(one.kv.req_pool_idx)

    def reset(self) -> None:
        for number in list(self.running):
            self.abort(number)
        self.tree.evict(EvictParams(num_tokens=1 << 60))
        self.tree.reset()


def main() -> None:
    driver = Driver(1, 1)
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, dict):
            driver = Driver(asked["page_size"], asked["tokens"])
            continue
        answer = getattr(driver, asked[0])(*asked[1:])
        if asked[0] == "begin":
            print(json.dumps(answer))


if __name__ == "__main__":
    main()
