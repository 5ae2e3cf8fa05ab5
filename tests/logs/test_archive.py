from __future__ import annotations

import errno
import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.errors import HitrateError
from hitrate.logs.archive import BodyArchive, shared_front

BODIES = [b"", b"first", b"\xff\x00" * 40, b"", b"x" * 1000, b"last"]


@pytest.mark.parametrize("in_memory", [1, 50, 1 << 20])
def test_every_body_comes_back_whenever_it_is_asked_for(in_memory):
    with BodyArchive(in_memory) as archive:
        for index, body in enumerate(BODIES):
            assert archive.append(body) == index
            earlier = random.Random(index).randint(0, index)
            assert archive[earlier] == BODIES[earlier]
        assert [archive[index] for index in range(len(archive))] == BODIES


def test_a_body_that_begins_as_an_earlier_one_is_kept_from_there_on():
    text = "".join(str(number) for number in range(2000)).encode()
    bodies = [text[:1500] + b"]}"]
    like: list[int | None] = [None]
    for step in range(200):  # a conversation, with another one that begins like it now and then
        other = step % 50 == 49
        like.append(0 if other else len(bodies) - 1)
        bodies.append((text[:1200] + b"other" if other else bodies[-1][:-2]) + b"%d, " % step * 40 + b"]}")
    bodies.append(b"short")
    like.append(3)
    with BodyArchive(1, at_hand=1 << 20) as archive:
        for body, earlier in zip(bodies, like, strict=True):
            archive.append(body, earlier)
        archive._newest.clear()
        assert [archive[index] for index in range(len(archive))] == bodies
        assert archive._end < sum(map(len, bodies)) / 10


def test_what_is_known_of_the_front_is_not_looked_for():
    with BodyArchive(1) as archive:
        archive.append(b"one conversation]}")
        archive.append(b"one conversation, and on]}", 0, 16)
        assert [archive[0], archive[1]] == [b"one conversation]}", b"one conversation, and on]}"]
        assert archive._end == len(b"one conversation]}, and on]}")


def test_the_newest_bodies_are_at_hand():
    with BodyArchive(1, at_hand=100) as archive:
        for number in range(20):
            archive.append(b"%d" % number * 30)
            held = [*archive._less_new, *archive._newest]
            assert held[-2:] == list(range(max(0, number - 1), number + 1))
            assert sum(len(archive[index]) for index in held) <= 240
        assert [archive[index] for index in range(20)] == [b"%d" % number * 30 for number in range(20)]


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40), st.integers(0, 3))
def test_what_two_bodies_share_in_front(front, one, other, times):
    first, second = front * 20 * times + one, front * 20 * times + other
    shared = shared_front(first, second)
    assert first[:shared] == second[:shared] and shared <= min(len(first), len(second))
    assert shared >= len(front) * 20 * times - 1024


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
        pass

    def read(self, length):
        raise OSError(errno.EIO, "Input/output error")

    def close(self):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_said_in_one_line(monkeypatch):
    archive = BodyArchive(1)
    archive.append(b"written")
    archive.append(b"kept")
    file = archive._file
    monkeypatch.setattr(archive, "_file", FullDisk())
    with pytest.raises(HitrateError, match=r"request bodies cannot be written \(No space left on device\)$") as raised:
        archive.append(b"more")
    assert "TMPDIR" in raised.value.hint
    with pytest.raises(HitrateError, match=r"cannot be read \(Input/output error\)"):
        archive[0]
    assert len(archive) == 2
    monkeypatch.setattr(archive, "_file", file)  # there is space again
    assert archive.append(b"more") == 2
    assert [archive[index] for index in range(3)] == [b"written", b"kept", b"more"]


def test_closing_twice_does_no_harm():
    archive = BodyArchive(1)
    archive.append(b"a body")
    archive.close()
    archive.close()
