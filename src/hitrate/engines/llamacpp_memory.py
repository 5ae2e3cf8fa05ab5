"""Which models llama.cpp runs with a memory that it cannot cut at any token, as their files tell."""

from __future__ import annotations

from typing import Any

from hitrate.engines.gguf import Summary

_RECURRENT = (".ssm.", ".wkv.", ".shortconv.", ".kda.")
"""Groups of metadata that models with recurrent layers have: Mamba and its kind, RWKV, LFM2, Kimi Linear."""
_WINDOW_UNUSED = ("phi3",)
"""Architectures whose window llama.cpp reads and then leaves aside (src/models/phi3.cpp, October 2026)."""
_CHUNKED = ("llama4",)
"""Attention by chunks of tokens, not by a window."""


def memory_settings(summary: Summary) -> dict[str, Any] | None:
    """Parameters of `caches.checkpoints.CheckpointCache` for the model; None where every token can be cut.

    Raises nothing: a model whose attention goes by chunks gives None as well, as no cache model fits it.
    """
    architecture = summary.architecture
    if any(key.startswith(architecture + group) for group in _RECURRENT for key in summary.metadata):
        return {}
    window = summary.metadata.get(f"{architecture}.attention.sliding_window")
    if architecture in (*_WINDOW_UNUSED, *_CHUNKED) or not isinstance(window, int) or window < 1:
        return None
    return {"window": window}
