"""vLLM's block hashes by published vectors, computed with the released `hashing.py` and recorded from the engine."""

from __future__ import annotations

import pytest

from hitrate.caches.block_chain import BlockChainCache
from hitrate.caches.vllm_hash import block_hashes, none_hash

TOKENS = [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_hash_before_the_first_block() -> None:
    assert none_hash().hex() == "9bd96a485ad84efdafb72ee48a1d7a69bcead0f8f0433173941b276b9581eef0"
    assert none_hash("0") != none_hash()


@pytest.mark.parametrize(
    ("extra", "first"),
    [
        ({}, "58d0879dff3800f65f8c5fd449d73048c0f7699dd238a03b84b146b151d55111"),
        ({"cache_salt": ""}, "58d0879dff3800f65f8c5fd449d73048c0f7699dd238a03b84b146b151d55111"),
        ({"cache_salt": "tenantA"}, "e3d46ef8dca6c477b89290b375e534bb18b34595f25ba364f690051e04d19770"),
        ({"adapter": ("ad1", "/p/ad1")}, "34017ae803d9774bc037051698bcc89617264517b552878f0852c5117ade8f3b"),
    ],
)
def test_the_first_block(extra: dict[str, object], first: str) -> None:
    hashes = block_hashes(TOKENS, 4, **extra)  # type: ignore[arg-type]
    assert hashes[0].hex() == first
    assert len(hashes) == 2


def test_the_second_block_follows_from_the_first() -> None:
    hashes = block_hashes(TOKENS, 4)
    assert hashes[1].hex() == "e1bc29393a2da9fd798f35ff04d215f846aee6df4b803ce3d43b57df56b58fb1"
    assert block_hashes([*TOKENS, 9, 10, 11], 4) == hashes  # A block that is not full has none.
    assert block_hashes([9, *TOKENS[1:]], 4)[1] != hashes[1]
    assert block_hashes([1, 2, 3], 4) == []


def test_token_ids_of_every_width() -> None:
    tokens = [0, 23, 24, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**64 - 1]
    hashes = block_hashes(tokens, 1)
    assert len(set(hashes)) == len(tokens)
    with pytest.raises(OverflowError, match="18446744073709551616 does not fit 64 bits"):
        block_hashes([2**64], 1)


def test_they_serve_as_the_keys_of_a_cache() -> None:
    cache = BlockChainCache(block_size=4)
    for salt, cached_tokens in (("a", 0), ("a", 4), ("b", 0)):
        lease = cache.begin_keys(block_hashes(TOKENS, 4, cache_salt=salt), len(TOKENS))
        assert lease is not None and lease.cached_tokens == cached_tokens
        cache.finish(lease)
