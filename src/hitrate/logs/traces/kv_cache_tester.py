"""Sessions of coding agents as kv-cache-tester has them: JSONL, one session a line, its requests nested in it.

    {"id": "trace_0114", "block_size": 64, "hash_id_scope": "local", "requests": [
       {"t": 0.0, "type": "n", "model": "...", "in": 92915, "out": 450, "hash_ids": [1, 2, ...]},
       {"t": 160.9, "type": "subagent", "agent_id": "agent_001", "requests": [{"t": 0.0, ...}, ...]}]}

(https://github.com/callanjfox/kv-cache-tester, traces.) `t` is in seconds from the start of the session, that of a
sub-agent's requests from the sub-agent's own `t`. Only full blocks have an id. Ids of scope "local" count from anew in
every session, so that sessions share nothing. All sessions begin at once, as that tool replays them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from hashlib import blake2b
from heapq import merge
from typing import BinaryIO, NamedTuple

import msgspec

from hitrate.core.records import Remark, Skipped
from hitrate.core.trace import UNKNOWN, Replayable
from hitrate.errors import InputFileError
from hitrate.logs.lines import first_objects, opening
from hitrate.logs.traces.chunks import Request, StreamedTrace
from hitrate.logs.traces.mooncake import Count
from hitrate.logs.traces.rows import Rows

BLOCK_TOKENS = 64


class _Request(msgspec.Struct, gc=False):
    t: float
    input_tokens: Count | None = msgspec.field(name="in", default=None)
    out: Count | None = None
    hash_ids: list[int] = []
    requests: list[_Request] | None = None
    """Of a sub-agent."""


class _Session(msgspec.Struct, gc=False):
    id: str
    requests: list[_Request]
    block_size: int = BLOCK_TOKENS
    hash_id_scope: str = "local"


class KvCacheTester:
    name = "kv-cache-tester"
    about = "JSONL of sessions with nested requests and hash_ids of their own (kv-cache-tester, WEKA)"

    def matches(self, head: bytes) -> bool:
        start = first_objects(head) or [opening(head)]
        return any("block_size" in one and "hash_id_scope" in one for one in start)

    def open(self, stream: BinaryIO, path: str, head: bytes, block_tokens: int | None) -> StreamedTrace:
        size = _block_size(head)
        facts = Replayable(path=path, format=self.name, block_tokens=size, has_partial_blocks=False)
        return StreamedTrace(facts, stream, _requests(Rows(stream, msgspec.json.Decoder(_Session)), size, path))


def _block_size(head: bytes) -> int:
    """Of the first session; that of the others has to be the same."""
    place = head.find(b'"block_size"')
    digits = head[place:].partition(b":")[2].lstrip()[:8] if place >= 0 else b""
    number = digits[: next((n for n, one in enumerate(digits) if not 48 <= one <= 57), len(digits))]
    return int(number) if number and int(number) else BLOCK_TOKENS


class _Kept(NamedTuple):
    """A request of an agent, without what it has in common with the one before it."""

    t: float
    input_tokens: int
    output_tokens: int
    kept: int
    """Blocks in front that are those of the request before."""
    more: array[int]


def _requests(rows: Rows[_Session], block_tokens: int, path: str) -> Iterator[Request | Skipped | Remark]:
    """Of all sessions, merged by time. In memory is what a request adds to the one before: every block about once."""
    agents: list[tuple[int, str, list[_Kept]]] = []
    known: dict[bytes, str] = {}
    offset = 0
    for line, session in rows:
        if isinstance(session, Skipped):
            yield session
            continue
        if session.block_size != block_tokens:
            raise InputFileError(
                path,
                f"session {session.id} has blocks of {session.block_size} tokens, expected {block_tokens}",
                line=line,
            )
        digest = blake2b(msgspec.json.encode(session.requests), digest_size=16).digest()
        if digest in known:
            what = f"session {session.id} is an exact copy of {known[digest]}; both are replayed, and share nothing"
            yield Remark(line=line, what=what)
        known.setdefault(digest, session.id)
        is_local = session.hash_id_scope == "local"
        largest = 0
        for requests, start in _agents(session.requests, 0.0):
            kept = []
            for one in _kept(requests, start, offset if is_local else 0, block_tokens, line):
                if isinstance(one, Skipped):
                    yield one
                else:
                    kept.append(one)
            largest = max((largest, *(max(one.hash_ids, default=0) for one in requests)))
            agents.append((len(agents), session.id, kept))
        offset += largest + 1 if is_local else 0
    # Requests of one moment in the order of the file.
    yield from (request for _, _, request in merge(*(_unfolded(*agent) for agent in agents), key=lambda one: one[:2]))


def _agents(requests: list[_Request], start: float) -> Iterator[tuple[list[_Request], float]]:
    """The requests of an agent, and of those it started, with the time they count from."""
    yield [one for one in requests if one.requests is None], start
    for one in requests:
        if one.requests is not None:
            yield from _agents(one.requests, start + one.t)


def _kept(
    requests: list[_Request], start: float, offset: int, block_tokens: int, line: int
) -> Iterator[_Kept | Skipped]:
    before: list[int] = []
    for one in sorted(requests, key=lambda one: one.t):
        if one.input_tokens is None or len(one.hash_ids) != one.input_tokens // block_tokens:
            length = "no `in`" if one.input_tokens is None else f"{one.input_tokens:,} input tokens"
            reason = f"the request at t = {one.t:g} has {len(one.hash_ids):,} ids and {length}"
            yield Skipped(line=line, reason=f"{reason}, expected one id for each full block of {block_tokens}")
            continue
        kept = _common(before, one.hash_ids)
        before = one.hash_ids
        more = array("q", (block + offset for block in before[kept:]))
        output = UNKNOWN if one.out is None else one.out
        yield _Kept(start + one.t, one.input_tokens, output, kept, more)


def _unfolded(number: int, session: str, kept: list[_Kept]) -> Iterator[tuple[float, int, Request]]:
    """The blocks of a request are those of the one before, changed: to be read before the next is asked for."""
    blocks: array[int] = array("q")
    for one in kept:
        del blocks[one.kept :]
        blocks.extend(one.more)
        yield one.t, number, Request(one.t, one.input_tokens, one.output_tokens, session, blocks)


def _common(before: list[int], now: list[int]) -> int:
    """How many in front are the same."""
    lengths = range(1, min(len(before), len(now)) + 1)
    return bisect_left(lengths, True, key=lambda length: before[:length] != now[:length])
