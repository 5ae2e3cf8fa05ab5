"""What a change costs: the text behind it that both prompts have."""

from __future__ import annotations

import json
from typing import Any

import pytest
from diff_bodies import answer, call, chat, system, tool

from hitrate.explain.kept import kept_behind
from hitrate.targets.dialects import dialect


def prompt(body: dict[str, Any]):
    return dialect("openai-chat").canonical(json.dumps(body).encode())


RESULT = {"role": "tool", "content": "four rows", "tool_call_id": "call_1"}


@pytest.mark.parametrize(
    ("was", "now", "kept"),
    [
        pytest.param(chat("one", answer("two")), chat("one", answer("two"), "three"), 0, id="grown"),
        pytest.param(chat(system("A"), "one"), chat(system("B"), "one"), 3, id="behind the system prompt"),
        pytest.param(chat(system("A"), "one"), chat(system("B"), "one", "one"), 3, id="as often as in both"),
        pytest.param(chat(system("A"), "one"), chat(system("B"), answer("one")), 0, id="said by another"),
        pytest.param(
            chat(call("{}"), RESULT),
            chat(call("{}", "call_2"), {**RESULT, "tool_call_id": "call_2"}),
            12,
            id="other ids",
        ),
        pytest.param(chat(tools=[tool("a"), tool("b")]), chat(tools=[tool("b"), tool("a")]), 2 * 108, id="moved"),
    ],
)
def test_code_points_behind_the_front_that_both_have(was: dict[str, Any], now: dict[str, Any], kept: int):
    assert kept_behind(prompt(was), prompt(now)) == kept
