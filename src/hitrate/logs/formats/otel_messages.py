"""What a span of a model call says of its request, in the spellings of the instrumentations there are.

- OpenTelemetry's conventions (https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai): attributes
  `gen_ai.input.messages`, `gen_ai.system_instructions`, `gen_ai.tool.definitions`, as JSON text or structured; the same
  on an event `gen_ai.client.inference.operation.details`; before that an event `gen_ai.content.prompt` that has
  `gen_ai.prompt`, and one event a message, `gen_ai.user.message` and so on.
- OpenLLMetry (https://github.com/traceloop/openllmetry): `gen_ai.prompt.0.role`, `.content`, `.tool_calls.0.name`;
  before that `llm.prompts.0.role`; tools as `llm.request.functions.0.name`.
- OpenInference (https://github.com/Arize-ai/openinference, spec/semantic_conventions.md):
  `llm.input_messages.0.message.role`, `.message.content`, `.message.tool_calls.0.tool_call.function.name`;
  `llm.tools.0.tool.json_schema`; `input.value` with the request as JSON.
- Vercel's AI SDK (https://github.com/vercel/ai, packages/ai/src/telemetry): `ai.prompt.messages`, `ai.prompt.tools`.

All become messages of chat completions. Members are sorted and white space is gone: the spans do not hold the bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hitrate.logs.rebuilt import rebuilt, sorted_json
from hitrate.logs.shapes import is_request_body, message_problems

Attributes = Mapping[str, Any]

_MESSAGES = ("gen_ai.input.messages", "gen_ai.prompt", "ai.prompt.messages", "gen_ai.request.messages")
_INDEXED = ("gen_ai.prompt", "llm.prompts", "llm.input_messages")
_TOOLS = ("gen_ai.tool.definitions", "ai.prompt.tools", "gen_ai.request.tools", "llm.request.functions")
_INDEXED_TOOLS = ("llm.tools", "llm.request.functions")

_ROLE_OF_EVENT = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def request_body(attributes: Attributes, events: Sequence[tuple[str, Attributes]], model: str | None) -> bytes:
    """A body of chat completions; b"" where the span holds no prompt."""
    for _, more in events:
        attributes = {**more, **attributes}
    messages = _messages(attributes, events)
    if messages is None:
        return _from_value(attributes.get("input.value"))
    instructions = _decoded(attributes.get("gen_ai.system_instructions"))
    if instructions:
        messages = [_message({"role": "system", "parts": _parts(instructions)}), *messages]
    if any(message_problems(messages, "")):
        return b""
    return rebuilt(model=model, messages=messages, tools=_tools(attributes))


def _messages(attributes: Attributes, events: Sequence[tuple[str, Attributes]]) -> list[dict[str, Any]] | None:
    for name in _MESSAGES:
        found = _decoded(attributes.get(name))
        if isinstance(found, dict) and isinstance(found.get("messages"), list):
            found = found["messages"]
        if isinstance(found, list) and found and all(isinstance(one, dict) for one in found):
            return [_message(one) for one in found]
        if isinstance(found, str) and found:
            return [{"role": "user", "content": found}]
    for name in _INDEXED:
        if indexed := _indexed(attributes, name):
            return [_message(_without_prefix(one)) for one in indexed]
    by_event = [_of_event(name, more) for name, more in events if name in _ROLE_OF_EVENT]
    return by_event or None


def _of_event(name: str, attributes: Attributes) -> dict[str, Any]:
    body = _decoded(attributes.get("body"))
    found = {**attributes, **(body if isinstance(body, dict) else {})}
    found["tool_calls"] = _decoded(found.get("tool_calls"))
    return _message({"role": _ROLE_OF_EVENT[name], **{key: value for key, value in found.items() if value is not None}})


def _from_value(value: Any) -> bytes:
    """A request that an instrumentation wrote down whole."""
    request = _decoded(value)
    if not isinstance(request, dict) or not is_request_body(request) or "messages" not in request:
        return b""
    if any(message_problems(request["messages"], "")):
        return b""
    return rebuilt(**{str(name): member for name, member in request.items()})


def _tools(attributes: Attributes) -> list[Any] | None:
    for name in _TOOLS:
        found = _decoded(attributes.get(name))
        if isinstance(found, list) and found:
            return [_tool(_decoded(one)) for one in found]
    for name in _INDEXED_TOOLS:
        if indexed := _indexed(attributes, name):
            return [_tool(_without_prefix(one)) for one in indexed]
    return None


def _tool(tool: Any) -> Any:
    """In the shape of chat completions."""
    if not isinstance(tool, dict):
        return {"type": "function", "function": {"name": str(tool)}}
    if "json_schema" in tool:
        return _tool(_decoded(tool["json_schema"]))
    if "function" in tool or "name" not in tool:
        return tool
    schema = _decoded(tool.get("parameters", tool.get("input_schema", tool.get("inputSchema"))))
    members = {"name": tool["name"], "description": tool.get("description"), "parameters": schema}
    return {"type": "function", "function": {name: value for name, value in members.items() if value is not None}}


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message in the shape of chat completions."""
    role = str(message.get("role") or "user")
    content = _decoded(message.get("parts", message.get("content", message.get("contents"))), lists_only=True)
    found: dict[str, Any] = {"role": role}
    calls = [_tool_call(one) for one in _objects(message.get("tool_calls"))]
    texts: list[Any] = []
    for part in content if isinstance(content, list) else [content]:
        if not isinstance(part, Mapping):
            texts += [] if part is None else [{"type": "text", "text": str(part)}]
            continue
        part = _without_prefix(part)
        match part.get("type"):
            case "tool_call" | "tool-call":
                calls.append(_tool_call(part))
            case "tool_call_response" | "tool-result" | "tool_result":
                found |= {"role": "tool", "tool_call_id": part.get("id") or part.get("toolCallId")}
                result = next((part[name] for name in ("response", "result", "output", "content") if name in part), "")
                texts.append({"type": "text", "text": _as_text(result)})
            case "text" | None:
                texts.append({"type": "text", "text": _as_text(part.get("content", part.get("text", "")))})
            case _:
                texts.append(dict(part))
    if calls:
        found["tool_calls"] = calls
    if len(texts) == 1 and texts[0].get("type") == "text" and texts[0].keys() == {"type", "text"}:
        found["content"] = texts[0]["text"]
    elif texts:
        found["content"] = texts
    for name in ("tool_call_id", "name"):
        if isinstance(message.get(name), str):
            found[name] = message[name]
    if role == "tool" and "tool_call_id" not in found and isinstance(message.get("id"), str):
        found["tool_call_id"] = message["id"]
    return found


