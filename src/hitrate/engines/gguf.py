"""GGUF version 3, as far as a small model needs it: write one, and tell whether a file is one.

Layout (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): header, key-value metadata, tensor table, then the
tensor data, each tensor aligned to 32 bytes. All numbers little-endian; strings carry their byte length.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hitrate.errors import InputFileError

MAGIC = b"GGUF"
VERSION = 3
ALIGNMENT = 32

_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_FIXED_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_TENSOR_F32 = 0

Metadata = str | int | float | bool | Sequence[str] | Sequence[int]


@dataclass(frozen=True)
class Tensor:
    """A float32 tensor. `shape` has the fastest-running dimension first; `data` are its little-endian bytes."""

    name: str
    shape: tuple[int, ...]
    data: bytes


def encode(metadata: Mapping[str, Metadata], tensors: Sequence[Tensor]) -> bytes:
    """The whole file. Ints become uint32, floats float32, int arrays int32 arrays."""
    parts = [MAGIC, struct.pack("<IQQ", VERSION, len(tensors), len(metadata))]
    for key, value in metadata.items():
        parts += (_string(key), _typed_value(value))
    offset = 0
    for tensor in tensors:
        dimensions = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        parts += (_string(tensor.name), dimensions, struct.pack("<IQ", _TENSOR_F32, offset))
        offset += _aligned(len(tensor.data))
    table = b"".join(parts)
    parts = [table, bytes(_aligned(len(table)) - len(table))]
    for tensor in tensors:
        parts += (tensor.data, bytes(_aligned(len(tensor.data)) - len(tensor.data)))
    return b"".join(parts)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _typed_value(value: Metadata) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", _BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", _UINT32, value)
    if isinstance(value, float):
        return struct.pack("<If", _FLOAT32, value)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value[0], str):
        strings = b"".join(_string(item) for item in value if isinstance(item, str))
        return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + strings
    return struct.pack(f"<IIQ{len(value)}i", _ARRAY, _INT32, len(value), *value)


@dataclass(frozen=True)
class Summary:
    """What the header of a GGUF file says. `metadata` leaves out arrays; `context_length` is the trained one."""

    metadata: Mapping[str, str | int | float | bool]
    tensors: int

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", ""))

    @property
    def context_length(self) -> int | None:
        length = self.metadata.get(f"{self.architecture}.context_length")
        return length if isinstance(length, int) else None


def read_summary(path: Path) -> Summary:
    """Read the metadata of a GGUF file.

    Raises InputFileError when the file cannot be read, is something else, has another version or ends early.
    """
    try:
        with path.open("rb") as file:
            return _Reader(file, path).summary()
    except OSError as error:
        raise InputFileError(
            str(path), f"cannot be read: {error.strerror or error}; a GGUF model file is needed"
        ) from error


class _Reader:
    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = path
        self._size = path.stat().st_size

    def summary(self) -> Summary:
        magic = self._file.read(4)
        if magic != MAGIC:
            raise InputFileError(
                str(self._path), f"is not a GGUF model: it begins with {magic!r}, a GGUF file begins with {MAGIC!r}"
            )
        (version,) = self._numbers("I")
        if version not in (2, VERSION):
            raise InputFileError(str(self._path), f"is GGUF version {version}; versions 2 and 3 can be loaded")
        tensors, entries = self._numbers("QQ")
        metadata: dict[str, str | int | float | bool] = {}
        for _ in range(entries):
            key = self._text()
            value = self._value(*self._numbers("I"))
            if value is not None:
                metadata[key] = value
        self._check_tensors(tensors, int(metadata.get("general.alignment", 0)) or ALIGNMENT)
        return Summary(metadata=metadata, tensors=tensors)

    def _check_tensors(self, count: int, alignment: int) -> None:
        """The last tensor must start inside the file; a download cut short ends before it."""
        last_offset = 0
        for _ in range(count):
            self._text()
            (dimensions,) = self._numbers("I")
            *_, offset = self._numbers(f"{dimensions}QIQ")
            last_offset = max(last_offset, offset)
        data_start = -(-self._file.tell() // alignment) * alignment
        if count and data_start + last_offset >= self._size:
            self._cut_short()

    def _value(self, kind: int) -> str | int | float | bool | None:
        if kind == _STRING:
            return self._text()
        if kind == _ARRAY:
            item_kind, length = self._numbers("IQ")
            self._skip_array(item_kind, length)
            return None
        if kind not in _FIXED_SIZES:
            raise InputFileError(str(self._path), f"is damaged: metadata of unknown type {kind}")
        (value,) = self._numbers("BbHhIif?"[kind] if kind < _STRING else "QqdX"[kind - 10])
        return value

    def _skip_array(self, kind: int, length: int) -> None:
        if kind == _STRING:
            for _ in range(length):
                self._skip(*self._numbers("Q"))
        elif kind in _FIXED_SIZES:
            self._skip(_FIXED_SIZES[kind] * length)
        else:
            raise InputFileError(str(self._path), f"is damaged: an array of unknown type {kind}")

    def _text(self) -> str:
        (length,) = self._numbers("Q")
        return self._bytes(length).decode("utf-8", "replace")

    def _numbers(self, layout: str) -> tuple[int, ...]:
        return struct.unpack("<" + layout, self._bytes(struct.calcsize("<" + layout)))

    def _bytes(self, length: int) -> bytes:
        if length > self._size - self._file.tell():
            self._cut_short()
        return self._file.read(length)

    def _skip(self, length: int) -> None:
        if length > self._size - self._file.tell():
            self._cut_short()
        self._file.seek(length, 1)

    def _cut_short(self) -> None:
        raise InputFileError(str(self._path), f"is cut short at {self._size:,} bytes; fetch or copy it again")
