from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from diff_bodies import MARKED, TEXT, answer, call, chat, claude, compared, request, system, tool

from hitrate.explain.diff import CHANGES, first_divergence
from hitrate.explain.evidence import Divergence
from hitrate.targets.dialects import dialect

CASES = os.environ.get("HITRATE_CASES")

WIRES_OF_CASES = {
    "gemini": "gemini-generate",
    "llama.cpp-completion": "llamacpp-completion",
    "tokens": "llamacpp-completion",
}


def divergence(wire, was, now) -> Divergence:
    found = compared(wire, was, now)
    assert found is not None
    assert found.change in CHANGES
    return found


TEXTS = [
    # was, now, change, offset, was from there on, now from there on
    ("at 09:14:07 UTC", "at 09:14:21 UTC", "text", 9, "07 UTC", "21 UTC"),
    ("Tell me.", "Nobody knows why", "replaced", 0, "Tell me.", "Nobody knows why"),
    ("x" * 300 + "y" * 700, "x" * 300 + " [cut]", "shortened", 300, "y" * 48, " [cut]"),
    ("abc", "abcdef", "suffix added", 3, "", "def"),
    ("abc<env>", "abc", "suffix removed", 3, "<env>", ""),
    ("abc", "", "replaced", 0, "abc", ""),
    ("", "abc", "suffix added", 0, "", "abc"),
    ("done:\n\n", "done:", "white space", 5, "\n\n", ""),
    ("a\r\nb", "a\nb", "white space", 1, "\r\nb", "\nb"),
    ("a b", "a\u00a0b", "white space", 1, " b", "\u00a0b"),
    ("ab", "a\u200bb", "white space", 1, "b", "\u200bb"),
    ("caf\u00e9 x", "cafe\u0301 x", "unicode form", 3, "\u00e9 x", "e\u0301 x"),
    ("\ufb01ne", "fine", "unicode form", 0, "\ufb01ne", "fine"),
    ("Yes", "YES", "letter case", 1, "es", "ES"),
    ("a\nb\nc", "a\nc\nb", "line order", 2, "b\nc", "c\nb"),
    ('{"a":1,"b":2}', '{"b":2,"a":1}', "json order", 2, 'a":1,"b":2}', 'b":2,"a":1}'),
    ('{"a":1}', '{"a": 1}', "json text", 5, "1}", " 1}"),
    ('{"a":"\\u00e9"}', '{"a":"é"}', "json text", 6, '\\u00e9"}', 'é"}'),
    ('{"a":1}', '{"a":2}', "text", 5, "1}", "2}"),
    ("lone \ud800 half", "lone \udc00 half", "text", 5, "\ud800 half", "\udc00 half"),
    ("a\U0001f600b", "a\U0001f600c", "text", 2, "b", "c"),
]


@pytest.mark.parametrize(("was", "now", "change", "offset", "was_there", "now_there"), TEXTS)
def test_what_kind_of_change_a_text_went_through(was, now, change, offset, was_there, now_there):
    found = divergence("openai-chat", chat(was, "Go on."), chat(now, "Go on."))
    assert (found.pointer, found.offset) == ("/messages/0/content", offset)
    assert (found.was, found.now, found.change, found.kind) == (was_there, now_there, change, "user")
    assert (found.value_was, found.value_now) == (was, now)
    assert found.cacheable_chars == offset


TOOLS = [tool("sailings"), tool("tariff"), tool("track"), tool("note")]

