"""A buffered stream whose end is damaged."""

from __future__ import annotations

import io

import pytest

from hitrate.logs.buffered import UpToDamage


class Damaged(io.RawIOBase):
    """So many pieces, and then an error however often one asks."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        if not self._pieces:
            raise EOFError("cut off")
        piece = self._pieces.pop(0)
        buffer[: len(piece)] = piece
        return len(piece)


@pytest.mark.parametrize(("sizes", "pieces"), [((8,), [b"abcde"]), ((2, 8), [b"ab", b"cde"]), ((5,), [b"abcde"])])
def test_what_came_before_the_damage_comes_first(sizes: tuple[int, ...], pieces: list[bytes]) -> None:
    stream = UpToDamage(Damaged(b"ab", b"cd", b"e"), 4)

    assert [stream.read(size) for size in sizes] == pieces
    for _ in range(2):
        with pytest.raises(EOFError, match="cut off"):
            stream.read(8)


def test_a_stream_in_order_ends() -> None:
    stream = UpToDamage(io.BufferedReader(io.BytesIO(b"abc")), 4)

    assert (stream.read(8), stream.read(8)) == (b"abc", b"")
