"""What a log format has to provide. One file a format beside this one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol

from msgspec import Struct

from hitrate.core.growth import Shown
from hitrate.core.model import Call, Reading
from hitrate.core.money import Price
from hitrate.core.records import Remark, Skipped


class Repeated(Struct, frozen=True):
    """A further line of a call that is counted once."""


class OwnPrice(Struct, frozen=True):
    """The prices that the file itself gives for all its calls; comes before the calls."""

    price: Price


class OwnRules(Struct, frozen=True):
    """What the file itself says of the cache and of the engine for all its calls; comes before the calls.

    `rules` are facts as "block_tokens" or "minimum_tokens"; `server` names the engine, its arguments, lines of its log.
    """

    rules: dict[str, Any] = {}
    server: dict[str, Any] = {}


class ContentNotKept(Struct, frozen=True):
    """Calls hold stand-ins for prompts and replies, of their length and kind; comes before the first such call."""


class ReadCall(Struct, frozen=True, gc=False):
    """A call, and what reading it has shown of its messages."""

    call: Call
    shown: Shown


Item = Call | ReadCall | Skipped | Remark | Repeated | OwnPrice | OwnRules | ContentNotKept


class ReplyReader(Protocol):
    """How a log reader has token counts read: by the one module that knows every vendor's accounting."""

    def __call__(self, response: dict[str, Any], dialect: str | None, /) -> tuple[str | None, Reading]:
        """The wire format the response is in, None where none is recognised, and what it says.

        `response` is a reply body, or `{"events": [...]}` with the events of a stream. `dialect` is what the log calls
        its wire format, None where it does not say; then the shape of the response decides. Never raises on bad input.
        """
        ...


class LogReader(Protocol):
    name: str
    about: str
    """One line for people who choose a format."""

    def matches(self, head: bytes, path: str) -> bool:
        """Whether a file that starts with `head` (decompressed, UTF-8, up to 64 KiB) looks like this format."""
        ...

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        """Every record of the stream, in order; a damaged one as `Skipped`, after which reading goes on.

        `stream` is decompressed and in UTF-8 as far as it is valid. Memory does not grow with the file, except where
        the format is one JSON document. Raises only what reading the stream raises.
        """
        ...
