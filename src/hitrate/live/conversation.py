"""What a run says: the opening, the questions, and conversations that grow turn by turn."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from hitrate.core.model import Call, Reply
from hitrate.errors import InputFileError, UsageError
from hitrate.targets.dialects import dialect

Message = dict[str, Any]

ANY_TOOL = "*"


def default_opening() -> str:
    """A support agent with five tools and a policy: about 12,000 characters, 3,000 tokens."""
    return (files("hitrate.live") / "data" / "opening.txt").read_text(encoding="utf-8")


def default_questions() -> list[str]:
    return (files("hitrate.live") / "data" / "questions.txt").read_text(encoding="utf-8").splitlines()


def nonce(random_source: random.Random) -> str:
    """Twelve digits in groups of three: unique, and the same number of tokens each time in common vocabularies."""
    return " ".join(f"{random_source.randrange(1000):03d}" for _ in range(4))


def read_text_file(path: str) -> str:
    """A prompt file exactly as it is, line ends included; raises InputFileError where it cannot be read as UTF-8."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        found = f"expected UTF-8 text, found byte 0x{content[error.start]:02x}"
        raise InputFileError(path, found, line=line, column=column) from None


def read_json_file(path: str) -> Any:
    """Any JSON value, its member order kept; raises InputFileError with line and column."""
    text = read_text_file(path).removeprefix("\ufeff")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        said = error.msg[:1].lower() + error.msg[1:]
        raise InputFileError(path, f"expected JSON: {said}", line=error.lineno, column=error.colno) from None


def read_tools(path: str) -> list[Mapping[str, Any]]:
    """A list of tool definitions, or an object with such a list under "tools".

    Definitions may come as chat completions take them, or bare, with the schema as `parameters`, `input_schema`
    (Anthropic) or `inputSchema` (MCP). Members keep their order.
    """
    value = read_json_file(path)
    if isinstance(value, Mapping):
        value = value.get("tools")
    if not isinstance(value, list):
        raise InputFileError(path, 'expected a JSON list of tool definitions, or an object with such a list as "tools"')
    return [_tool(tool, number, path) for number, tool in enumerate(value, start=1)]


_SCHEMA_NAMES = {"input_schema": "parameters", "inputSchema": "parameters"}


def _tool(tool: Any, number: int, path: str) -> Mapping[str, Any]:
    if isinstance(tool, Mapping):
        function = tool.get("function")
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            return tool
        if isinstance(tool.get("name"), str) and tool.get("type", "function") in ("function", "custom"):
            bare = {_SCHEMA_NAMES.get(name, name): value for name, value in tool.items() if name != "type"}
            return {"type": "function", "function": bare}
    raise InputFileError(path, f'tool {number}: expected an object with a "name", or with a "function" that has one')


def tool_names(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str((tool.get("function") or tool).get("name")) for tool in tools]


class ToolResults:
    """Canned answers to tool calls: a JSON object that maps a tool's name to a text, a value, or a list of them.

    The entries of a list are used one after another and the last one from then on. The name "*" stands for every tool
    that is not named.
    """

    def __init__(self, path: str) -> None:
        value = read_json_file(path)
        if not isinstance(value, Mapping) or not value:
            raise InputFileError(path, "expected a JSON object that maps tool names to results")
        self._results: Mapping[str, Any] = value
        self._path = path

    def check(self, names: Sequence[str]) -> None:
        """Raises InputFileError unless there is a result for each of these tools, before a run pays for finding out."""
        missing = [name for name in names if name not in self._results and ANY_TOOL not in self._results]
        if missing:
            raise InputFileError(self._path, f"expected a result for every tool, none for {', '.join(missing)}")

    def answer(self, name: str, times_called: int) -> str:
        """The result of the `times_called`-th call (from 0) of a tool; raises UsageError for an unknown tool."""
        result = self._results.get(name, self._results.get(ANY_TOOL))
        if name not in self._results and ANY_TOOL not in self._results:
            known = ", ".join(sorted(self._results))
            raise UsageError(
                f"{self._path} has no result for the tool '{name}' that the model called (it has: {known})"
            )
        if isinstance(result, list) and result:
            result = result[min(times_called, len(result) - 1)]
        return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


class Script(Protocol):
    """Gives the messages of each turn, and is told what was answered."""

    tools: Sequence[Mapping[str, Any]]

    def messages(self, turn: int) -> list[Message] | None:
        """The whole message list to send at `turn` (from 1), or None when the script is over."""
        ...

    def answered(self, reply: Reply | None) -> None: ...


