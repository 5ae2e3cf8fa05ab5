"""Puts an assistant message together from stream deltas, so that it can be sent back as the server would have sent it.

Known strings and unknown strings are concatenated, tool calls are joined by index with their arguments byte for byte,
reasoning details are joined by index and type, other unknown fields keep the last value. In a delta null and [] mean
"nothing in this piece": a field that only came so is left out, since servers refuse `tool_calls: null` in a request.
Content is the exception: null is what an answer of tool calls alone has there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REASONING_TEXT = ("reasoning_content", "reasoning", "thinking")
"""String fields that carry reasoning: DeepSeek and most engines; OpenRouter, Groq and newer vLLM; Ollama."""

_WHOLE = frozenset({"role", "name", "id", "type", "tool_call_id", "signature"})
"""Strings that are values, not text: a repeated one replaces the earlier."""

_DETAIL_TEXT = frozenset({"text", "summary", "data"})


def visible_text(content: Any) -> str:
    """The text a user sees of a `content`: the string itself, or the text parts of a list (Mistral)."""
    return content if isinstance(content, str) else _text_of_parts(content, "text")


def reasoning_text(message: Mapping[str, Any]) -> str:
    """The reasoning of a message or delta, from the first spelling that holds any."""
    for name in REASONING_TEXT:
        value = message.get(name)
        text = visible_text(value) if value else ""
        if text:
            return text
    details = message.get("reasoning_details")
    if isinstance(details, list):
        texts = (part.get("text") or part.get("summary") for part in details if isinstance(part, dict))
        text = "".join(text for text in texts if isinstance(text, str))
        if text:
            return text
    return _text_of_parts(message.get("content"), "thinking")


def _text_of_parts(content: Any, kind: str) -> str:
    if not isinstance(content, list):
        return ""
    texts: list[str] = []
    for part in content:
        if isinstance(part, dict) and part.get("type") == kind:
            text = part.get(kind)
            texts.append(text if isinstance(text, str) else visible_text(text))
    return "".join(texts)


def carries_token(delta: Mapping[str, Any]) -> bool:
    """Whether a delta holds generated tokens: text, reasoning, refusal, sound or a piece of a tool call."""
    if visible_text(delta.get("content")) or reasoning_text(delta) or delta.get("refusal"):
        return True
    if delta.get("function_call") or delta.get("reasoning_details") or delta.get("audio"):
        return True
    calls = delta.get("tool_calls")
    return isinstance(calls, list) and any(isinstance(call, dict) and call for call in calls)


def join_surrogates(text: str) -> str:
    """`text` with surrogate pairs, whose halves came in two deltas, as the characters they are. Lone halves stay."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


