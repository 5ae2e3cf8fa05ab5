from __future__ import annotations

import errno
import random
import tracemalloc

import pytest

from hitrate.errors import HitrateError
from hitrate.logs.archive import BodyArchive

BODIES = [b"", b"first", b"\xff\x00" * 40, b"", b"x" * 1000, b"last"]


@pytest.mark.parametrize("in_memory", [1, 50, 1 << 20])
def test_every_body_comes_back_whenever_it_is_asked_for(in_memory):
    with BodyArchive(in_memory) as archive:
        for index, body in enumerate(BODIES):
            assert archive.append(body) == index
            earlier = random.Random(index).randint(0, index)
            assert archive[earlier] == BODIES[earlier]
        assert [archive[index] for index in range(len(archive))] == BODIES


@pytest.mark.parametrize("index", [-1, 1, 2**40])
def test_an_index_that_was_not_given_out(index):
    with BodyArchive() as archive:
        archive.append(b"only")
        with pytest.raises(IndexError, match=f"no body {index} in an archive of 1"):
            archive[index]


def test_the_bodies_do_not_stay_in_memory():
    with BodyArchive(1 << 16) as archive:
        tracemalloc.start()
        for number in range(400):
            archive.append(b"%d" % number * 20_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert archive[399] == b"399" * 20_000
    assert peak < 2 << 20


class FullDisk:
    def write(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    def seek(self, place):
        raise OSError(errno.EIO, "Input/output error")

    def close(self):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_said_in_one_line(monkeypatch):
    archive = BodyArchive()
    archive.append(b"kept")
    monkeypatch.setattr(archive, "_file", FullDisk())
    with pytest.raises(HitrateError, match=r"request bodies cannot be written \(No space left on device\)$") as raised:
        archive.append(b"more")
    assert "TMPDIR" in raised.value.hint
    with pytest.raises(HitrateError, match=r"cannot be read \(Input/output error\)"):
        archive[0]
    assert len(archive) == 1


def test_closing_twice_does_no_harm():
    archive = BodyArchive(1)
    archive.append(b"a body")
    archive.close()
    archive.close()
