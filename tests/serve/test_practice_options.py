"""Options: what cannot be, limits that follow, and the way over a command line and back."""

from __future__ import annotations

import shlex

import click
import pytest
from click.testing import CliRunner

from hitrate.caches.breakpoints import Mark
from hitrate.caches.rules import RULE_SETS
from hitrate.cli.practice_options import practice_options, to_arguments, to_options
from hitrate.cli.serve import parse_model, serve
from hitrate.errors import UsageError
from hitrate.serve.practice.caches import best_case_cache, cache_maker, prompt_limit, rule_text
from hitrate.serve.practice.faults import Fault
from hitrate.serve.practice.options import PracticeModel, PracticeOptions
from hitrate.serve.practice.vendors import vendor_names


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({}, None),
        ({"context_limit": 500}, 500),
        ({"rule": "slots", "context_tokens": 8192, "slots": 4}, 2048),
        ({"rule": "llama.cpp-2026-10", "context_tokens": 8192}, 8192),
        ({"capacity_tokens": 100}, 96),
        ({"capacity_tokens": 100, "rule": "longest-prefix"}, 100),
        ({"capacity_tokens": 100, "replicas": 3, "shared": True}, 288),
        ({"capacity_tokens": 100, "rule": "none"}, None),
        ({"capacity_tokens": 100, "context_limit": 50}, 50),
    ],
)
def test_limit_of_prompt_and_reply(options, limit):
    found = prompt_limit(PracticeOptions(**options))
    assert limit == (found and found.tokens)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "block-chain (block 16)"),
        ({"block_size": 64, "ttl_s": 300}, "block-chain (block 64, 300 s)"),
        (
            {"rule": "openai-chat-before-gpt-5.6"},
            "openai-chat-before-gpt-5.6 (as of 2026-11, block 128, at least 1,024 tokens)",
        ),
        ({"rule": "longest-prefix"}, "longest-prefix (page 1)"),
        ({"rule": "slots", "context_tokens": 8192}, "slots (4 slots, context 2,048)"),
        ({"rule": "none"}, "none"),
        ({"rule": "anthropic-2026-11"}, "anthropic-2026-11 (at least 1,024 tokens, look-back 20)"),
        ({"rule": "deepseek-2026-11"}, "deepseek-2026-11 (at least 64 tokens, written after 6 s)"),
        ({"rule": "deepseek-2026-11", "write_delay_ms": 0.0}, "deepseek-2026-11 (at least 64 tokens)"),
    ],
)
def test_numbers_left_out_are_the_rules_own(options, text):
    assert rule_text(PracticeOptions(**options)) == text


KEYWORDS = {
    "marked": {"marks": [Mark(0)]},
    "exact": {},
    "objects": {"name": "opening"},
}


@pytest.mark.parametrize("rule", [*RULE_SETS, "none"])
def test_every_rule_serves_a_resend_and_forgets_it_at_reset(rule):
    cache = cache_maker(PracticeOptions(rule=rule))()
    prompt = range(3000)
    keywords = {} if rule == "none" else KEYWORDS.get(RULE_SETS[rule].model, {})
    if "name" in keywords:
        cache.create("opening", prompt[:2950])
    lease = cache.begin(prompt, **keywords)
    cache.publish(lease)
    cache.finish(lease, (7, 8, 9))
    served = cache.peek(prompt, **keywords)
    # DeepSeek's units end where a reply ends and where its input ends: a resend is a whole unit.
    assert served == 0 if rule == "none" else 2900 < served <= 3000
    cache.reset()
    assert "name" in keywords or cache.peek(prompt, **keywords) == 0


def test_the_best_case_has_no_capacity():
    options = PracticeOptions(capacity_tokens=64, replicas=3)
    for cache, served in ((cache_maker(options)(), 0), (best_case_cache(options), 48)):
        for start in range(0, 640, 64):
            cache.finish(cache.begin(range(start, start + 64)))
        assert cache.peek(range(64)) == served


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"block_size": 0}, "--block-size is 0, it has to be at least 1"),
        ({"replicas": -1}, "--replicas is -1"),
        ({"jitter": float("nan")}, "--jitter is nan"),
        ({"prefill_rate": 0.0}, "--prefill-rate is 0.0, it has to be above 0"),
        ({"ttl_s": -1.0}, "--ttl-s is -1.0"),
        ({"capacity_tokens": 0}, "--capacity-tokens is 0"),
        ({"rule": "magic"}, "no cache rule is called 'magic'; known: block-chain, .*, none"),
        ({"routing": "magic"}, "routing policy 'magic' is not known"),
        ({"models": ()}, "at least one --model"),
    ],
)
def test_what_cannot_be(options, says):
    with pytest.raises(UsageError, match=says):
        PracticeOptions(**options).check()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rule": "slots", "shared": True, "replicas": 2}, "--shared cannot go with --rule slots"),
        ({"rule": "slots", "ttl_s": 3.0}, "--ttl-s cannot go with --rule slots"),
        ({"rule": "slots", "capacity_tokens": 500}, "--capacity-tokens cannot go with"),
        ({"rule": "longest-prefix", "minimum_tokens": 9}, "--minimum-tokens cannot go with"),
    ],
)
def test_what_a_rule_has_no_use_for(options, says):
    with pytest.raises(UsageError, match=says):
        cache_maker(PracticeOptions(**options))


