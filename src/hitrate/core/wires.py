"""Names of wire formats: those used here, and what logs call them."""

from __future__ import annotations

RENDERED = "llamacpp-completion"
"""The wire of rendered prompts, whoever serves it: llama.cpp's `/completion`, and `/v1/completions` of OpenAI, vLLM and
others, whose request is the same and whose reply is told by its shape."""

_IN_LOGS = {"gemini": "gemini-generate", "llama.cpp-completion": RENDERED, "tokens": RENDERED}


def wire_named(name: str) -> str:
    """The name used here for a wire format that a log may call otherwise; any other name as it is."""
    return _IN_LOGS.get(name, name)
