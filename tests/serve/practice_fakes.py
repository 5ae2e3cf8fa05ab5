"""A tokenizer of words and a server to ask, for tests without a vocabulary and without sockets."""

from __future__ import annotations

import json
import re
import zlib

from hitrate.caches.block_chain import BlockChainCache
from hitrate.serve.practice.options import PracticeOptions
from hitrate.serve.practice.service import Service


class WordTokenizer:
    """A token a word, with the space before it."""

    name = "words"
    exact = False

    def encode(self, text):
        return [zlib.crc32(word.encode()) for word in re.findall(r"\s*\w+|\s*[^\w\s]|\s+", text)]


def make_service(make_cache=None, **options):
    options = PracticeOptions(**options)
    return Service(options, WordTokenizer(), make_cache or (lambda: BlockChainCache(options.block_size)))


def chat_body(*contents, model="practice", **members):
    """User and assistant take turns, the user first; a dict stands for itself."""
    roles = ("user", "assistant")
    messages = [
        content if isinstance(content, dict) else {"role": roles[index % 2], "content": content}
        for index, content in enumerate(contents)
    ]
    return json.dumps({"model": model, "messages": messages, **members}).encode()


def words(count, start=0):
    return " ".join(f"w{number}" for number in range(start, start + count))
