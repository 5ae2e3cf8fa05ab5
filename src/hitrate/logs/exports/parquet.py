"""Parquet: a row a call, a column a figure, for tables and queries. Needs the extra `parquet`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from hitrate.core.model import Call, Timing, Usage
from hitrate.errors import UsageError

if TYPE_CHECKING:
    import pyarrow

_COUNTS = tuple(name for name in Usage.__struct_fields__ if name.endswith("_tokens"))
_TIMES = tuple(name for name in Timing.__struct_fields__ if name != "first_read_tokens")
_TEXTS = ("target", "dialect", "model", "session", "label", "error")
_JSON = ("headers", "response_headers", "reply", "raw_usage", "happenings", "diagnosis", "waits")

_ROWS, _BYTES = 4096, 32 << 20
"""Of a row group: as many as fit."""

_INT64 = range(-(2**63), 2**63)


def write(calls: Iterable[Call], out: BinaryIO, hashed: Callable[[], bool]) -> int:
    """How many calls were written; `hashed` is asked of each whether its content is not kept.

    A count beyond 64 bits is null in its column and whole in `raw_usage`.

    UsageError, before anything is written, where pyarrow is not installed.
    """
    schema, parquet = _library()
    written = 0
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        rows: list[dict[str, Any]] = []
        held = 0
        for call in calls:
            rows.append(_row(call, hashed()))
            held += len(call.body)
            if len(rows) >= _ROWS or held >= _BYTES:
                written += _flush(writer, schema, rows)
                rows, held = [], 0
        written += _flush(writer, schema, rows)
    return written


def check() -> None:
    """UsageError, one line, where the library is not there."""
    _library()


def _library() -> tuple[pyarrow.Schema, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow, which is not installed: pip install 'hitrate[parquet]'") from None
    fields = [(name, pyarrow.string()) for name in _TEXTS]
    fields += [(name, pyarrow.int64()) for name in ("turn", "status", "line", *_COUNTS)]
    fields += [("cached_source", pyarrow.string()), ("hit_rate", pyarrow.float64())]
    fields += [(name, pyarrow.float64()) for name in _TIMES]
    fields += [("first_read_tokens", pyarrow.int64())]
    fields += [(name, pyarrow.string()) for name in _JSON]
    fields += [("rebuilt", pyarrow.bool_())]
    fields += [("content", pyarrow.string()), ("body", pyarrow.binary())]
    return pyarrow.schema(fields), parquet


def _flush(writer: Any, schema: pyarrow.Schema, rows: list[dict[str, Any]]) -> int:
    if rows:
        import pyarrow

        writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
    return len(rows)


def _row(call: Call, hashed: bool) -> dict[str, Any]:
    row: dict[str, Any] = {name: _text(getattr(call, name)) for name in _TEXTS}
    row |= {name: _count(getattr(call, name)) for name in ("turn", "status", "line")}
    row |= {name: _count(getattr(call.usage, name)) for name in _COUNTS}
    row |= {"cached_source": call.usage.cached_source, "hit_rate": call.usage.hit_rate}
    row |= {name: getattr(call.timing, name, None) for name in (*_TIMES, "first_read_tokens")}
    row |= {name: _json(getattr(call, name)) for name in _JSON}
    return row | {"rebuilt": call.rebuilt, "content": "hashed" if hashed else "kept", "body": call.body}


def _count(value: int | None) -> int | None:
    return value if value is None or value in _INT64 else None


def _text(value: str | None) -> str | None:
    """Half a surrogate pair has no form in Parquet's text."""
    return value if value is None else value.encode("utf-8", "backslashreplace").decode()


def _json(value: Any) -> str | None:
    return None if value is None or value == () else json.dumps(msgspec.to_builtins(value), separators=(",", ":"))