LISTS_AND_MEMBERS = [
    # wire, was, now, pointer, offset, was, now, change, names
    (
        "openai-chat",
        chat("q", tools=TOOLS),
        chat("q", tools=[TOOLS[0], TOOLS[2], TOOLS[1], TOOLS[3]]),
        ("/tools/1/function/name", 1, "ariff", "rack", "list order", ("track", "tariff")),
    ),
    (
        "openai-chat",
        chat("q", tools=[tool("a"), tool("b")]),
        chat("q", tools=[tool("a"), tool("new"), tool("b")]),
        ("/tools/1/function/name", 0, "b", "new", "list members", ("new",)),
    ),
    (
        "openai-chat",
        chat("q", tools=[tool("a")]),
        chat("q", tools=[tool("a"), tool("b")]),
        ("/tools/1", None, "", "tool b", "list members", ("b",)),
    ),
    (
        "bedrock-converse",
        {"messages": [], "system": [{"text": "s"}], "toolConfig": {"tools": [{"toolSpec": {"name": "a"}}]}},
        {
            "messages": [],
            "system": [{"text": "s"}],
            "toolConfig": {"tools": [{"toolSpec": {"name": "a"}}, {"toolSpec": {"name": "b"}}]},
        },
        ("/toolConfig/tools/1", None, "", "tool b", "list members", ("b",)),
    ),
    (
        "openai-chat",
        chat("q", "r", tools=[tool("a"), tool("b")]),
        chat("q", "r"),
        ("/tools", None, "tools", "", "list members", ("a", "b")),
    ),
    (
        "openai-chat",
        chat(system("Plan."), "q", "r", tools=[tool("a")]),
        chat(system("Write a summary."), "Sum up: q, r"),
        ("/tools", None, "tools", "", "prefix rebuilt", ()),
    ),
    (
        "openai-chat",
        chat("q", tools=[tool("a", x={"type": "string"}, y={"type": "number"})]),
        chat("q", tools=[tool("a", y={"type": "number"}, x={"type": "string"})]),
        ("/tools/0/function/parameters/properties", None, "member x", "member y", "json order", ("a", "x", "y")),
    ),
    (
        "openai-chat",
        chat("q", tools=[tool("a", x={"enum": ["m", "f", "k"]})]),
        chat("q", tools=[tool("a", x={"enum": ["f", "m", "k"]})]),
        ("/tools/0/function/parameters/properties/x/enum/0", 0, "m", "f", "list order", ("a", "m", "f")),
    ),
    (
        "openai-chat",
        chat("q", tools=[tool("a", x={"enum": ["m", "f"]})]),
        chat("q", tools=[tool("a", x={"enum": ["m", "f", "k"]})]),
        ("/tools/0/function/parameters/properties/x/enum/2", None, "", "k", "list members", ("a", "k")),
    ),
    (
        "openai-chat",
        chat("q", tools=[tool("a", x={"maximum": 5})]),
        chat("q", tools=[tool("a", x={"maximum": 6})]),
        ("/tools/0/function/parameters/properties/x/maximum", None, "5", "6", "value", ("a",)),
    ),
    (
        "gemini-generate",
        {"contents": [], "tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b", "description": "1"}]}]},
        {"contents": [], "tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b", "description": "2"}]}]},
        ("/tools/0/functionDeclarations/1/description", 0, "1", "2", "replaced", ("b",)),
    ),
    (
        "openai-chat",
        chat("q", answer(None, reasoning_content="hm", tool_calls=call("{}")["tool_calls"]), "r"),
        chat("q", call("{}"), "r"),
        ("/messages/1", None, "member reasoning_content", "member content", "member removed", ("reasoning_content",)),
    ),
    (
        "openai-chat",
        chat("q", answer("x"), "r"),
        chat("q", answer("x", tool_calls=call("{}")["tool_calls"]), "r"),
        ("/messages/1", None, "", "member tool_calls", "member added", ("tool_calls",)),
    ),
    (
        "openai-chat",
        chat("q", call("{}"), "r"),
        chat("q", answer("Let me see.", tool_calls=call("{}")["tool_calls"]), "r"),
        ("/messages/1/content", 0, "", "Let me see.", "suffix added", ()),
    ),
    (
        "openai-chat",
        chat("q", call('{"a": 1, "b": 2}'), "r"),
        chat("q", call('{"b": 2, "a": 1}'), "r"),
        ("/messages/1/tool_calls/0/function/arguments", 2, 'a": 1, "b": 2}', 'b": 2, "a": 1}', "json order", ()),
    ),
    (
        "openai-chat",
        chat("q", call("{}", "call_77"), "r"),
        chat("q", call("{}", "call_78"), "r"),
        ("/messages/1/tool_calls/0/id", 6, "7", "8", "id value", ()),
    ),
    (
        "openai-responses",
        {"input": [{"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}]},
        {"input": [{"type": "function_call", "id": "fc_2", "call_id": "c", "name": "f", "arguments": "{}"}]},
        ("/input/0/id", 3, "1", "2", "id value", ()),
    ),
    (
        "openai-responses",
        {"instructions": "i", "input": "q"},
        {"input": "q"},
        ("/instructions", None, "instructions", "", "list members", ()),
    ),
    (
        "openai-chat",
        chat(system("s"), "u1", answer("a1"), "u2", answer("a2"), "u3"),
        chat(system("s"), "u2", answer("a2"), "u3", answer("a3"), "u4"),
        ("/messages/1/content", 1, "1", "2", "messages dropped", ("/messages/1", "/messages/2")),
    ),
    (
        "openai-chat",
        chat(system("s"), "u1", answer("a1"), "u2", answer("a2")),
        chat(system("s"), "Earlier: u1, a1.", "u2", answer("a2"), "u3"),
        ("/messages/1/content", 0, "u1", "Earlier: u1, a1.", "messages condensed", ("/messages/1", "/messages/2")),
    ),
    (
        "openai-chat",
        chat(system("s"), "u1", answer("a1")),
        chat(system("s"), "memory", "u1", answer("a1"), "u2"),
        ("/messages/1/content", 0, "u1", "memory", "messages inserted", ("/messages/1",)),
    ),
    (
        "anthropic-messages",
        claude("q", "r", system=[{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]),
        claude("q", "r", system=[{"type": "text", "text": "B"}]),
        ("/system/0/text", 0, "A", "B", "list members", ("/system/0",)),
    ),
    (
        "openai-chat",
        chat("q", {"role": "tool", "content": "one"}, {"role": "tool", "content": "two"}, "r"),
        chat("q", {"role": "tool", "content": "two"}, {"role": "tool", "content": "one"}, "r"),
        ("/messages/1/content", 0, "one", "two", "list order", ("/messages/1", "/messages/2")),
    ),
    (
        "openai-chat",
        chat("q", "same", "r"),
        chat("q", answer("same"), "r"),
        ("/messages/1/role", 0, "user", "assistant", "role", ()),
    ),
    (
        "anthropic-messages",
        claude([{"type": "image", "source": {"type": "base64", "data": "iVBORw"}}, {"type": "text", "text": "q"}], "r"),
        claude([{"type": "image", "source": {"type": "base64", "data": "iVBXXX"}}, {"type": "text", "text": "q"}], "r"),
        ("/messages/0/content/0/source/data", 3, "ORw", "XXX", "image", ()),
    ),
    (
        "anthropic-messages",
        claude([{"type": "image", "source": {"type": "base64", "data": "iVBORw"}}, {"type": "text", "text": "q"}], "r"),
        claude([{"type": "text", "text": "[image]"}, {"type": "text", "text": "q"}], "r"),
        ("/messages/0/content/0", None, "type image", "type text", "block type", ()),
    ),
    (
        "gemini-generate",
        {"contents": [{"role": "user", "parts": [{"inlineData": {"data": "iVB"}}, {"text": "q"}]}]},
        {"contents": [{"role": "user", "parts": [{"text": "[image]"}, {"text": "q"}]}]},
        ("/contents/0/parts/0", None, "type inlineData", "type text", "block type", ()),
    ),
    (
        "openai-responses",
        {"input": [{"type": "reasoning", "summary": [{"text": "hm"}]}, {"role": "user", "content": "q"}]},
        {"input": [{"role": "user", "content": "q"}, {"role": "user", "content": "r"}]},
        ("/input/0", None, "type reasoning", "type content", "messages dropped", ("/input/0",)),
    ),
    (
        "anthropic-messages",
        claude([{"type": "text", "text": "q"}, {"type": "text", "text": "<env>"}], "r"),
        claude([TEXT], "r", "s"),
        ("/messages/0/content/1", None, '{"type":"text","text":"<env>"}', "", "list members", ()),
    ),
    (
        "anthropic-messages",
        claude("q", answer([{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1, "b": 2}}]), "r"),
        claude("q", answer([{"type": "tool_use", "id": "t", "name": "f", "input": {"b": 2, "a": 1}}]), "r"),
        ("/messages/1/content/0/input", None, "member a", "member b", "json order", ("a", "b")),
    ),
    (
        "anthropic-messages",
        claude("q", answer([{"type": "tool_use", "id": "t", "name": "f", "input": {"cache_control": {"a": 1}}}]), "r"),
        claude("q", answer([{"type": "tool_use", "id": "t", "name": "f", "input": {"cache_control": {"a": 2}}}]), "r"),
        ("/messages/1/content/0/input/cache_control/a", None, "1", "2", "value", ()),
    ),
    (
        "bedrock-converse",
        {"messages": [{"role": "user", "content": [{"cachePoint": {"type": "default"}}, {"text": "abc"}]}]},
        {"messages": [{"role": "user", "content": [{"text": "abd"}]}]},
        ("/messages/0/content/0/text", 2, "c", "d", "text", ()),
    ),
    (
        "openai-chat",
        chat([{"type": "text", "text": "abc"}], "r"),
        chat("abd", "r"),
        ("/messages/0/content", 2, "c", "d", "text", ()),
    ),
    (
        "llamacpp-completion",
        {"prompt": "<s>user\nhi\n<think>\n"},
        {"prompt": "<s>user\nhi\nHello"},
        ("/prompt", 11, "<think>\n", "Hello", "text", ()),
    ),
    (
        "llamacpp-completion",
        {"prompt_token_ids": [5, 310, 310, 7, 8, 9]},
        {"prompt_token_ids": [5, 2214, 7, 8, 9, 10]},
        ("/prompt_token_ids/1", None, "310", "2214", "ids merged", ()),
    ),
    (
        "llamacpp-completion",
        {"prompt": [5, 6, 7]},
        {"prompt": [5, 9, 7]},
        ("/prompt/1", None, "6", "9", "ids", ()),
    ),
    (
        "openai-chat",
        chat("q", response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": {"a": 1, "b": 2}}}),
        chat("q", response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": {"b": 2, "a": 1}}}),
        ("/response_format/json_schema/schema", None, "member a", "member b", "json order", ("a", "b")),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "was", "now", "expected"), LISTS_AND_MEMBERS)
def test_where_requests_part_and_what_changed_there(wire, was, now, expected):
    found = divergence(wire, was, now)
    assert (found.pointer, found.offset, found.was, found.now, found.change, found.names) == expected


ALIKE = [
    # wire, was, now: rendered alike, however they are written
    ("openai-chat", chat("q"), chat([TEXT])),
    ("openai-chat", chat("q"), chat([MARKED])),
    ("openai-chat", chat("q", tools=[tool("a")]), chat("q", tools=[{**tool("a"), "cache_control": {}}])),
    ("openai-chat", chat("q", temperature=0), chat("q", temperature=1, seed=3, stream=True)),
    ("openai-chat", chat("q", call("{}")), chat("q", {**call("{}"), "content": ""})),
    ("openai-chat", chat("q", answer("a")), chat("q", answer("a", refusal=None, annotations=[]))),
    ("openai-chat", chat({"role": "user", "content": "q"}), chat({"content": "q", "role": "user"})),
    ("llamacpp-completion", '{"prompt":"\\u00e9"}', '{"prompt":"é"}'),
    ("openai-chat", '{"tools":[],"messages":[]}', '{ "messages": [], "tools": [] }'),
    ("openai-responses", {"input": "q"}, {"input": [{"role": "user", "content": [TEXT]}]}),
    ("anthropic-messages", claude("q", system=""), claude("q")),
    ("anthropic-messages", claude("q", system="s"), claude("q", system=[{"type": "text", "text": "s"}])),
    (
        "anthropic-messages",
        claude([{"type": "tool_result", "tool_use_id": "t", "content": "r"}]),
        claude([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "r"}],
                 "cache_control": {"type": "ephemeral", "ttl": "1h"}}]),
    ),
    (
        "bedrock-converse",
        {"messages": [{"role": "user", "content": [{"text": "q"}, {"cachePoint": {"type": "default"}}]}]},
        {"messages": [{"role": "user", "content": [{"text": "q"}]}]},
    ),
    (
        "gemini-generate",
        {"contents": [{"parts": [{"text": "q"}]}], "systemInstruction": {"parts": [{"text": "s"}]}},
        {"system_instruction": {"parts": [{"text": "s"}]}, "contents": [{"parts": [{"text": "q"}]}]},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "was", "now"), ALIKE)
def test_shapes_that_are_rendered_alike_do_not_differ(wire, was, now):
    for pair in ((was, now), (now, was)):
        assert compared(wire, *pair) is None


STARTS = [
    # wire, shorter, longer, code points of the shorter
    ("openai-chat", chat("ask"), chat("ask", answer("a"), "more"), 3),
    ("openai-chat", chat("ask", answer("Well")), chat("ask", answer("Well, yes"), "more"), 7),
    ("anthropic-messages", claude([TEXT]), claude([TEXT, {"type": "text", "text": "more"}]), 1),
    ("llamacpp-completion", {"prompt": "one"}, {"prompt": "one two"}, 3),
    ("llamacpp-completion", {"prompt": [1, 20]}, {"prompt": [1, 20, 3]}, 3),
    ("openai-chat", chat(), chat("ask"), 0),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "shorter", "longer", "characters"), STARTS)