class GrowingScript:
    """System prompt, then per turn a unique user message and the assistant's reply exactly as it came.

    With `tool_results`, tool calls of the reply are answered from there, and the next turn carries those answers
    instead of a user message, as an agent's loop does.
    """

    def __init__(
        self,
        system: str | None,
        tools: Sequence[Mapping[str, Any]],
        questions: Sequence[str],
        random_source: random.Random,
        tool_results: ToolResults | None = None,
    ) -> None:
        self.tools = tools
        self._messages: list[Message] = [] if system is None else [{"role": "system", "content": system}]
        self._questions = questions
        self._random = random_source
        self._tool_results = tool_results
        self._times_called: dict[str, int] = {}
        self._owed: list[Message] = []
        self._turn_start = 0

    def messages(self, turn: int) -> list[Message]:
        self._turn_start = len(self._messages)
        if self._owed:
            self._messages.extend(self._owed)
            self._owed = []
        else:
            question = self._questions[(turn - 1) % len(self._questions)]
            text = f"Turn {turn:03d}, note {nonce(self._random)}: {question}"
            self._messages.append({"role": "user", "content": text})
        return list(self._messages)

    def answered(self, reply: Reply | None) -> None:
        if reply is None:
            # Nothing may follow a question without an answer; tool results are still owed to the model.
            unanswered = self._messages[self._turn_start :]
            del self._messages[self._turn_start :]
            self._owed = [message for message in unanswered if message["role"] == "tool"]
            return
        self._messages.append(reply.message)
        if self._tool_results is None:
            return
        for tool_call in reply.tool_calls:
            name = (tool_call.get("function") or {}).get("name") or ""
            times = self._times_called.get(name, 0)
            self._times_called[name] = times + 1
            content = self._tool_results.answer(name, times)
            self._owed.append({"role": "tool", "tool_call_id": tool_call.get("id"), "content": content})


class FrozenScript:
    """The message lists of a stored run, sent again as they were, whatever is answered.

    Chat completions go out to the letter. On other wires the messages are taken from what the model was shown, as
    far as that is plain text. Raises UsageError for a run that holds more.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        requests = [json.loads(call.body) if call.dialect == "openai-chat" else _as_chat(call) for call in calls]
        self.tools = requests[0].get("tools") or [] if requests else []
        self._turns = [request.get("messages") or [] for request in requests]
        self.bytes_sent = sum(len(call.body) for call in calls)

    def __len__(self) -> int:
        return len(self._turns)

    def messages(self, turn: int) -> list[Message] | None:
        return self._turns[turn - 1] if turn <= len(self._turns) else None

    def answered(self, reply: Reply | None) -> None:
        """Replies are frozen: what came back changes nothing."""


_PLAIN_TEXT = re.compile(
    r"/(?:(?P<system>system(?:/\d+/text)?|instructions|system_?[iI]nstruction/parts/\d+/text)"
    r"|(?P<message>(?:messages|input|contents)/\d+)/(?:content(?:/\d+/text)?|parts/\d+/text))"
)
"""Pointers of text that any wire can carry: no tools, images, reasoning or calls."""


def _as_chat(call: Call) -> dict[str, Any]:
    segments = dialect(call.dialect).canonical(call.body).segments
    places = [_PLAIN_TEXT.fullmatch(segment.pointer) for segment in segments]
    if not all(places) or b'"thought":true' in call.body:
        raise UsageError(
            f"a run on the wire {call.dialect} can be sent again only if its conversation is plain text; this one has "
            "tools, images or reasoning in it"
        )
    messages: list[Message] = []
    pairs = zip(segments, places, strict=True)
    for _, group in groupby(pairs, key=lambda pair: pair[1] and pair[1]["message"]):
        members = [segment for segment, _ in group]
        texts = [segment.text for segment in members]
        parts = [{"type": "text", "text": text} for text in texts]
        messages.append({"role": members[0].kind, "content": texts[0] if len(texts) == 1 else parts})
    return {"messages": messages}


def frozen_sessions(calls: Sequence[Call]) -> list[FrozenScript]:
    """One script a session of a stored run, sessions in the order of their first call. Raises UsageError."""
    by_session: dict[str, list[Call]] = {}
    for call in calls:
        if call.turn:
            by_session.setdefault(call.session, []).append(call)
    return [FrozenScript(sorted(session, key=lambda call: call.turn)) for session in by_session.values()]
