"""What a wire format has to provide to the practice server. One file a format beside this one.

A server answers with a `Reply` made of pieces, one a token. A format turns request bytes into a `PracticeRequest` and
an `Answer` into bytes, in one body or as events. The response id is not known until the first token leaves; formats
write RESPONSE_ID in its place, a byte that JSON text cannot hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from hitrate.core.prompt import CanonicalPrompt

RESPONSE_ID = b"\0"


class Refused(Exception):
    """A request that gets an error status. `code`, `kind` and `members` go into the error object."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        retry_after: int | None = None,
        members: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.kind = kind
        self.param = param
        self.retry_after = retry_after
        self.members = members or {}


class Tool(Struct, frozen=True):
    name: str
    schema: dict[str, Any]
    """JSON Schema of the arguments, {} when the request gave none."""


class PracticeRequest(Struct, frozen=True, kw_only=True):
    model: str
    prompt: CanonicalPrompt
    stream: bool = False
    include_usage: bool = False
    """Usage was asked for in a stream."""
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    wanted_tool: Tool | None = None
    """The tool that has to be called, as the request says."""
    tools_forbidden: bool = False
    answers_tool: bool = False
    """The last message is a tool's result."""


class Piece(NamedTuple):
    """One generated token. `kind` is "reasoning", "text", "tool" (opens a call; no text) or "arguments"."""

    kind: str
    text: str


class ToolCall(NamedTuple):
    id: str
    name: str
    arguments: str


class Reply(NamedTuple):
    """`finish` is "stop", "length" or "tool"."""

    pieces: tuple[Piece, ...]
    finish: str
    text: str = ""
    reasoning: str = ""
    tool_call: ToolCall | None = None


class Answer(NamedTuple):
    """A reply with what the engine says about it. `details` is "full", "null" or "absent", `usage` False leaves all
    of usage out."""

    model: str
    created: int
    reply: Reply
    prompt_tokens: int
    cached_tokens: int
    usage: bool = True
    details: str = "full"


class Event(NamedTuple):
    data: bytes
    name: bytes | None = None


class Wire(Protocol):
    path: str
    id_prefix: bytes
    end_mark: Event | None
    """Ends every whole stream."""

    def read(self, body: bytes) -> PracticeRequest:
        """Raises Refused on a body that the server cannot follow."""
        ...

    def sent_back(self, reply: Reply) -> CanonicalPrompt:
        """A prompt that holds the reply alone, as a client will append it to what it sent."""
        ...

    def body(self, answer: Answer) -> bytes:
        """The whole answer as one JSON body."""
        ...

    def opening(self, answer: Answer) -> list[Event]:
        """Events ahead of the first token."""
        ...

    def pieces(self, answer: Answer) -> Iterator[Event]:
        """One event for each piece of the reply."""
        ...

    def closing(self, answer: Answer) -> list[Event]:
        """Events behind the last token: finish reason and usage, without the end mark."""
        ...

    def error(self, refused: Refused) -> bytes:
        """The JSON body of an error."""
        ...
