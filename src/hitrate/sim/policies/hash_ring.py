"""The hash ring of vllm-router's `consistent_hash`: no policy, what finds a replica for a key.

https://github.com/vllm-project/router, src/policies/consistent_hash.rs. A text is hashed with mcrouter's furc_hash to
23 bits (https://github.com/facebook/mcrouter, mcrouter/lib/fbi/hash.c), and these with MurmurHash64A to the ring's 64.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

VIRTUAL_NODES = 160
_SEED = 4193360111
_MULTIPLIER = 0xC6A4A7935BD1E995
_64_BITS = (1 << 64) - 1
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


def _bits(key: bytes) -> Iterator[int]:
    """Words of 64 bits, each the hash of the one before."""
    word = murmur64a(key, _SEED)
    while True:
        yield word
        word = murmur64a(word.to_bytes(8, "little"), _SEED)


def _furc(key: bytes, buckets: int) -> int:
    """A bucket of so many; one bucket more moves only what it gets."""
    if buckets <= 1:
        return 0
    words: list[int] = []
    source = _bits(key)

    def bit(index: int) -> int:
        while len(words) <= index >> 6:
            words.append(next(source))
        return words[index >> 6] >> (index & 63) & 1

    depth = (buckets - 1).bit_length()
    index = depth
    for _ in range(_FURC_TRIES):
        while not bit(index):
            if not depth:
                return 0
            depth -= 1
            index = depth
        index += _FURC_SHIFT
        number = 1
        for _ in range(depth - 1):
            number = number << 1 | bit(index)
            index += _FURC_SHIFT
        if number < buckets:
            return number
    return 0
