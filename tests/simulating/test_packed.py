"""A trace packed into a file is the same trace, as long as the file is there and as it was written."""

from __future__ import annotations

import pickle
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_traces import Chats

from hitrate.core.trace import Chunk
from hitrate.errors import HitrateError, InputFileError
from hitrate.simulating.packed import PackedTrace, packed
from hitrate.simulating.replaying import replay
from hitrate.simulating.wanted import Point


def test_it_is_read_as_it_was_as_often_as_need_be() -> None:
    trace = Chats()
    with packed(trace) as found:
        assert [repr(chunk) for chunk in found.chunks()] == [repr(chunk) for chunk in trace.chunks()]
        assert list(found.chunks()) == list(found.chunks())
        assert (found.facts, found.records()) == (trace.facts, trace.records())
        assert (found.requests, found.blocks) == (300, sum(len(chunk.ids) for chunk in trace.chunks()))
        assert found.size == Path(found.file).stat().st_size


def test_times_that_are_not_known_stay_so() -> None:
    with packed(Chats(times=False)) as found:
        assert {str(at_s) for chunk in found.chunks() for at_s in chunk.at_s} == {"nan"}


def test_equal_traces_have_equal_digests_wherever_they_are_packed() -> None:
    with packed(Chats()) as one, packed(Chats()) as other, packed(Chats(301)) as longer:
        assert one.file != other.file
        assert one.digest == other.digest != longer.digest


def test_another_process_reads_it_too() -> None:
    with packed(Chats()) as found:
        sent: PackedTrace = pickle.loads(pickle.dumps(found))
        assert list(sent.chunks()) == list(found.chunks())


def test_its_bytes_are_those_of_the_file() -> None:
    with packed(Chats()) as found:
        pieces = list(found.data())
        assert [at for at, _ in pieces][:2] == [0, found.pieces[0].size]
        assert b"".join(data for _, data in pieces) == Path(found.file).read_bytes()


def test_the_file_is_gone_afterwards() -> None:
    with packed(Chats()) as found:
        assert Path(found.file).exists()
    assert not Path(found.file).exists()
    with pytest.raises(HitrateError, match="the packed copy of chats cannot be read: No such file") as refused:
        list(found.chunks())
    assert refused.value.message.startswith(found.file)


@pytest.mark.parametrize("change", [lambda data: data[:-8], lambda data: data[:100] + b"\xff" + data[101:]])
def test_a_file_that_was_changed_is_refused(change) -> None:
    with packed(Chats()) as found:
        file = Path(found.file)
        file.write_bytes(change(file.read_bytes()))
        with pytest.raises(HitrateError, match="cannot be read: the bytes are not those that were written; run it"):
            list(found.chunks())


class Broken(Chats):
    def chunks(self) -> Iterator[Chunk]:
        yield from super().chunks()
        raise InputFileError("chats", "cannot be read on")


def test_a_trace_that_breaks_off_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(InputFileError, match="chats: cannot be read on"), packed(Broken()):
        pass
    assert list(tmp_path.iterdir()) == []


def test_no_room_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(HitrateError, match=r"chats cannot be packed into .*missing: No such file.*TMPDIR"):
        packed(Chats()).__enter__()


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, hard))
    try:
        with pytest.raises(HitrateError, match=r"chats cannot be packed into .*: File too large; it takes eight bytes"):
            packed(Chats()).__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_no_more_than_a_chunk_is_in_memory() -> None:
    points = [Point(rule="vllm", definition="tokens", capacity=200, replicas=2, policy="random")]
    with packed(Chats(64)) as short:
        replay(short, points)  # imports what it needs
    tracemalloc.start()
    try:
        with packed(Chats(3_000)) as found:
            replay(found, points)
            peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < found.size / 3
