"""What the place of a change, a JSON pointer into the body, says of it in the wire formats of all vendors."""

from __future__ import annotations

import re

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.evidence import Divergence

_SCHEMA = lazy_pattern(
    r"/(?:parameters(?:JsonSchema)?|parametersJsonSchema|input_?schema|inputSchema(?:/json)?|json_?schema|schema|responseSchema"
    r"|responseJsonSchema|response_?schema|response_format|format|output_?schema|properties|\$defs|definitions)(?:/|\Z)",
    re.IGNORECASE,
)
_ARGUMENTS = lazy_pattern(
    r"/(?:arguments|args|input|tool_?use/input|toolUse/input|functionCall/args|function_call/args)(?:/|\Z)"
)
_HISTORY_ROOT = lazy_pattern(r"/(?:messages|input|contents)/(\d+)(?:/|\Z)")
_ID = lazy_pattern(
    r"/(?:id|call_?id|tool_?call_?id|tool_?use_?id|callId|toolCallId|toolUseId|item_?id|message_?id|response_?id|uuid)\Z",
    re.IGNORECASE,
)
_OF_TOOLS = lazy_pattern(r"same \d+ tools|tools? (?:added|removed)|tools (?:are|is) (?:gone|new)")
_REASONING = lazy_pattern(r"reason|think|thought|encrypted_content|signature", re.IGNORECASE)


def inside_schema(pointer: str) -> bool:
    """Whether it lies inside a JSON schema, of a tool's arguments or of the response."""
    return bool(_SCHEMA.search(pointer))


def whole_list_of_tools(divergence: Divergence) -> bool:
    """Whether it is the list of tools that changed, where the first difference lies deep inside of one of them."""
    return bool(_OF_TOOLS.search(divergence.words))


def in_description(pointer: str) -> bool:
    return pointer.endswith("/description")


def in_arguments(pointer: str) -> bool:
    """Whether it lies in the arguments of a tool call in the history."""
    message = _HISTORY_ROOT.match(pointer)
    return message is not None and bool(_ARGUMENTS.search(pointer, message.end() - 1))


def message_index(pointer: str) -> int | None:
    """Number of the message or item that it lies in, None outside of the history."""
    message = _HISTORY_ROOT.match(pointer)
    return int(message[1]) if message else None


def names_an_id(pointer: str) -> bool:
    return bool(_ID.search(pointer))


def in_reasoning_summary(pointer: str) -> bool:
    """Whether it lies in the summary that a reasoning item of the Responses API carries."""
    return bool(re.match(r"/input/\d+/summary(?:/|\Z)", pointer))


def names_reasoning(text: str) -> bool:
    """Whether a pointer, a member or a type is one that carries a model's reasoning."""
    return bool(_REASONING.search(text))
