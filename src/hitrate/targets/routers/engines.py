"""The flags that give an engine the KV memory and the limits of a step that were replayed."""

from __future__ import annotations

from collections.abc import Iterator

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import Fleet, StepLimits, command

_VLLM_BLOCK = 16
_SGLANG_PAGE = 1


def engine_configurations(fleet: Fleet, rule: str) -> tuple[Configuration, ...]:
    """Of the engines that evict by such a rule; none for a cache without a limit."""
    if fleet.capacity_tokens is None:
        return ()
    if rule == "vllm" or rule.startswith("vllm-"):
        return (_vllm(fleet, fleet.capacity_tokens),)
    if rule == "leaf-lru" or rule.startswith("sglang-"):
        return (_sglang(fleet, fleet.capacity_tokens),)
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
    options += _vllm_steps(fleet)
    note += _other_blocks(fleet, _VLLM_BLOCK)
    return Configuration(
        software="vllm",
        version="0.32.0",
        source="https://docs.vllm.ai/en/stable/configuration/engine_args/ (vllm/config/cache.py)",
        language="sh",
        text=command("vllm serve MODEL", options),
        note=note,
    )


def _vllm_steps(fleet: Fleet) -> Iterator[tuple[str, object]]:
    """What differs from its defaults is named, and the two limits always: their defaults depend on the GPU."""
    if (steps := fleet.steps) is None:
        return
    yield "--max-num-seqs", steps.max_running_requests
    yield "--max-num-batched-tokens", steps.max_batched_tokens
    if not steps.chunked_prefill:
        yield "--no-enable-chunked-prefill", ""
    if not steps.scheduled_ahead:
        yield "--no-async-scheduling", ""


def _sglang(fleet: Fleet, tokens: int) -> Configuration:
    options: list[tuple[str, object]] = [("--model-path", "MODEL"), ("--max-total-tokens", tokens)]
    if fleet.gpus_per_replica > 1:
        options.append(("--tp-size", fleet.gpus_per_replica))
    note = (
        "at most as many as --mem-fraction-static leaves room for; the server prints max_total_num_tokens at its start"
    )
    if fleet.steps is not None:
        options += _sglang_steps(fleet.steps)
        note += "; times were replayed as vLLM's scheduler has them, which this comes near"
    note += _other_blocks(fleet, _SGLANG_PAGE)
    return Configuration(
        software="sglang",
        version="0.5",
        source="https://docs.sglang.io/advanced_features/server_arguments.html",
        language="sh",
        text=command("python -m sglang.launch_server", options),
        note=note,
    )


def _sglang_steps(steps: StepLimits) -> Iterator[tuple[str, object]]:
    """Only in mixed chunks do prompts and replies share a step."""
    yield "--max-running-requests", steps.max_running_requests
    if steps.chunked_prefill:
        yield "--chunked-prefill-size", steps.max_batched_tokens
        yield "--enable-mixed-chunk", ""
    else:
        yield "--chunked-prefill-size", -1
        yield "--max-prefill-tokens", steps.max_batched_tokens
    if not steps.scheduled_ahead:
        yield "--disable-overlap-schedule", ""


def _other_blocks(fleet: Fleet, tokens: int) -> str:
    """What there is to say where the engine's blocks are of another size than those that were replayed."""
    if fleet.block_tokens == tokens:
        return ""
    some = "more" if tokens < fleet.block_tokens else "less"
    return f"; replayed in blocks of {fleet.block_tokens:,}, the engine's are of {tokens}: it shares a little {some}"
