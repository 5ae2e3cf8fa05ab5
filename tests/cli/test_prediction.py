"""What is expected of calls to vendors whose tokens are not told: by the rule of the vendor, in the vendor's counts."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from hitrate.cli.prediction import predict
from hitrate.cli.started import Started
from hitrate.core.model import Call, Reply, Timing, Usage
from hitrate.targets.dialects.openai_chat import OpenAIChat
from hitrate.targets.presets import load

OPENING = "Answer in one word. " * 500


def call(at: float, prompt_tokens: int, *texts: str) -> Call:
    """Questions and answers in turns, the last one asked now; a word of the reply took no time."""
    roles = ("user", "assistant")
    body = {"messages": [{"role": roles[index % 2], "content": text} for index, text in enumerate(texts)]}
    return Call(
        target="t",
        dialect="openai-chat",
        model="m",
        session="s",
        body=json.dumps(body).encode(),
        status=200,
        reply=Reply(message={"role": "assistant", "content": "Yes."}, text="Yes."),
        usage=Usage(prompt_tokens=prompt_tokens),
        timing=Timing(at=at, sent_at_s=at, ttft_s=0.1, total_s=0.2),
    )


def expected(name: str, *calls: Call, **settings: object) -> list[int | None]:
    target = replace(load(name), base_url="http://127.0.0.1:1/v1")
    made = predict(calls, Started(target=target, key=None), OpenAIChat(), None, settings)
    assert made.expectation.rule_set is not None and made.expectation.rule_set.startswith(f"{name}-2026-11 (")
    return [wish.cached_tokens for wish in made.expected]


@pytest.mark.parametrize(("again", "cached"), [((), 3001), (("Yes.", "Go on."), 2816)])
def test_moonshot_serves_the_very_same_prompt_whole_and_others_in_chunks(again: tuple[str, ...], cached: int) -> None:
    tokens = 3001 + 10 * len(again)
    assert expected("moonshot", call(0.0, 3001, OPENING), call(1.0, tokens, OPENING, *again)) == [0, cached]
    assert expected("moonshot", call(0.0, 3001, OPENING), call(1.0, 3001, OPENING), whole_prompts=False) == [0, 2816]


def test_deepseek_finds_what_was_written_six_seconds_ago() -> None:
    turns = [call(at, 3001, OPENING) for at in (0.0, 3.0, 10.0)]
    assert expected("deepseek", *turns)[:2] == [0, 0]
    grown = call(10.0, 3021, OPENING, "Yes.", "Go on.")
    [_, found] = expected("deepseek", call(0.0, 3001, OPENING), grown)
    assert found is not None and 2990 < found <= 3010


def test_deepseek_serves_an_opening_to_the_third_call() -> None:
    calls = [
        call(10.0 * number, 3011, f"{OPENING} {word} one?") for number, word in enumerate(("Which", "What", "Why"))
    ]
    first, second, third = expected("deepseek", *calls)
    assert (first, second) == (0, 0) and third is not None and third > 2900
