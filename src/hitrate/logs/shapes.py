"""Whether a request body has the shape of one, and which wire it looks like; problems are named by JSON pointer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hitrate.core.wires import RENDERED

PROMPT_MEMBERS = ("messages", "input", "contents", "prompt", "prompt_token_ids")
"""Members of which a request body holds one: chat, Messages, Converse; Responses; Gemini; rendered text; token ids."""

_MOST_NAMED = 5


def is_request_body(value: Any) -> bool:
    return isinstance(value, dict) and any(name in value for name in PROMPT_MEMBERS)


def body_problems(body: Any, pointer: str = "/body") -> list[str]:
    """Why this is no request body; [] when it can be one. Unknown members are nobody's business here."""
    if not isinstance(body, dict):
        return [f"{pointer} is {kind(body)}, expected an object"]
    found = list(_problems(body, pointer))
    if not found and not is_request_body(body):
        found = [f"{pointer} has no {', '.join(PROMPT_MEMBERS[:-1])} or {PROMPT_MEMBERS[-1]}"]
    return found


def named(problems: list[str]) -> str:
    """Problems in one line."""
    more = len(problems) - _MOST_NAMED
    return "; ".join(problems[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def kind(value: Any) -> str:
    """The JSON type of a value, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, int | float):
        return "a number"
    return "an array" if isinstance(value, list) else "an object"


def guess_dialect(body: Any) -> str | None:
    """The wire a request body is written for, None where it could be more than one that differ.

    Chat completions and Messages both have `messages`: top-level `system` and a tool's `input_schema` are of Messages
    alone, as is a content block it has and chat completions have not.
    """
    if not isinstance(body, dict):
        return None
    if "contents" in body:
        return "gemini"
    if "input" in body:
        return "openai-responses"
    messages = body.get("messages")
    if isinstance(messages, list):
        if any(name in body for name in ("inferenceConfig", "toolConfig", "modelId")):
            return "bedrock-converse"
        if "system" in body or any("input_schema" in tool for tool in _objects(body.get("tools"))):
            return "anthropic-messages"
        blocks = [block for message in _objects(messages) for block in _objects(message.get("content"))]
        if any(block.get("type") in ("tool_use", "tool_result", "thinking") for block in blocks):
            return "anthropic-messages"
        return "openai-chat"
    return RENDERED if is_rendered(body) else None


def is_rendered(body: dict[str, Any]) -> bool:
    """Whether a body without messages holds a prompt that was rendered before it was sent: text, token ids, a list of
    either, or llama.cpp's text with images. (Responses' `prompt` names a stored prompt.)"""
    prompt = body.get("prompt")
    if isinstance(prompt, dict):
        return "prompt_string" in prompt
    return isinstance(prompt, str | list) or isinstance(body.get("prompt_token_ids"), list)


def _problems(body: dict[str, Any], pointer: str) -> Iterator[str]:
    model = body.get("model")
    if model is not None and not isinstance(model, str):
        yield f"{pointer}/model is {kind(model)}, expected a string"
    for name in ("messages", "contents"):
        if name in body:
            yield from message_problems(body[name], f"{pointer}/{name}")
    tools = body.get("tools")
    if tools is not None and not isinstance(tools, list):
        yield f"{pointer}/tools is {kind(tools)}, expected an array"
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if not isinstance(tool, dict):
            yield f"{pointer}/tools/{index} is {kind(tool)}, expected an object"
    if "input" in body and not isinstance(body["input"], str | list):
        yield f"{pointer}/input is {kind(body['input'])}, expected a string or an array"


def message_problems(messages: Any, pointer: str) -> Iterator[str]:
    """Why these are no messages of chat, Messages, Converse or Gemini."""
    if not isinstance(messages, list):
        yield f"{pointer} is {kind(messages)}, expected an array"
        return
    for index, message in enumerate(messages):
        place = f"{pointer}/{index}"
        if not isinstance(message, dict):
            yield f"{place} is {kind(message)}, expected an object"
            continue
        if "role" in message and not isinstance(message["role"], str):
            yield f"{place}/role is {kind(message['role'])}, expected a string"
        content = message.get("content")
        if content is not None and not isinstance(content, str | list):
            yield f"{place}/content is {kind(content)}, expected a string or an array"
        for number, block in enumerate(content if isinstance(content, list) else ()):
            if not isinstance(block, dict | str):
                yield f"{place}/content/{number} is {kind(block)}, expected an object"


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
