from __future__ import annotations

import importlib.util
import sys
from hashlib import blake2b
from types import SimpleNamespace

import pytest

from hitrate.core.prompt import CanonicalPrompt, Segment
from hitrate.targets.dialects import prompt_parts
from hitrate.targets.dialects.prompt_parts import parts_of, text_part


def imported_with_hashes_of(width, monkeypatch):
    monkeypatch.setattr(sys, "hash_info", SimpleNamespace(width=width))
    module = importlib.util.module_from_spec(prompt_parts.__spec__)
    prompt_parts.__spec__.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("width", "name"), [(64, "hash"), (128, "hash"), (32, "_hash_twice")])
def test_a_hash_of_too_few_bits_is_taken_twice(width, name, monkeypatch):
    assert imported_with_hashes_of(width, monkeypatch)._hash.__name__ == name


def test_two_hashes_tell_apart_what_one_does_not(monkeypatch):
    def hash_of_a_byte(texts):
        return blake2b(repr(texts).encode(), digest_size=1).digest()[0]

    monkeypatch.setattr(prompt_parts, "hash", hash_of_a_byte, raising=False)
    texts = [(("user", "a"), ("user", str(number))) for number in range(100)]
    assert len(set(map(hash_of_a_byte, texts))) == 85
    assert len(set(map(prompt_parts._hash_twice, texts))) == 100


@pytest.mark.parametrize("hashed", [hash, prompt_parts._hash_twice])
def test_a_text_is_the_same_part_however_it_was_read(hashed, monkeypatch):
    monkeypatch.setattr(prompt_parts, "_hash", hashed)
    (part,) = parts_of(CanonicalPrompt((Segment("user", "/messages/0/content", 0, 0, "hello"),)))
    assert part == text_part("user", "hello")
    assert part.digest not in {text_part("tool", "hello").digest, text_part("user", "hellO").digest}
