"""AIBrix's gateway plugins: environment of the gateway, and the header that asks for the strategy."""

from __future__ import annotations

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import Fleet


def configuration(fleet: Fleet) -> Configuration | None:
    if fleet.policy != "aibrix-prefix-cache":
        return None
    settings = fleet.settings
    lines = [
        "# environment of aibrix-gateway-plugins",
        f"AIBRIX_PREFIX_CACHE_POD_RUNNING_REQUEST_IMBALANCE_ABS_COUNT={settings['min_gap']}",
        f"AIBRIX_PREFIX_CACHE_STANDARD_DEVIATION_FACTOR={settings['deviations']:g}",
        "AIBRIX_PREFIX_CACHE_TOKENIZER_TYPE=character",
        "# header of every request",
        "# routing-strategy: prefix-cache",
    ]
    return Configuration(
        software="aibrix",
        version="main of 2026-11",
        source="https://github.com/vllm-project/aibrix (pkg/plugins/gateway/algorithms/prefix_cache.go)",
        language="sh",
        text="\n".join(lines),
        note="its Helm chart sets 16 and 2 where the code has 8 and 1: what stands here is what was replayed",
    )
