"""The ring: its hash by published values, its promise by counting."""

from __future__ import annotations

from collections import Counter

import pytest

from hitrate.sim.policies.hash_ring import HashRing, murmur64a


@pytest.mark.parametrize(
    ("key", "seed", "expected"),
    [
        (b"", 0, 0),
        (b"", 1, 0xC6A4A7935BD064DC),
        (b"hello", 0, 0x1E68D17C457BF117),
        (b"hello, world", 0, 0x9659AD0699A8465F),
    ],
)
def test_murmur(key: bytes, seed: int, expected: int) -> None:
    assert murmur64a(key, seed) == expected


def test_every_replica_gets_about_its_share() -> None:
    ring = HashRing([f"http://10.0.0.{number}:8000" for number in range(4)])

    counts = Counter(ring.find(f"session {number}") for number in range(4000))

    assert sorted(counts) == [0, 1, 2, 3]
    assert max(counts.values()) < 1.3 * 1000 and min(counts.values()) > 0.7 * 1000


def test_one_replica_more_moves_only_what_it_gets() -> None:
    names = [f"http://10.0.0.{number}:8000" for number in range(5)]
    before, after = HashRing(names[:4]), HashRing(names)

    moved = [after.find(key) for key in map(str, range(2000)) if after.find(key) != before.find(key)]

    assert set(moved) == {4}
    assert 0.1 < len(moved) / 2000 < 0.3
