import re

import pytest

from hitrate.caches.rules import RULE_SETS
from hitrate.explain.evidence import Facts
from hitrate.explain.server import (
    argument,
    first_line,
    has_slots,
    log_lines,
    own_engine,
    pool_tokens,
    slots,
    without_host_cache,
)


@pytest.mark.parametrize(
    ("server", "count", "off"),
    [
        ({"engine": "llama-server", "args": "-np 1 --cache-ram 0"}, 1, True),
        ({"engine": "llama-server", "args": "--parallel=4 -cram 1024"}, 4, False),
        ({"engine": "llama-server", "args": ["--parallel", "2", "-c", "8192"]}, 2, None),
        ({"engine": "llama-server", "args": {"--parallel": 3, "--cache-ram": 0}}, 3, True),
        ({"engine": "llama-server", "command": "llama-server -m 'a b.gguf' -np 8"}, 8, None),
        ({"engine": "ollama", "args": "OLLAMA_NUM_PARALLEL=2"}, 2, None),
        ({"engine": "ollama"}, 1, None),
        ({"engine": "llama-server", "slots": 6}, 6, None),
        ({"engine": "llama-server", "n_parallel": 1, "cache_ram": 0}, 1, True),
        ({"engine": "llama-server", "flags": "-np 2"}, 2, None),
        ({"engine": "llama-server", "args": "-np"}, None, None),
        ({"engine": "llama-server", "args": "-np auto"}, None, None),
        ({"engine": "llama-server", "args": "an 'open quote -np 2"}, 2, None),
        ({"engine": "llama-server"}, None, None),
    ],
)
def test_slots_and_the_store_behind_them(server, count, off):
    facts = Facts(server=server)
    assert has_slots(facts)
    assert (slots(facts), without_host_cache(facts)) == (count, off)


@pytest.mark.parametrize(
    ("words", "names", "value"),
    [
        ("--block-size 32 --port 8000", ("--block-size",), "32"),
        ("--block-size=32", ("--block-size",), "32"),
        ("--block-size 16 --block-size 32", ("--block-size",), "32"),
        ("--swa-full --port 1", ("--swa-full",), ""),
        ("--port 1", ("--block-size",), None),
        ("", ("--block-size",), None),
    ],
)
def test_arguments(words, names, value):
    assert argument({"args": words}, names) == value


@pytest.mark.parametrize(
    ("facts", "own", "slotted"),
    [
        (Facts(), False, False),
        (Facts(rule=RULE_SETS["openai-chat-before-gpt-5.6"]), False, False),
        (Facts(rule=RULE_SETS["vllm-2026-11"]), True, False),
        (Facts(rule=RULE_SETS["llama.cpp-2026-10"]), True, True),
        (Facts(server={"engine": "vllm 0.33"}), True, False),
        (Facts(server={"engine": "LM Studio"}), True, True),
    ],
)
def test_whose_engine(facts, own, slotted):
    assert (own_engine(facts), has_slots(facts)) == (own, slotted)


@pytest.mark.parametrize(
    ("server", "rules", "tokens"),
    [
        ({"engine": "vllm", "log": ["INFO GPU KV cache size: 43,520 tokens"]}, {}, 43520),
        ({"engine": "sglang", "log": "max_total_num_tokens=43520, chunked_prefill_size=8192"}, {}, 43520),
        ({"engine": "vllm", "capacity_tokens": 1000}, {}, 1000),
        ({"engine": "vllm"}, {"capacity_blocks": 100}, 1600),
        ({"engine": "llama-server", "args": "-c 8192"}, {}, 8192),
        ({"engine": "vllm", "args": "-c 8192"}, {}, None),
        ({}, {}, None),
    ],
)
def test_how_much_the_cache_holds(server, rules, tokens):
    assert pool_tokens(Facts(granularity=16, server=server, rules=rules)) == tokens


@pytest.mark.parametrize(
    ("server", "lines"),
    [
        ({"log": "a\nb"}, ["a", "b"]),
        ({"log": ["a", {"line": "b"}, {"message": "c"}, 7]}, ["a", "b", "c", "7"]),
        ({"stderr": "a", "log_lines": ["b"]}, ["b", "a"]),
        ({"log": None, "engine": "x"}, []),
    ],
)
def test_lines_of_the_engines_own_log(server, lines):
    assert log_lines(server) == lines


def test_a_line_is_cut_to_what_fits_a_sentence():
    assert first_line({"log": ["x", "  evict " + "y" * 300]}, re.compile("evict")) == "evict " + "y" * 154
    assert first_line({"log": ["x"]}, re.compile("evict")) is None
