"""The flags that give an engine the KV memory that was replayed."""

from __future__ import annotations

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import Fleet, command

_VLLM_BLOCK = 16


def engine_configurations(fleet: Fleet, rule: str) -> tuple[Configuration, ...]:
    """Of the engines that evict by such a rule; none for a cache without a limit."""
    if fleet.capacity_tokens is None:
        return ()
    if rule == "vllm" or rule.startswith("vllm-"):
        return (_vllm(fleet, fleet.capacity_tokens),)
    if rule == "leaf-lru" or rule.startswith("sglang-"):
        return (_sglang(fleet.capacity_tokens),)
    return ()


def _vllm(fleet: Fleet, tokens: int) -> Configuration:
    """Bytes where a model was named, since they need no profiling; blocks are an override for tests."""
    options: list[tuple[str, object]] = [("--block-size", _VLLM_BLOCK)]
    if fleet.gpus_per_replica > 1:
        options.append(("--tensor-parallel-size", fleet.gpus_per_replica))
    note = f"{tokens:,} tokens of KV cache a replica"
    if fleet.capacity_bytes is None:
        options.append(("--num-gpu-blocks-override", tokens // _VLLM_BLOCK))
        note += "; the override does not ask whether they fit into the GPU"
    else:
        options.append(("--kv-cache-memory-bytes", fleet.capacity_bytes // fleet.gpus_per_replica))
        note += "; the bytes are of one GPU"
        if fleet.gpus_per_replica > 1:
            note += ", as for KV heads that are shared out evenly: with fewer heads than GPUs each holds more"
    return Configuration(
        software="vllm",
        version="0.32.0",
        source="https://docs.vllm.ai/en/stable/configuration/engine_args/ (vllm/config/cache.py)",
        language="sh",
        text=command("vllm serve MODEL", options),
        note=note,
    )


def _sglang(tokens: int) -> Configuration:
    return Configuration(
        software="sglang",
        version="0.5",
        source="https://docs.sglang.io/advanced_features/server_arguments.html",
        language="sh",
        text=command("python -m sglang.launch_server", [("--model-path", "MODEL"), ("--max-total-tokens", tokens)]),
        note=(
            "at most as many as --mem-fraction-static leaves room for; the server prints max_total_num_tokens when it "
            "starts"
        ),
    )