class MessageBuilder:
    """Takes deltas in order with `add`; `message()` is the assistant message so far, None before the first delta."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._strings: dict[str, list[str]] = {}
        self._content: list[str | dict[str, Any]] = []
        self._calls: dict[tuple[int, int], dict[str, Any]] = {}
        self._details: list[dict[str, Any]] = []
        self._last_call: tuple[int, int] | None = None

    def add(self, delta: Mapping[str, Any]) -> None:
        for name, value in delta.items():
            if name == "content":
                self._fields[name] = None
                if isinstance(value, str):
                    self._content.append(value)
                elif value is not None:
                    self._content += value if isinstance(value, list) else [value]
            elif value is None or value == []:
                continue
            elif name == "tool_calls" and isinstance(value, list):
                self._fields.setdefault(name, None)
                for piece in value:
                    if isinstance(piece, dict):
                        self._add_call(piece)
            elif name == "function_call" and isinstance(value, dict):
                _join_function(_object_at(self._fields, name), value)
            elif name == "reasoning_details" and isinstance(value, list):
                self._fields.setdefault(name, None)
                for piece in value:
                    if isinstance(piece, dict):
                        self._add_detail(piece)
            elif isinstance(value, str) and name not in _WHOLE:
                self._fields.setdefault(name, None)
                self._strings.setdefault(name, []).append(value)
            elif value != "":
                self._fields[name] = value

    def add_texts(self, texts: list[str]) -> None:
        """As `add` of one delta a text, which is its `content`, once such a delta has been added."""
        self._content += texts

    def message(self) -> dict[str, Any] | None:
        if not self._fields:
            return None
        message: dict[str, Any] = {"role": "assistant", "content": None}
        for name, value in self._fields.items():
            if name in self._strings:
                value = join_surrogates("".join(self._strings[name]))
            elif name == "content":
                value = _joined_content(self._content)
            elif name == "tool_calls":
                value = [_whole_call(self._calls[key]) for key in sorted(self._calls)]
            elif name == "function_call" and isinstance(value, dict):
                value = _joined_pieces(value)
            elif name == "reasoning_details":
                value = [_joined_pieces(piece) for piece in self._details]
            message[name] = value
        return message

    def _add_call(self, piece: dict[str, Any]) -> None:
        call = self._calls.setdefault(self._call_key(piece), {})
        for name, value in piece.items():
            if name == "function" and isinstance(value, dict):
                _join_function(_object_at(call, name), value)
            elif name == "id" and call.get("id"):
                continue  # some servers give every piece an id of its own; the first is the call's
            elif name != "index" and (value not in (None, "") or name not in call):
                call[name] = value

    def _call_key(self, piece: dict[str, Any]) -> tuple[int, int]:
        """(index, ordinal): a piece with a new id and a function name starts a new call even at a used index, because
        some servers number parallel calls all 0 or not at all."""
        index = piece.get("index")
        if not isinstance(index, int) or isinstance(index, bool):
            index = self._last_call[0] if self._last_call else 0
        ordinal = max((key[1] for key in self._calls if key[0] == index), default=0)
        known = self._calls.get((index, ordinal))
        function = piece.get("function")
        named = isinstance(function, dict) and bool(function.get("name"))
        if known and named and piece.get("id") and known.get("id") and piece["id"] != known["id"]:
            ordinal += 1
        self._last_call = (index, ordinal)
        return self._last_call

    def _add_detail(self, piece: dict[str, Any]) -> None:
        place = piece.get("index"), piece.get("type")
        known = None
        if place[0] is not None:
            known = next((one for one in self._details if (one.get("index"), one.get("type")) == place), None)
        if known is None:
            known = {}
            self._details.append(known)
        for name, value in piece.items():
            if name in _DETAIL_TEXT and isinstance(value, str):
                pieces = known.get(name)
                if not isinstance(pieces, _Pieces):
                    pieces = known[name] = _Pieces()
                pieces.append(value)
            elif value is not None or name not in known:
                known[name] = value


class _Pieces(list[str]):
    """A string still coming in; told from lists that a server sends."""


def _joined_pieces(detail: dict[str, Any]) -> dict[str, Any]:
    return {
        name: join_surrogates("".join(value)) if isinstance(value, _Pieces) else value for name, value in detail.items()
    }


def _object_at(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """The object under `name`, a new one in place of anything else."""
    if not isinstance(holder.get(name), dict):
        holder[name] = {}
    return holder[name]


def _join_function(function: dict[str, Any], piece: dict[str, Any]) -> None:
    for name, value in piece.items():
        if name == "arguments" and isinstance(value, str):
            pieces = function.get(name)
            if not isinstance(pieces, _Pieces):
                pieces = function[name] = _Pieces()
            pieces.append(value)
        elif name == "name" and isinstance(value, str) and isinstance(function.get(name), str):
            # Some servers repeat the whole name in every piece, others split it.
            function[name] += value if value != function[name] else ""
        elif value is not None or name not in function:
            function[name] = value


def _whole_call(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    return {**call, "function": _joined_pieces(function)} if isinstance(function, dict) else dict(call)


def _joined_content(pieces: list[str | dict[str, Any]]) -> Any:
    """One string when only strings came, None when nothing came, else parts with neighbours of one kind joined."""
    if not pieces:
        return None
    try:
        return join_surrogates("".join(pieces))  # type: ignore[arg-type]
    except TypeError:
        pass  # not strings alone
    parts: list[Any] = []
    for piece in pieces:
        part: Any = {"type": "text", "text": piece} if isinstance(piece, str) else piece
        kind = part.get("type") if isinstance(part, dict) else None
        joinable = kind in ("text", "thinking") and set(part) == {"type", kind}
        previous = parts[-1] if parts else None
        if joinable and isinstance(previous, dict) and set(previous) == {"type", kind} and previous["type"] == kind:
            parts[-1] = {"type": kind, kind: _joined_value(previous[kind], part[kind])}
        elif part != {"type": "text", "text": ""}:
            parts.append(part)
    return parts


def _joined_value(one: Any, other: Any) -> Any:
    if isinstance(one, str) and isinstance(other, str):
        return one + other
    if isinstance(one, list) and isinstance(other, list):
        return _joined_content([*one, *other])
    return other
