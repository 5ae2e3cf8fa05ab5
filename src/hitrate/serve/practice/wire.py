"""What a wire format has to provide to the practice server. One file a format beside this one.

A server answers with a `Reply` made of pieces, one a token. A format turns request bytes into a `PracticeRequest` and
an `Answer` into bytes, in one body or as events. The response id is not known until the first token leaves; formats
write RESPONSE_ID in its place, a byte that JSON text cannot hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from hitrate.core.prompt import CanonicalPrompt
from hitrate.serve.practice.framing import SSE, Event, Framing

RESPONSE_ID = b"\0"

Headers = list[tuple[bytes, bytes]]


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
    """"" on a wire that needs none: the server's first."""
    prompt: CanonicalPrompt
    sent: dict[str, Any] = {}
    """The body."""
    stream: bool = False
    include_usage: bool = False
    """Usage was asked for in a stream, or needs no asking."""
    max_tokens: int | None = None
    has_to_be_limited: bool = False
    """The wire wants a `max_tokens` with every request, so that a high one does not ask for a long reply."""
    stop: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    wanted_tool: Tool | None = None
    """The tool that has to be called, as the request says."""
    tools_forbidden: bool = False
    answers_tool: bool = False
    """The last message is a tool's result."""
    joined_blocks: frozenset[str] = frozenset()
    """JSON pointers of content blocks that a look-back counts as one with the block behind them."""
    message_settings: str = ""
    """Settings that make the messages, but neither tools nor system, others to a cache; "" for the defaults."""
    cached_object: str | None = None
    """The named object that the prompt continues."""


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

    @property
    def reasoning_tokens(self) -> int:
        return sum(piece.kind == "reasoning" for piece in self.pieces)


class Answer(NamedTuple):
    """A reply with what the engine says about it. `details` is "full", "null" or "absent", `usage` False leaves all
    of usage out.

    `written` are the tokens written to the cache by lifetime ("5m": 1200), None under a rule that counts no writes.
    `prefill_s` and `decode_s` are the times that the engine's contract gives, `sent` is the request's body.
    """

    model: str
    created: int
    reply: Reply
    prompt_tokens: int
    cached_tokens: int
    usage: bool = True
    details: str = "full"
    written: Mapping[str, int] | None = None
    prefill_s: float = 0.0
    decode_s: float = 0.0
    sent: Mapping[str, Any] = {}

    @property
    def written_tokens(self) -> int:
        return sum(self.written.values()) if self.written else 0

    @property
    def fresh_tokens(self) -> int:
        """Prompt tokens neither read from the cache nor written to it."""
        return self.prompt_tokens - self.cached_tokens - self.written_tokens


class Wire(Protocol):
    """Members with a body here are defaults: a class that names `Wire` as its base has them."""

    name: str
    path: str
    """Regular expression for the path behind the server's base path; named groups are handed to `read`."""
    id_prefix: bytes = b""
    """Starts the response id; b"": the wire has none."""
    framing: Framing = SSE
    end_mark: Event | None = None
    """Ends every whole stream."""

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """The key that came with a request. `headers` have names in lower case."""
        return bearer_key(headers)

    def read(self, body: bytes, place: Mapping[str, str]) -> PracticeRequest:
        """Raises Refused on a body that the server cannot follow. `place` are the groups of `path`,
        and the query."""
        ...

    def sent_back(self, reply: Reply) -> CanonicalPrompt:
        """A prompt that holds the reply alone, as a client will append it to what it sent."""
        ...

    def body(self, answer: Answer) -> bytes:
        """The whole answer as one JSON body."""
        ...

    def opening(self, answer: Answer) -> list[Event]:
        """Events ahead of the first token."""
        return []

    def pieces(self, answer: Answer) -> Iterator[Sequence[Event]]:
        """The events of each piece of the reply, those that open and close its block among them."""
        ...

    def closing(self, answer: Answer) -> list[Event]:
        """Events behind the last token: finish reason and usage, without the end mark."""
        ...

    def error(self, refused: Refused) -> bytes:
        """The JSON body of an error."""
        ...

    def error_headers(self, refused: Refused) -> Headers:
        """What an error says in headers, beside Retry-After."""
        return []

    def error_event(self, refused: Refused) -> Event:
        """An error in the middle of a stream."""
        return Event(self.error(refused))


def bearer_key(headers: Mapping[str, str]) -> str | None:
    kind, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if kind.lower() == "bearer" else None
