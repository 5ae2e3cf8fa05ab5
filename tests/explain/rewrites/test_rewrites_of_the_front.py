"""Dates that stay, ids that go, tools and members in order."""

from __future__ import annotations

import json

import pytest
from rewrites_given import chat, rewritten, texts

from hitrate.explain.rewrites.drop_nonce import DropNonce
from hitrate.explain.rewrites.freeze_date import FreezeDate
from hitrate.explain.rewrites.sort_keys import SortKeys
from hitrate.explain.rewrites.sort_tools import SortTools

MARK = {"cache_control": {"type": "ephemeral"}}


def test_a_date_stays_that_of_each_conversations_start() -> None:
    def body(day: int):
        return chat(f"Today is 2026-03-{day}. Founded on 2010-05-01.", "Hi")

    made = rewritten(FreezeDate(), [body(10), body(11), body(11), body(12)], conversations=[0, 0, 1, 1])
    assert [texts(one)[0][:19] for one in made] == [
        "Today is 2026-03-10",
        "Today is 2026-03-10",
        "Today is 2026-03-11",
        "Today is 2026-03-11",
    ]


@pytest.mark.parametrize(
    ("was", "now", "left"),
    [
        ("x-billing-header: cch=9b1d4\nBe kind.", "x-billing-header: cch=07aa2\nBe kind.", "Be kind."),
        (
            "Be kind.\nTrace: 01ARZ3NDEKTSV4RRFFQ69G5FAV\nAsk.",
            "Be kind.\nTrace: 01BX5ZZKBKACTAV9WEVGEMMVRZ\nAsk.",
            "Be kind.\nAsk.",
        ),
        (
            "You are the agent with the id 5c0f3b1e-77a2-4d1c-9c40-2f6f1f0b9d11 of the nursery at Hollow Lane.",
            "You are the agent with the id 4bf92f35-77b3-4da6-a3ce-929d0e0e4736 of the nursery at Hollow Lane.",
            "You are the agent with the id  of the nursery at Hollow Lane.",
        ),
    ],
)
def test_a_changing_id_is_left_out(was, now, left) -> None:
    made = rewritten(DropNonce(), [chat(was, "Hi"), chat(now, "Hi")])
    assert [texts(one)[0] for one in made] == [left, left]
    assert rewritten(DropNonce(), [chat(was, "Hi"), chat(was, "Hi")]) == [chat(was, "Hi")] * 2


@pytest.mark.parametrize(
    ("dialect", "tools", "ordered"),
    [
        (
            "openai-chat",
            [{"function": {"name": "b"}}, {"function": {"name": "a"}}],
            [{"function": {"name": "a"}}, {"function": {"name": "b"}}],
        ),
        (
            "anthropic-messages",
            [{"name": "b"}, {"name": "c"}, {"name": "a", **MARK}],
            [{"name": "a"}, {"name": "b"}, {"name": "c", **MARK}],
        ),
        ("openai-chat", [{"function": {"name": "a"}}, {"function": {"name": "b"}}], None),
    ],
)
def test_tools_by_name_with_markers_where_they_were(dialect, tools, ordered) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "tools": tools}
    (made,) = rewritten(SortTools(), [body], dialect)
    assert made["tools"] == (ordered or tools)


def test_tools_of_gemini_and_converse() -> None:
    gemini = {"contents": [], "tools": [{"functionDeclarations": [{"name": "b"}, {"name": "a"}]}]}
    (made,) = rewritten(SortTools(), [gemini], "gemini-generate")
    assert made["tools"] == [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}]
    point = {"cachePoint": {"type": "default"}}
    converse = {
        "messages": [],
        "toolConfig": {"tools": [{"toolSpec": {"name": "b"}}, {"toolSpec": {"name": "a"}}, point]},
    }
    (made,) = rewritten(SortTools(), [converse], "bedrock-converse")
    assert made["toolConfig"]["tools"] == [{"toolSpec": {"name": "a"}}, {"toolSpec": {"name": "b"}}, point]


def test_members_of_schemas_and_lists_of_required_ones() -> None:
    def body(*names: str):
        schema = {"type": "object", "properties": {name: {"type": "string", "enum": ["z", "a"]} for name in names}}
        tools = [{"type": "function", "function": {"name": "f", "parameters": {**schema, "required": list(names)}}}]
        return chat("s", "Hi", tools=tools)

    first, second = rewritten(SortKeys(), [body("b", "a"), body("a", "b")])
    assert json.dumps(first) == json.dumps(second)
    parameters = first["tools"][0]["function"]["parameters"]
    assert list(parameters["properties"]) == parameters["required"] == ["a", "b"]
    assert parameters["properties"]["a"]["enum"] == ["z", "a"]
