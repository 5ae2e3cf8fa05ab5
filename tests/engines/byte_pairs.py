"""A slow, plain byte-level BPE encoder to hold the vocabulary against; `regex` comes with tiktoken."""

from __future__ import annotations

import itertools

import regex

from hitrate.engines.vocabulary import BYTE_CHARACTERS, Vocabulary

# The "smollm" pre-tokeniser of llama.cpp: single digits, then GPT-2's pattern.
PRETOKENS = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def encode(vocabulary: Vocabulary, text: str) -> list[str]:
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(vocabulary.merges)}
    tokens: list[str] = []
    for pretoken in PRETOKENS.findall(text):
        word = [BYTE_CHARACTERS[byte] for byte in pretoken.encode()]
        while pairs := [(ranks[pair], place) for place, pair in enumerate(itertools.pairwise(word)) if pair in ranks]:
            _, place = min(pairs)
            word[place : place + 2] = ["".join(word[place : place + 2])]
        tokens += word
    return tokens