def read(*arguments):
    """The values that a command with the practice options gets from a command line."""
    values = {}
    command = click.command()(practice_options(lambda **given: values.update(given)))
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return values


def test_defaults_are_those_of_the_options_and_need_no_arguments():
    values = read()
    assert to_options(values) == PracticeOptions()
    assert to_arguments(values) == []


def test_arguments_come_back_as_they_went():
    arguments = shlex.split(
        "--rule slots --block-size 64 --minimum-tokens 1024 --slots 2 --context-tokens 4096 --capacity-tokens 9000"
        " --ttl-s 2.5 --write-delay-ms 20.0 --replicas 18 --routing cache-aware:imbalance=8 --shared"
        " --prefill-rate 1000.0 --decode-rate 50.0 --base-ms 5.0 --jitter 0.1 --practice-seed 7"
        " --reply-tokens 4 --tool-calls --context-limit 3000 --rpm-limit 60 --fault 429:every=5 --fault crlf"
    )
    values = read(*arguments)
    assert to_arguments(values) == arguments
    assert to_options(values, port=0) == PracticeOptions(
        rule="slots",
        block_size=64,
        minimum_tokens=1024,
        slots=2,
        context_tokens=4096,
        capacity_tokens=9000,
        ttl_s=2.5,
        write_delay_ms=20.0,
        replicas=18,
        routing="cache-aware:imbalance=8",
        shared=True,
        prefill_rate=1000.0,
        decode_rate=50.0,
        base_ms=5.0,
        jitter=0.1,
        seed=7,
        reply_tokens=4,
        tool_calls=True,
        context_limit=3000,
        rpm_limit=60,
        faults=(Fault("429", every=5), Fault("crlf")),
        port=0,
    )


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("x", PracticeModel("x")),
        ("llama3:8b", PracticeModel("llama3:8b")),
        ("llama3:8b:input=0.3,cached=0.006", PracticeModel("llama3:8b", 0.3, 0.006)),
        ("x:write=0,output=2", PracticeModel("x", None, None, 0.0, 2.0)),
    ],
)
def test_models(text, model):
    assert parse_model(text) == model


@pytest.mark.parametrize("text", ["x:input=cheap", "x:price=1", "x:input=-1", ":input=1", "x:input=nan"])
def test_models_that_cannot_be_read(text):
    with pytest.raises(UsageError, match="--model"):
        parse_model(text)


def test_the_names_that_can_be_imitated_are_listed():
    result = CliRunner().invoke(serve, ["--as", "list"])
    assert result.exit_code == 0
    lines = dict(line.split(None, 1) for line in result.output.splitlines())
    assert lines["anthropic"] == "anthropic-messages; anthropic-2026-11"
    assert list(lines) == vendor_names()


def imitated(monkeypatch, *arguments):
    """The options that `hitrate serve` would run with."""
    found = []
    monkeypatch.setattr("hitrate.serve.practice.server.run_process", lambda options, ready, **_: found.append(options))
    CliRunner().invoke(serve, arguments, catch_exceptions=False)
    return found[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--as crusoe", {"rule": "block-chain", "block_size": 64, "rpm_limit": 60, "shared": True}),
        # A value that happens to be the default was given all the same.
        ("--as crusoe --rule block-chain --rpm-limit 500", {"block_size": 16, "rpm_limit": 500, "shared": True}),
        ("--as dynamo --replicas 1 --routing random", {"replicas": 1, "routing": "random", "rule": "vllm-2026-11"}),
        (
            "--as anthropic --model claude-haiku-4-5",
            {"minimum_tokens": 4096, "models": (PracticeModel("claude-haiku-4-5"),)},
        ),
        ("--as vllm --cache-report", {"cache_report": True, "imitates": "vllm"}),
        ("", {"imitates": None, "rule": "block-chain", "block_size": 16}),
    ],
)
def test_what_stands_on_the_command_line_wins_over_the_preset(monkeypatch, arguments, expected):
    options = imitated(monkeypatch, *arguments.split())
    assert {name: getattr(options, name) for name in expected} == expected


def test_more_replicas_than_any_fleet_has_are_refused():
    outcome = CliRunner().invoke(serve, ["--replicas", "999999999999"])

    assert outcome.exit_code == 2
    assert "999999999999 is not in the range 1<=x<=10000" in outcome.output
