"""The hash ring of vllm-router's `consistent_hash`: no policy, what finds a replica for a key.

https://github.com/vllm-project/router, src/policies/consistent_hash.rs. A text is hashed with mcrouter's furc_hash to
23 bits (https://github.com/facebook/mcrouter, mcrouter/lib/fbi/hash.c), and these with MurmurHash64A to the ring's 64.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

VIRTUAL_NODES = 160
_SEED = 4193360111
_MULTIPLIER = 0xC6A4A7935BD1E995
_64_BITS = (1 << 64) - 1
_OF_EIGHT_BYTES = _SEED ^ (8 * _MULTIPLIER & _64_BITS)
_FURC_SHIFT = 23
_FURC_TRIES = 32
_FURC_MOST = (1 << 23) - 1


class HashRing:
    """`names` are hashed, so they have to be the router's own to find what it finds: its workers' URLs."""

    def __init__(self, names: Sequence[str], virtual_nodes: int = VIRTUAL_NODES) -> None:
        nodes: dict[int, int] = {}
        for replica, name in enumerate(names):
            nodes.update({ring_hash(f"{name}:{node}"): replica for node in range(virtual_nodes)})
        self._places = sorted(nodes)
        self._replicas = [nodes[place] for place in self._places]

    def find(self, key: str) -> int:
        """The replica of the first node at or behind the key's place."""
        place = bisect_left(self._places, ring_hash(key))
        return self._replicas[place % len(self._replicas)]


def ring_hash(text: str) -> int:
    return murmur64a(_furc(text.encode(), _FURC_MOST).to_bytes(4, "little"), _SEED)


def murmur64a(key: bytes, seed: int) -> int:
    """Austin Appleby's MurmurHash64A (https://github.com/aappleby/smhasher), in the public domain."""
    mixed = seed ^ (len(key) * _MULTIPLIER & _64_BITS)
    whole = len(key) & ~7
    for start in range(0, whole, 8):
        mixed = (mixed ^ _mix(int.from_bytes(key[start : start + 8], "little"))) * _MULTIPLIER & _64_BITS
    if len(key) > whole:
        mixed = (mixed ^ int.from_bytes(key[whole:], "little")) * _MULTIPLIER & _64_BITS
    mixed = (mixed ^ mixed >> 47) * _MULTIPLIER & _64_BITS
    return mixed ^ mixed >> 47


def _mix(word: int) -> int:
    word = word * _MULTIPLIER & _64_BITS
    return (word ^ word >> 47) * _MULTIPLIER & _64_BITS


def _rehashed(word: int) -> int:
    """murmur64a of a word's eight bytes."""
    mixed = (_OF_EIGHT_BYTES ^ _mix(word)) * _MULTIPLIER & _64_BITS
    mixed = (mixed ^ mixed >> 47) * _MULTIPLIER & _64_BITS
    return mixed ^ mixed >> 47


class _Bits:
    """Words of 64 bits, each the hash of the one before, from the lowest bit of the first."""

    def __init__(self, key: bytes) -> None:
        self._word = murmur64a(key, _SEED)
        self._digits = ""

    def take(self, first: int, count: int = 1) -> str:
        """So many of them, in steps, as binary digits."""
        while len(self._digits) <= first + _FURC_SHIFT * (count - 1):
            self._digits += f"{self._word:064b}"[::-1]
            self._word = _rehashed(self._word)
        return self._digits[first : first + _FURC_SHIFT * count : _FURC_SHIFT]


def _furc(key: bytes, buckets: int) -> int:
    """A bucket of so many; one bucket more moves only what it gets."""
    if buckets <= 1:
        return 0
    bits = _Bits(key)
    depth = (buckets - 1).bit_length()
    index = depth
    for _ in range(_FURC_TRIES):
        while bits.take(index) == "0":
            if not depth:
                return 0
            depth -= 1
            index = depth
        index += _FURC_SHIFT
        below = max(0, depth - 1)
        number = int("1" + bits.take(index, below), 2)
        index += _FURC_SHIFT * below
        if number < buckets:
            return number
    return 0
