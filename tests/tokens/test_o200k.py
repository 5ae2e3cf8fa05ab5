"""Expected ids were computed with tiktoken's own `get_encoding("o200k_base")` definition."""

import gzip
import hashlib
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.errors import HitrateError, UsageError
from hitrate.tokens import tokenizer
from hitrate.tokens.o200k import SHA256, O200k, _encoding, parse_vocabulary

O200K = O200k()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        ("hello world", [24912, 2375]),
        ("<|endoftext|>", [27, 91, 419, 1440, 919, 91, 29]),
        ("12345", [7633, 2548]),
        ("Don't  stop\n\n x", [31559, 220, 5666, 279, 1215]),
        ("\ud83d", [3251]),
        ("�", [3251]),
    ],
)
def test_encode(text, ids):
    assert list(O200K.encode(text)) == ids


@given(text=st.text(max_size=60))
def test_tokens_decode_to_the_text(text):
    assert _encoding().decode(O200K.encode(text)) == text


@pytest.mark.parametrize("text", [" " * 1_200_000 + "x", "ab " * 200_000])
def test_texts_beyond_one_piece(text):
    assert _encoding().decode(O200K.encode(text)) == text


def test_vocabulary_is_the_published_one():
    data = resources.files("hitrate.tokens").joinpath("data")
    packed = data.joinpath("o200k_base.tiktoken.gz").read_bytes()
    content = gzip.decompress(packed)
    assert hashlib.sha256(content).hexdigest() == SHA256
    sums = dict(reversed(line.split()) for line in data.joinpath("SHA256SUMS").read_text().splitlines())
    assert sums == {
        "o200k_base.tiktoken.gz": hashlib.sha256(packed).hexdigest(),
        "o200k_base.tiktoken": SHA256,
    }
    assert len(parse_vocabulary(content)) == 199_998


def test_a_damaged_vocabulary_is_refused():
    with pytest.raises(HitrateError, match=r"o200k_base.tiktoken.gz is damaged"):
        parse_vocabulary(b"IQ== 0\n")


def test_tokenizers_are_found_by_name_and_shared():
    found = tokenizer("o200k")
    assert (found.name, found.exact) == ("o200k", True)
    assert tokenizer("o200k") is found
    with pytest.raises(UsageError, match="no tokenizer called 'p50k'; known: o200k"):
        tokenizer("p50k")
