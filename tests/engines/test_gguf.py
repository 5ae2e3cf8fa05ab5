from __future__ import annotations

import struct
from pathlib import Path

import pytest

from hitrate.engines import gguf
from hitrate.engines.gguf import Tensor
from hitrate.errors import InputFileError

HEADER = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def test_the_bytes_of_a_file_with_one_entry_and_one_tensor():
    written = gguf.encode({"a": 7}, [Tensor("t", (1, 2), b"12345678")])
    assert written == (
        b"GGUF\x03\0\0\0" + b"\x01\0\0\0\0\0\0\0" + b"\x01\0\0\0\0\0\0\0"  # version, tensors, entries
        b"\x01\0\0\0\0\0\0\0a" + b"\x04\0\0\0" + b"\x07\0\0\0"  # key, uint32, 7
        b"\x01\0\0\0\0\0\0\0t" + b"\x02\0\0\0" + b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"  # name, dimensions
        b"\0\0\0\0" + b"\0\0\0\0\0\0\0\0" + bytes(14)  # float32, offset, filled up to byte 96
        + b"12345678" + bytes(24)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "read_back"),
    [(7, 7), (0.5, 0.5), (True, True), ("né", "né"), (["a", ""], None), ([1, -1], None)],
)
def test_what_is_written_is_read_back(tmp_path: Path, value: gguf.Metadata, read_back: object):
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf.encode({"k": value, "general.architecture": "x", "x.context_length": 99}, []))
    summary = gguf.read_summary(path)
    assert summary.metadata.get("k") == read_back
    assert (summary.architecture, summary.context_length, summary.tensors) == ("x", 99, 0)


def test_values_of_every_scalar_type_are_read(tmp_path: Path):
    values = [(0, "B"), (1, "b"), (2, "H"), (3, "h"), (4, "I"), (5, "i"), (10, "Q"), (11, "q"), (12, "d")]
    path = tmp_path / "m.gguf"
    entries = b"".join(text(f"k{kind}") + struct.pack("<I" + layout, kind, kind) for kind, layout in values)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)) + entries)
    assert gguf.read_summary(path).metadata == {f"k{kind}": kind for kind, _ in values}


TWO_STRINGS = HEADER + text("k") + struct.pack("<IIQ", 9, 8, 2)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not a GGUF model: it begins with b'', a GGUF file begins with b'GGUF'"),
        (b"PK\x03\x04rest", "is not a GGUF model: it begins with b'PK\\x03\\x04', a GGUF file begins with b'GGUF'"),
        (b"GGUF", "is cut short at 4 bytes; fetch or copy it again"),
        (b"GGUF" + struct.pack("<I", 9), "is GGUF version 9; versions 2 and 3 can be loaded"),
        (HEADER, "is cut short at 24 bytes; fetch or copy it again"),
        (HEADER + struct.pack("<Q", 2**63), "is cut short at 32 bytes; fetch or copy it again"),
        (HEADER + text("k") + struct.pack("<I", 77), "is damaged: metadata of unknown type 77"),
        (HEADER + text("k") + struct.pack("<IIQ", 9, 9, 1), "is damaged: an array of unknown type 9"),
        (TWO_STRINGS + text("a"), "is cut short at 58 bytes; fetch or copy it again"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes, says: str):
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(InputFileError) as caught:
        gguf.read_summary(path)
    assert caught.value.message == f"{path}: {says}"


def test_a_download_that_lost_its_tensors_is_named(tmp_path: Path):
    path = tmp_path / "m.gguf"
    whole = gguf.encode({}, [Tensor("a", (64,), bytes(256)), Tensor("b", (64,), bytes(256))])
    path.write_bytes(whole[:-300])
    with pytest.raises(InputFileError, match=f"is cut short at {len(whole) - 300} bytes"):
        gguf.read_summary(path)


def test_a_missing_file_and_a_folder(tmp_path: Path):
    for path, reason in ((tmp_path / "no.gguf", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(InputFileError) as caught:
            gguf.read_summary(path)
        assert caught.value.message == f"{path}: cannot be read: {reason}; a GGUF model file is needed"
