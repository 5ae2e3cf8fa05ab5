"""Wire formats, found by name. A format is imported when it is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from hitrate.errors import UsageError
from hitrate.targets.dialects.interface import Dialect

_CLASSES = {
    "openai-chat": ("openai_chat", "OpenAIChat"),
    "openai-responses": ("openai_responses", "OpenAIResponses"),
    "anthropic-messages": ("anthropic_messages", "AnthropicMessages"),
    "gemini-generate": ("gemini_generate", "GeminiGenerate"),
    "bedrock-converse": ("bedrock_converse", "BedrockConverse"),
    "llamacpp-completion": ("llamacpp_completion", "LlamaCppCompletion"),
}
"""Name to module and class."""


def names() -> tuple[str, ...]:
    return tuple(_CLASSES)


@cache
def dialect(name: str) -> Dialect:
    """The dialect of that name. UsageError with the known names when there is none."""
    try:
        module, class_name = _CLASSES[name]
    except KeyError:
        raise UsageError(f"no wire format called {name!r}; known: {', '.join(_CLASSES)}") from None
    return getattr(import_module(f"{__name__}.{module}"), class_name)()  # type: ignore[no-any-return]