def test_a_prompt_that_grew_or_was_cut_short_does_not_differ(wire, shorter, longer, characters):
    assert compared(wire, shorter, longer) is None
    assert compared(wire, longer, shorter) is None
    assert request(wire, shorter).characters == characters < request(wire, longer).characters


def test_a_question_that_was_written_on_is_another_question():
    found = divergence("openai-chat", chat("ask"), chat("ask me"))
    assert (found.pointer, found.offset, found.change) == ("/messages/0/content", 3, "suffix added")


def test_cacheable_characters_are_those_of_tools_system_and_messages_in_that_order():
    before = chat(
        system("12345"), "678", answer(None, tool_calls=call("{}", "id")["tool_calls"]), "x", tools=[tool("ab", "cde")]
    )
    now = json.loads(json.dumps(before))
    now["messages"][3]["content"] = "y"
    found = divergence("openai-chat", before, now)
    # ab, cde; 12345; 678; null, id, f, {}; then x against y
    assert found.cacheable_chars == 5 + 5 + 3 + 9
    assert found.cacheable_share == 22 / 23


def test_an_image_has_no_characters():
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 1000}}
    found = divergence("anthropic-messages", claude([image], "abc", "r"), claude([image], "abd", "r"))
    assert (found.cacheable_chars, found.cacheable_share) == (2, 2 / 4)


