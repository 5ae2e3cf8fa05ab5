"""Puts requests through LMDeploy's own scheduler of the PyTorch engine (`lmdeploy/pytorch/paging`), on the CPU.

Runs in any environment with torch, transformers and pydantic. LMDEPLOY_SOURCE is a folder with the unpacked wheel
(`unzip lmdeploy-*.whl`): the package itself needs CUDA. The scheduler, its block manager, trie and eviction, and the
sequences are the wheel's own files; what they import of the model's inputs and of the agent that runs it is replaced by
empty stand-ins. Standard input holds one JSON value a line:

    {"block_size": 64, "blocks": 40}      a new scheduler with so many blocks
    ["begin", 1, [ids], salt, adapter]    answered with the cached tokens, or null when the request has to wait
    ["finish", 1, [ids]]  ["abort", 1]  ["reset"]

The driver does what the engine's loop does for a request that is admitted alone and computed in one step. Blocks are
stamped by a clock that counts events: LMDeploy keeps whole seconds, so that among blocks used within one second it is
chance which goes first. Salts, which LMDeploy does not have, are put into the adapter's name.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

STANDING_IN = ("lmdeploy.pytorch.engine.model_agent", "lmdeploy.pytorch.model_inputs")
PACKAGES = (
    "lmdeploy",
    "lmdeploy.vl",
    "lmdeploy.pytorch",
    "lmdeploy.pytorch.engine",
    "lmdeploy.pytorch.strategies",
    "lmdeploy.pytorch.strategies.ar",
    "lmdeploy.pytorch.strategies.base",
)


class StandIn(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


for package in PACKAGES:
    module = types.ModuleType(package)
    module.__path__ = [str(Path(os.environ["LMDEPLOY_SOURCE"], *package.split(".")))]
    sys.modules[package] = module
for name in STANDING_IN:
    sys.modules[name] = StandIn(name)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from lmdeploy.pytorch.config import CacheConfig, SchedulerConfig  # noqa: E402
from lmdeploy.pytorch.messages import SequenceMeta, UpdateTokenMode  # noqa: E402
from lmdeploy.pytorch.paging.block_manager import base_block_manager  # noqa: E402
from lmdeploy.pytorch.paging.scheduler import Scheduler  # noqa: E402
from lmdeploy.pytorch.strategies.ar.engine import AREngineStrategy  # noqa: E402
from lmdeploy.pytorch.strategies.ar.sequence import ARSequenceStrategy  # noqa: E402

base_block_manager.time = SimpleNamespace(perf_counter=itertools.count(1).__next__)
LONGEST = 1 << 20


class Driver:
    def __init__(self, block_size: int, blocks: int) -> None:
        self.settings = SchedulerConfig(max_batches=64, max_session_len=LONGEST)
        self.cache = CacheConfig(
            max_batches=64,
            block_size=block_size,
            num_cpu_blocks=0,
            num_gpu_blocks=blocks,
            enable_prefix_caching=True,
            max_prefill_token_num=LONGEST,
        )
        engine = AREngineStrategy(self.settings, self.cache)
        self.ahead, self.required = engine.get_prealloc_size(True), engine.get_num_required_tokens()
        self.reset()

    def reset(self) -> None:
        self.scheduler = Scheduler(
            self.settings, self.cache, SequenceMeta(self.cache.block_size, strategy=ARSequenceStrategy())
        )
        self.running: dict[int, Any] = {}

    def begin(self, number: int, tokens: list[int], salt: str | None, adapter: str | None) -> int | None:
        name = f"{salt} {adapter}" if salt or adapter else None
        one = self.scheduler.add_session(number).add_sequence(torch.tensor(tokens), adapter_name=name)
        admitted = self.scheduler.schedule(is_prefill=True, prealloc_size=self.ahead).running
        if not admitted:
            self.scheduler.end_session(number)
            return None
        assert len(admitted) == 1 and admitted[0] is one
        self.scheduler.activate_seqs(admitted)
        self.running[number] = one
        return int(one.cached_tokens)

    def finish(self, number: int, reply: list[int]) -> None:
        one = self.running.pop(number, None)
        if one is None:
            return
        mode = UpdateTokenMode.PREFILL
        for token in reply[:-1]:
            one.update_token_ids(np.array([token]), mode=mode)
            mode = UpdateTokenMode.DECODE
            if not all(self.scheduler.schedule_running([one], self.required, self.ahead)):
                break
        self.scheduler.end_session(number)

    def abort(self, number: int) -> None:
        self.finish(number, [])


def main() -> None:
    driver = Driver(64, 1)
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, dict):
            driver = Driver(asked["block_size"], asked["blocks"])
            continue
        answer = getattr(driver, asked[0])(*asked[1:])
        if asked[0] == "begin":
            print(json.dumps(answer))


if __name__ == "__main__":
    main()