def _tool_call(call: Mapping[str, Any]) -> dict[str, Any]:
    call = _without_prefix(call)
    function = _decoded(call.get("function"))
    flat = {name.removeprefix("function."): value for name, value in call.items()}
    given = {**flat, **function} if isinstance(function, dict) else flat
    arguments = next((given[name] for name in ("arguments", "input", "args") if given.get(name) is not None), "")
    name = given.get("name") or given.get("toolName") or ""
    found = {"type": "function", "function": {"name": str(name), "arguments": _as_text(arguments)}}
    identity = given.get("id") or given.get("toolCallId")
    return {**found, "id": str(identity)} if identity else found


def _parts(instructions: Any) -> Any:
    return instructions if isinstance(instructions, list) else [{"type": "text", "content": _as_text(instructions)}]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else sorted_json(value)


def _decoded(value: Any, *, lists_only: bool = False) -> Any:
    """A value that may stand there as JSON text."""
    if isinstance(value, str) and value.lstrip().startswith("[" if lists_only else ("[", "{")):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return value
        is_parts = isinstance(found, list) and all(isinstance(one, dict) and "type" in one for one in found)
        return found if is_parts or not lists_only else value
    return value


def _objects(value: Any) -> list[Mapping[str, Any]]:
    value = _decoded(value)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


_PREFIXES = ("message.", "message_content.", "tool_call.", "tool.")


def _without_prefix(found: Mapping[str, Any]) -> dict[str, Any]:
    """OpenInference names the members of a message `message.role`, those of a call `tool_call.id`."""
    return {
        next((name.removeprefix(start) for start in _PREFIXES if name.startswith(start)), name): value
        for name, value in found.items()
    }


def _indexed(attributes: Attributes, prefix: str) -> list[dict[str, Any]]:
    """The objects that were flattened to `prefix.0.member`, `prefix.1.list.0.member`, in the order of their numbers."""
    start = f"{prefix}."
    members = ((name.removeprefix(start), value) for name, value in attributes.items() if name.startswith(start))
    numbered: dict[int, dict[str, Any]] = {}
    for rest, value in members:
        number, _, member = rest.partition(".")
        if number.isdigit() and member:
            numbered.setdefault(int(number), {})[member] = value
    return [_nested(numbered[number]) for number in sorted(numbered)]


_LISTS = ("tool_calls", "contents", "message.tool_calls", "message.contents")


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in flat.items() if not _is_below(name, _LISTS)}
    for name in _LISTS:
        if below := _indexed(flat, name):
            found[name] = below
    return found


def _is_below(name: str, lists: Iterable[str]) -> bool:
    return any(name.startswith(f"{one}.") for one in lists)