def test_the_shared_text_in_front_is_kept():
    found = divergence("openai-chat", chat("a" * 3000 + "It is nine", "r"), chat("a" * 3000 + "It is ten", "r"))
    assert (len(found.front), found.front[-7:]) == (2000, "aIt is ")
    assert divergence("openai-chat", chat("q", "r"), chat(answer("q"), "r")).front == ""


def test_values_too_long_to_be_given_whole_are_left_out():
    found = divergence("openai-chat", chat("a" * 5000, "r"), chat("b" + "a" * 5000, "r"))
    assert (found.value_was, found.value_now) == (None, None)
    assert (found.was, found.now) == ("a" * 48, "b" + "a" * 47)


def test_no_text_in_common_has_a_share_of_nothing():
    found = divergence(
        "anthropic-messages", claude([{"type": "image", "source": {"data": "a"}}], "q"), claude("", "", "x")
    )
    assert (found.cacheable_chars, found.cacheable_share) == (0, 0.0)


def test_a_body_that_is_no_json_is_refused():
    good = b'{"messages":[]}'
    prompt = dialect("openai-chat").canonical(good)
    with pytest.raises(ValueError, match="line 1 column 2"):
        first_divergence(prompt, prompt, good, b"{")


def cases() -> list:
    files = sorted(Path(CASES).glob("dev-*.json")) if CASES else []
    return [(file.name, case) for file in files if (case := json.loads(file.read_text("utf-8")))["requests"]]


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES is not set")
def test_every_case_parts_where_it_says():
    checked = 0
    for name, case in cases():
        expected = case["expected"]
        place = expected["first_divergence"]
        if place is None or expected["verdict"] == "key_change":
            continue
        wire = dialect(WIRES_OF_CASES.get(case["api"], case["api"]))
        bodies = [
            json.dumps(case["requests"][expected[which]]["body"], ensure_ascii=False).encode()
            for which in ("against", "turn")
        ]
        found = first_divergence(*map(wire.canonical, bodies), *bodies)
        assert found is not None, name
        # Where a block changed its type, the cases quote the new block's text.
        now = found.value_now if " = " in place.get("now", "") else found.now
        assert (found.pointer, found.offset) == (place["path"], place.get("offset")), name
        assert found.was.startswith(place["was"]), name
        assert (now or "").find(place.get("now", "").rpartition(" = ")[2]) >= 0, name
        if "cacheable_chars" in expected:
            share = round(found.cacheable_share, 4)
            assert (found.cacheable_chars, share) == (expected["cacheable_chars"], expected["cacheable_share"]), name
        checked += 1
    assert checked >= 18


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES is not set")
def test_healthy_sessions_only_grow():
    for name, case in cases():
        if case["expected"]["flag"] or case["api"] == "gemini" or "interleaved" in name or "edit" in name:
            continue
        wire = dialect(case["api"])
        bodies = [json.dumps(sent["body"]).encode() for sent in case["requests"]]
        prompts = [wire.canonical(body) for body in bodies]
        for index in range(1, len(bodies)):
            found = first_divergence(prompts[index - 1], prompts[index], bodies[index - 1], bodies[index])
            assert found is None, (name, index)
