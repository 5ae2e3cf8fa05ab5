"""Any log of requests as a trace: its prompts as tokens, cut into blocks of the size asked for."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from msgspec.structs import replace

from hitrate.core.model import Call
from hitrate.core.numerals import counted
from hitrate.core.records import RecordCount, Records, Remark
from hitrate.core.trace import UNKNOWN, Chunk, Replayable
from hitrate.errors import InputFileError
from hitrate.logs.traces.chained import block_names
from hitrate.logs.traces.chunks import Request, in_chunks

TokensOf = Callable[[Call], Sequence[int]]
"""The tokens of a call's prompt. ValueError where its request cannot be read."""


class Log(Protocol):
    path: str
    format: str

    def __iter__(self) -> Iterator[Call]: ...

    def records(self) -> Records: ...


class LogTrace:
    """In the order calls were sent, where the log says when; else as they stand in it. Prompts of different models, or
    at different places, share nothing. In memory are the blocks of all calls, eight bytes each.

    `basis` says in words, once all calls were read, how exact the tokens are.
    """

    def __init__(self, log: Log, tokens_of: TokensOf, basis: Callable[[], str], block_tokens: int) -> None:
        self.facts = Replayable(path=log.path, format=log.format, block_tokens=block_tokens, has_partial_blocks=True)
        self._log = log
        self._tokens_of = tokens_of
        self._basis = basis
        self._count = RecordCount()
        self._unread = 0
        self._usage_only = 0
        """Of those, calls without a request."""

    def chunks(self) -> Iterator[Chunk]:
        numbers: dict[bytes, int] = {}
        found = [request for call in self._log if (request := self._request(call, numbers)) is not None]
        if not found:
            raise self._no_prompts()
        timed = [request for request in found if not math.isnan(request.at_s)]
        if len(timed) == len(found):
            found.sort(key=lambda request: request.at_s)
        elif timed:
            what = f"{len(found) - len(timed):,} of {len(found):,} calls have no time; the order is that of the log"
            self._count.remark(Remark(line=None, what=what))
        if self._unread:
            what = f"{counted(self._unread, 'call')} left out: the log holds no request, or one that cannot be read"
            self._count.remark(Remark(line=None, what=what))
        self._count.remark(Remark(line=None, what=self._basis()))
        yield from in_chunks(found, self._count)

    def _no_prompts(self) -> InputFileError:
        read = self._log.records()
        if self._usage_only == self._unread > 0:
            return InputFileError(
                self.facts.path,
                f"of {counted(self._unread, 'call')} none has a prompt: {self.facts.format} logs of this kind keep "
                "what was used and not what was sent, and there is nothing to replay; `hitrate explain` and "
                "`hitrate cost` read such a log, and `hitrate proxy` records one with its prompts",
            )
        if not self._unread and not read.read:
            return InputFileError(self.facts.path, f"no call is recorded in it (read as {self.facts.format})")
        why = f"; the first that cannot be used: {read.skipped[0].reason}" if read.skipped else ""
        return InputFileError(
            self.facts.path,
            f"of {counted(max(self._unread, read.read), 'record')} none has a prompt that can be read{why}; "
            "`hitrate explain` says of each what is wrong with it",
        )

    def records(self) -> Records:
        """Those of the log, with what was remarked here."""
        read = self._log.records()
        return replace(read, remarks=(*read.remarks, *self._count.records().remarks))

    def _request(self, call: Call, numbers: dict[bytes, int]) -> Request | None:
        try:
            tokens = self._tokens_of(call) if call.body else ()
        except ValueError:
            tokens = ()
        if not tokens:
            self._unread += 1
            self._usage_only += not call.body
            return None
        root = repr((call.target, call.model)).encode("utf-8", "surrogatepass")
        names = block_names(tokens, self.facts.block_tokens, root)
        ids = array("q", (numbers.setdefault(name, len(numbers)) for name in names))
        output = call.usage.output_tokens
        return Request(
            math.nan if call.timing is None else call.timing.at,
            len(tokens),
            UNKNOWN if output is None else output,
            call.session or None,
            ids,
            call.line,
        )
