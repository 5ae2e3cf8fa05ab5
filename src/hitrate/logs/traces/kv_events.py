"""KV events of vLLM, SGLang and Dynamo: what a cache stored and dropped. They name no request, so they are refused for
hit rates; the reason tells what they do say.

    [1764460800.5, [["BlockStored", [101, 102], 100, [1, 2, ...], 16, null, "GPU"], ["BlockRemoved", [7], "GPU"]]]
    {"ts": 1764460800.5, "events": [{"type": "AllBlocksCleared"}]}
    {"event_id": 3, "data": {"stored": {"parent_hash": 100, "blocks": [{"block_hash": 101}]}}}

The first form is vLLM's batch (vllm/distributed/kv_events.py), which SGLang sends too, the second the same with names,
the third Dynamo's (lib/kv-router). Lines of JSON, or batches in msgpack one behind the other. A request that is served
from the cache leaves no event, so what was asked for is not in them.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from hitrate.core.records import Skipped
from hitrate.core.trace import Trace
from hitrate.errors import InputFileError
from hitrate.logs.lines import json_lines
from hitrate.logs.traces.msgpack_stream import messages

_KINDS = ("BlockStored", "BlockRemoved", "AllBlocksCleared")
_DYNAMO = ("stored", "removed", "cleared")


class KvEvents:
    name = "kv-events"
    about = "blocks stored and removed by a cache (vLLM, SGLang, Dynamo): told what they say, and refused for hit rates"

    def matches(self, head: bytes) -> bool:
        start = head.lstrip()
        if not start.startswith((b"{", b"[")):
            return any(kind.encode() in head for kind in _KINDS) and b"\x00" in head.replace(b"\n", b"\x00")[:4096]
        return next((bool(list(_events(value))) for value in _values(io.BytesIO(head), head)), False)

    def open(self, stream: BinaryIO, path: str, head: bytes, block_tokens: int | None) -> Trace:
        sums, so_far = Sums(), ""
        try:
            for value in _values(stream, head):
                for event in _events(value):
                    sums.add(*event)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            so_far = f", up to where the compressed file cannot be read on ({error})"
        raise InputFileError(
            path,
            "events of a cache, and not of requests: what was served leaves none, so no hit rate can be stated. They "
            f"say{so_far}: {sums.words()}",
        )


class Sums:
    """What can be stated of a stream of events."""

    def __init__(self) -> None:
        self.stored = self.removed = self.cleared = 0
        self.stored_again = 0
        """Blocks that were stored before and gone since: computed a second time for want of room."""
        self.most_held = 0
        self.block_size: int | None = None
        self._held: set[object] = set()
        self._known: set[object] = set()

    @property
    def distinct(self) -> int:
        return len(self._known)

    def add(self, kind: str, blocks: list[Any], block_size: int | None) -> None:
        if kind == "AllBlocksCleared":
            self.cleared += 1
            self._held.clear()
        elif kind == "BlockRemoved":
            self.removed += len(blocks)
            self._held.difference_update(blocks)
        else:
            self.block_size = block_size or self.block_size
            new = [block for block in blocks if block not in self._held]
            self.stored += len(blocks)
            self.stored_again += sum(block in self._known for block in new)
            self._held.update(new)
            self._known.update(new)
            self.most_held = max(self.most_held, len(self._held))

    def words(self) -> str:
        size = "" if self.block_size is None else f" of {self.block_size} tokens"
        share = f" ({100 * self.stored_again / self.stored:.1f} %)" if self.stored else ""
        return (
            f"{self.stored:,} blocks{size} stored, {self.distinct:,} of them distinct, {self.stored_again:,}{share} "
            f"stored again after they had been removed, which more memory would have saved; {self.removed:,} removed, "
            f"at most {self.most_held:,} held at once"
        )


def _values(stream: BinaryIO, head: bytes) -> Iterator[Any]:
    """JSON lines, or messages of msgpack."""
    if head.lstrip().startswith((b"{", b"[")):
        for line in json_lines(stream):
            if not isinstance(line, Skipped):
                yield line.value
    else:
        yield from messages(stream)


def _events(value: Any) -> Iterator[tuple[str, list[Any], int | None]]:
    """(kind, hashes, tokens of a block) of a batch, or of an event alone."""
    if isinstance(value, list) and len(value) > 1 and isinstance(value[1], list) and not isinstance(value[0], str):
        for event in value[1]:
            yield from _event(event)
    elif isinstance(value, dict) and isinstance(value.get("events"), list):
        for event in value["events"]:
            yield from _event(event)
    else:
        yield from _event(value)


def _event(event: Any) -> Iterator[tuple[str, list[Any], int | None]]:
    if isinstance(event, list) and event and event[0] in _KINDS:
        hashes = _list(event[1]) if len(event) > 1 else []
        yield event[0], hashes, event[4] if event[0] == "BlockStored" and len(event) > 4 else None
    elif isinstance(event, dict) and (kind := event.get("type", event.get("event_type"))) in _KINDS:
        yield kind, _list(event.get("block_hashes")), event.get("block_size")
    elif isinstance(event, dict):
        data = event.get("data", event)
        if data == "cleared":
            yield "AllBlocksCleared", [], None
        elif isinstance(data, dict):
            for kind, name in zip(_KINDS, _DYNAMO, strict=True):
                if isinstance(found := data.get(name), dict):
                    yield kind, _hashes(found), found.get("block_size")


def _hashes(found: dict[str, Any]) -> list[Any]:
    blocks = found.get("blocks")
    if isinstance(blocks, list):
        return _list([one.get("block_hash") for one in blocks if isinstance(one, dict)])
    return _list(found.get("block_hashes"))


def _list(value: Any) -> list[Any]:
    return [one for one in value if isinstance(one, int | str | bytes)] if isinstance(value, list) else []
