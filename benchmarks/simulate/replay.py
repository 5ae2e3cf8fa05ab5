"""One replay in a process of its own: `replay.py FILE KERNEL CAPACITY`, prints what it cost.

`cpu_s` is of reading and replaying, `replay_cpu_s` of replaying alone; what the kernel takes to be there, importing
numba included, is `start_cpu_s` and in neither.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from array import array

from hitrate.core.trace import Chunk
from hitrate.logs.traces.sniff import open_trace
from hitrate.sim.capacity.rules import Setting, block_rule


def main() -> None:
    file, kernel, capacity = sys.argv[1], sys.argv[2], int(sys.argv[3])
    trace = open_trace(file)
    assert trace is not None, f"{file} is no trace"
    setting = Setting(capacity, trace.facts.block_tokens, kernel=kernel)  # type: ignore[arg-type]
    start = time.process_time()
    block_rule("vllm").make(setting).add(
        Chunk(array("d", [0]), array("q", [1]), array("q", [-1]), array("q", [-1]), array("q", [0, 1]), array("q", [0]))
    )
    started = time.process_time()
    cache = block_rule("vllm").make(setting)
    blocks = hits = distinct = 0
    replaying = 0.0
    for chunk in trace.chunks():
        before = time.process_time()
        hits += sum(cache.add(chunk))
        replaying += time.process_time() - before
        blocks += len(chunk.ids)
        distinct = max(distinct, max(chunk.ids) + 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {
                "blocks": blocks,
                "distinct": distinct,
                "hits": hits,
                "start_cpu_s": started - start,
                "cpu_s": time.process_time() - started,
                "replay_cpu_s": replaying,
                "peak_rss_mb": (peak if sys.platform == "darwin" else peak * 1024) / 1e6,
            }
        )
    )


if __name__ == "__main__":
    main()
