"""Which format a log is in, and the log opened: its calls, and what became of its records."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

from hitrate.core.growth import Shown
from hitrate.core.model import Call
from hitrate.core.money import Price
from hitrate.core.records import RecordCount, Records, Remark, Skipped
from hitrate.errors import InputFileError, UsageError
from hitrate.logs.formats.claude_code import ClaudeCode
from hitrate.logs.formats.codex import Codex
from hitrate.logs.formats.har import Har
from hitrate.logs.formats.helicone import Helicone
from hitrate.logs.formats.hitrate_calls import HitrateCalls
from hitrate.logs.formats.langfuse import Langfuse
from hitrate.logs.formats.litellm import LiteLlm
from hitrate.logs.formats.llamacpp import LlamaCpp
from hitrate.logs.formats.mitmproxy import Mitmproxy
from hitrate.logs.formats.one_exchange import OneExchange
from hitrate.logs.formats.openai_batch import OpenAiBatch
from hitrate.logs.formats.opencode import OpenCode
from hitrate.logs.formats.openrouter import OpenRouter
from hitrate.logs.formats.otel import Otel
from hitrate.logs.formats.pi import Pi
from hitrate.logs.formats.rendered import OnePrompt, PromptLines, RenderedRecords, is_templated
from hitrate.logs.formats.request_pairs import RequestPairs
from hitrate.logs.formats.session_file import SessionFile
from hitrate.logs.formats.sglang import Sglang
from hitrate.logs.formats.swe_agent import SweAgent
from hitrate.logs.formats.tau_bench import TauBench
from hitrate.logs.formats.token_ids import TokenIds
from hitrate.logs.formats.vllm import Vllm
from hitrate.logs.interface import ContentNotKept, Item, LogReader, OwnPrice, OwnRules, ReadCall, Repeated, ReplyReader
from hitrate.logs.lines import HEAD_BYTES, decoded, raw_lines
from hitrate.logs.opened import FromUtf16, head_of, opened
from hitrate.logs.refused import document_members, reason_against, reason_against_table

READERS: tuple[LogReader, ...] = (
    HitrateCalls(),
    ClaudeCode(),
    Pi(),
    Codex(),
    OpenCode(),
    Sglang(),
    Vllm(),
    LlamaCpp(),
    TauBench(),
    SweAgent(),
    Otel(),
    Har(),
    Mitmproxy(),
    OpenAiBatch(),
    LiteLlm(),
    Langfuse(),
    Helicone(),
    OpenRouter(),
    RenderedRecords(),
    TokenIds(),
    SessionFile(),
    RequestPairs(),
    OneExchange(),
    PromptLines(),
    OnePrompt(),
)
"""The most particular first: each is asked in turn."""


class Log:
    """An open log. Iterate once for its calls; `records()` and what the file gives itself are complete after that."""

    def __init__(self, path: str, reader: LogReader, stream: BinaryIO, read_reply: ReplyReader) -> None:
        self.path = path
        self.format = reader.name
        self.own_price: Price | None = None
        """Prices that the file itself gives; known once the first call is."""
        self.own_rules = OwnRules()
        """Cache rules and server that the file itself names; known once the first call is."""
        self.content_kept = True
        """False where prompts and replies are stand-ins; known once all calls are."""
        self.shown: Shown | None = None
        """What reading the call that was given out last has shown of its messages."""
        self._reader = reader
        self._stream = stream
        self._read_reply = read_reply
        self._count = RecordCount()

    def __iter__(self) -> Iterator[Call]:
        """InputFileError when the file cannot be read on, and at the end when none of its records could be used."""
        return self._calls(self._reader.read)

    def stored(self) -> Iterator[Call]:
        """The same as they stand in the file, without stand-ins for content that was not kept."""
        return self._calls(getattr(self._reader, "read_stored", self._reader.read))

    def _calls(self, read: Callable[[BinaryIO, ReplyReader], Iterator[Item]]) -> Iterator[Call]:
        try:
            for item in read(self._stream, self._read_reply):
                if isinstance(item, ReadCall):
                    self._count.used += 1
                    self.shown = item.shown
                    yield item.call
                elif isinstance(item, Call):
                    self._count.used += 1
                    self.shown = None
                    yield item
                elif isinstance(item, Skipped):
                    self._count.skip(item)
                elif isinstance(item, Remark):
                    self._count.remark(item)
                elif isinstance(item, Repeated):
                    self._count.repeat()
                elif isinstance(item, OwnRules):
                    self.own_rules = item
                elif isinstance(item, ContentNotKept):
                    self.content_kept = False
                else:
                    self.own_price = cast(OwnPrice, item).price
        except OSError as error:
            raise InputFileError(self.path, f"cannot be read on: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise InputFileError(self.path, f"cannot be read on, not UTF-16: {error.reason}") from None
        finally:
            self._stream.close()

    def records(self) -> Records:
        return self._count.records()

    def close(self) -> None:
        """Close a log that is not read."""
        self._stream.close()


def open_log(path: str, read_reply: ReplyReader, format: str | None = None, *, stream: BinaryIO | None = None) -> Log:
    """A log opened in the named format, or in the one its start looks like. "-" is standard input.

    `stream` is what the file holds, where it was opened already; it has to be seekable.

    Compressed (gzip) and UTF-16 files are read as if they were not. UsageError for an unknown format name or one that
    cannot be told, InputFileError for a file that is empty, cannot be opened or plainly is something else.
    """
    chosen = None if format is None else reader_named(format)
    stream = opened(path, stream)
    try:
        head = head_of(stream, path)
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            stream = cast(BinaryIO, FromUtf16(stream))
            head = codecs.getincrementaldecoder("utf-16")("replace").decode(head).encode("utf-8", "replace")
        if not head.strip():
            raise InputFileError(path, "the file is empty, expected a log of requests")
        reader = chosen or _recognised(head, path)
    except BaseException:
        stream.close()
        raise
    return Log(path, reader, stream, read_reply)


def reader_named(name: str) -> LogReader:
    """UsageError with the known names when there is none of that name."""
    for reader in READERS:
        if reader.name == name:
            return reader
    from difflib import get_close_matches

    names = [reader.name for reader in READERS]
    near = get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"no log format called {name!r}; known: {', '.join(names)}{hint}")


def _recognised(head: bytes, path: str) -> LogReader:
    if other := _something_else(head):
        raise InputFileError(path, other, line=1)
    if reason := reason_against(head):
        raise InputFileError(path, reason)
    for reader in READERS:
        if reader.matches(head, path):
            return reader
    if reason := reason_against_table(head):
        raise InputFileError(path, reason)
    members = document_members(head)
    fault = None if members else _first_fault(head)
    first = head.lstrip().split(b"\n", 1)[0].rstrip()
    is_object = first.startswith(b"{") and first.endswith(b"}")
    unseen = len(head) >= HEAD_BYTES and not first.startswith((b"{", b"["))
    if fault is not None and (is_object or unseen):
        return RequestPairs()  # which says of each line what is wrong with it, and finds those that are in order
    known = ", ".join(reader.name for reader in READERS)
    place = f"{path}: " if fault is None else f"{path}{fault.place}: {fault.reason}; "
    if members:
        place += f"a JSON document with {', '.join(members[:6])}; "
    raise UsageError(f"{place}the format of this log is not recognised; name it with --format, known: {known}")


def _first_fault(head: bytes) -> Skipped | None:
    """What is wrong with the first line, where it is no JSON."""
    for number, offset, data in raw_lines(io.BytesIO(head)):
        found = data if isinstance(data, Skipped) else decoded(data, number, offset)
        return found if isinstance(found, Skipped) else None
    return None


def _something_else(head: bytes) -> str | None:
    """What a file plainly is, when that is no log."""
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()[:64].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "this is HTML and not a request log"
    if start.startswith(b"<") and not is_templated(head):
        return "this is XML and not a request log"
    if start.startswith(b"sqlite format 3\x00"):
        return "this is a database; of a store of runs give the id of a run, and its path in HITRATE_STORE"
    if start.startswith((b"pk\x03\x04", b"\x28\xb5\x2f\xfd")):
        return "this is a compressed archive, expected plain text or gzip"
    return None
