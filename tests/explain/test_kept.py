"""What a change costs: the text behind it that both prompts have."""

from __future__ import annotations

import json
from typing import Any

import pytest
from diff_bodies import answer, call, chat, system, tool
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core.prompt import CanonicalPrompt, Segment
from hitrate.explain import kept
from hitrate.explain.kept import kept_behind, share_in_common, tools_in_common
from hitrate.targets.dialects import dialect


def prompt(body: dict[str, Any]):
    return dialect("openai-chat").canonical(json.dumps(body).encode())


RESULT = {"role": "tool", "content": "four rows", "tool_call_id": "call_1"}
LONG = "Answer in one short sentence, and name the depot. " * 3


@pytest.mark.parametrize(
    ("was", "now", "characters"),
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
        pytest.param(
            chat(system(f"It is 9:14. {LONG}"), tools=[tool("a"), tool("b")]),
            chat(system(f"It is 9:15. {LONG}"), tools=[tool("b"), tool("a")]),
            2 * 108 + len(f"It is 9:1. {LONG}"),
            id="and a clock behind",
        ),
        pytest.param(
            chat(tools=[tool("a", x={}, y={}), tool("b")]),
            chat(tools=[tool("a", y={}, x={}), tool("b")]),
            108 + 121,
            id="members of a schema in another order",
        ),
        pytest.param(
            chat(system(f"It is 9:14. {LONG}"), tools=[tool("a", x={}, y={})]),
            chat(system(f"It is 9:15. {LONG}"), tools=[tool("a", y={}, x={})]),
            121 + len(f"It is 9:1. {LONG}"),
            id="members in another order and a clock behind",
        ),
        pytest.param(chat(system("A"), LONG), chat(system("B"), LONG.lower()), 0, id="another text behind"),
        pytest.param(chat(system(f"A {LONG}")), chat(system(f"B {LONG}")), 0, id="where they part"),
    ],
)
def test_code_points_behind_the_front_that_both_have(was: dict[str, Any], now: dict[str, Any], characters: int):
    assert kept_behind(prompt(was), prompt(now)) == characters


@pytest.mark.parametrize(
    ("was", "now", "tools", "share"),
    [
        pytest.param(["a", "b"], ["b", "a"], 1.0, 1.0, id="moved"),
        pytest.param(["a", "b", "c", "d"], ["a", "b", "d"], 0.75, 1.0, id="one gone"),
        pytest.param(["a", "b"], ["c", "d"], 0.0, 0.41, id="others"),
        pytest.param([], ["a"], 0.0, 1.0, id="none"),
    ],
)
def test_prompts_side_by_side(was: list[str], now: list[str], tools: float, share: float):
    prompts = [prompt(chat(system(LONG), tools=[tool(name) for name in names])) for names in (was, now)]
    assert (tools_in_common(*prompts), round(share_in_common(*prompts), 2)) == (tools, share)


def test_prompts_without_text_have_nothing_in_common():
    assert (tools_in_common(prompt(chat()), prompt(chat())), share_in_common(prompt(chat()), prompt(chat()))) == (0, 0)


KINDS = st.sampled_from(["system", "user", "assistant", "tools", "schema"])
TEXTS = st.sampled_from(["", "a", LONG, f"A {LONG}", f"{LONG} B", '{"a": 1, "b": 2}', '{"b": 2, "a": 1}'])
PROMPTS = st.lists(st.builds(lambda kind, text: Segment(kind, "/p", 0, 1, text), KINDS, TEXTS), max_size=7)


@given(PROMPTS, PROMPTS, PROMPTS)
def test_texts_at_the_same_place_need_not_be_looked_for(was: list[Segment], now: list[Segment], behind: list[Segment]):
    prompts = [CanonicalPrompt((*one, *behind)) for one in (was, now[: len(was)])]
    found = kept_behind(*prompts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "_without_same_places", lambda was, now: (0, was, now))
        assert kept_behind(*prompts) == found


def test_each_text_is_compared_a_few_times_however_many_there_are():
    compared = 0

    class Counted(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    def sent(first: str) -> CanonicalPrompt:
        rest = [f"{first if number % 2 else 'in both'} {number}" for number in range(400)]
        return CanonicalPrompt(tuple([Segment("user", "/p", 0, 1, Counted(text)) for text in (first, *rest)]))

    assert kept_behind(sent("was"), sent("now")) == sum(len(f"in both {number}") for number in range(0, 400, 2))
    assert compared < 10 * 400
