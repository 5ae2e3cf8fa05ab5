from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from byte_pairs import encode

from hitrate.engines.vocabulary import BYTE_CHARACTERS, SPECIAL_TOKENS, VOCABULARY_SIZE, load_vocabulary

REPOSITORY = Path(__file__).parents[2]

PROSE = """You are the support assistant of an online shop that sells coffee machines and spare parts. Answer in the
language of the customer, stay polite, and never promise a delivery date that the warehouse has not confirmed. Before
you look up an order, ask for the order number and the email address that was used for the purchase. Refunds are
possible within thirty days after delivery when the product is complete and undamaged. A damaged product is replaced at
no cost, but only after the customer has sent at least one photo."""

TOOL = """{"type": "function", "function": {"name": "get_order", "description": "Look up one order by its number.",
"parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}}}"""


def test_4096_different_tokens_with_the_special_ones_last():
    tokens = load_vocabulary().tokens
    assert len(tokens) == len(set(tokens)) == VOCABULARY_SIZE == 4096
    assert tokens[:256] == BYTE_CHARACTERS
    assert tokens[-3:] == SPECIAL_TOKENS == ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def test_every_merge_joins_two_tokens_into_a_third():
    vocabulary = load_vocabulary()
    known = set(vocabulary.tokens)
    for merge in vocabulary.merges:
        left, right = merge.split(" ")
        assert {left, right, left + right} <= known, merge


def test_bytes_and_characters_are_paired_as_gpt2_pairs_them():
    assert [BYTE_CHARACTERS[byte] for byte in b"A \n\x00\x7f\xad\xff"] == ["A", "Ġ", "Ċ", "Ā", "ġ", "Ń", "ÿ"]
    assert len(set(BYTE_CHARACTERS)) == 256


@pytest.mark.parametrize(("text", "least"), [(PROSE, 3.6), (TOOL, 3.1)])
def test_characters_per_token(text: str, least: float):
    assert len(text) / len(encode(load_vocabulary(), text)) >= least


def test_a_reply_of_words_is_read_back_as_the_tokens_it_was_made_of():
    vocabulary = load_vocabulary()
    words = [vocabulary.tokens[number] for number in vocabulary.word_ids]
    assert len(words) > 1500
    assert encode(vocabulary, "".join(words).replace("Ġ", " ")) == words


def test_training_again_gives_the_shipped_file():
    subprocess.run([sys.executable, REPOSITORY / "tools" / "train_vocabulary.py", "--check"], check=True)
