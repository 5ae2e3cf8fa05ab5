from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from hitrate.core.prompt import Setting
from hitrate.targets.dialects import dialect, names
from hitrate.targets.dialects.prompt_parts import parts_of
from hitrate.targets.dialects.sketch import Sketcher, sketch_of_body

CASES = os.environ.get("HITRATE_CASES")

TEXTS = st.sampled_from(["", "hi", "Gent: é", 'say "messages": [1], "tools": 2', "\ud83d", "x" * 700, "<|im_end|>"])
MARK = st.sampled_from([{}, {}, {"cache_control": {"type": "ephemeral"}}, {"cache_control": {"ttl": "1h"}}])
POINT = st.sampled_from([{"cachePoint": {"type": "default"}}, {"cachePoint": {"ttl": "1h"}}])


def objects(**members):
    return st.fixed_dictionaries({}, optional=members)


CHAT_PART = st.builds(lambda text, mark: {"type": "text", "text": text, **mark}, TEXTS, MARK)
CHAT_MESSAGE = st.builds(
    lambda role, content, more, mark: {"role": role, "content": content, **more, **mark},
    st.sampled_from(["system", "user", "assistant", "tool", "critic"]),
    TEXTS | st.none() | st.lists(CHAT_PART, max_size=3),
    objects(
        name=TEXTS,
        reasoning_content=TEXTS,
        tool_calls=st.lists(st.builds(lambda text: {"id": "c", "function": {"name": "f", "arguments": text}}, TEXTS)),
    ),
    MARK,
)
BLOCK = st.builds(lambda block, mark: {**block, **mark}, st.sampled_from([
    {"type": "text", "text": "a"},
    {"type": "thinking", "thinking": "t", "signature": "s"},
    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"b": 1.0, "a": [2]}},
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "r"}]},
    {"type": "image", "source": {"type": "base64", "data": "aGk="}},
]), MARK)  # fmt: skip
CONVERSE_BLOCK = POINT | st.sampled_from([
    {"text": "a"}, {"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}, {"image": {"source": {"bytes": "aGk="}}},
])  # fmt: skip
ITEM = st.sampled_from([
    {"role": "user", "content": "hi"},
    {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "yes"}]},
    {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "42"},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "so"}]},
    {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}]},
])  # fmt: skip
GEMINI_CONTENT = st.builds(
    lambda role, parts: {"role": role, "parts": parts},
    st.sampled_from(["user", "model"]),
    st.lists(st.sampled_from([{"text": "a"}, {"functionCall": {"name": "f", "args": {}}}, {"text": "b"}]), max_size=3),
)
OTHER = objects(
    model=st.sampled_from(["m", "n", None]),
    temperature=st.sampled_from([0, 0.7]),
    metadata=st.builds(lambda number: {"trace": number}, st.integers()),
    reasoning_effort=st.sampled_from(["low", "high"]),
    cache_salt=TEXTS,
    user=TEXTS,
    shiny=st.sampled_from([{"new": 1}, [2], {}]),
)
BODIES = {
    "openai-chat": objects(
        tools=st.lists(objects(function=objects(name=TEXTS), cache_control=st.just({"ttl": "5m"})), max_size=2),
        functions=st.just([{"name": "old"}]),
        response_format=st.sampled_from([{"type": "json_object"}, {"type": "json_schema", "json_schema": {"a": 1}}]),
        cache_control=st.just({"type": "ephemeral"}),
    ),
    "openai-responses": objects(
        tools=st.just([{"type": "function", "name": "f"}]),
        instructions=TEXTS,
        text=st.sampled_from([{"verbosity": "low"}, {"format": {"type": "json_schema", "schema": {}}}]),
        prompt=st.just({"id": "p", "variables": {"a": "b"}}),
    ),
    "anthropic-messages": objects(
        tools=st.lists(st.builds(lambda name, mark: {"name": name, **mark}, TEXTS, MARK), max_size=2),
        system=TEXTS | st.lists(st.builds(lambda text, mark: {"type": "text", "text": text, **mark}, TEXTS, MARK)),
        output_config=st.sampled_from([{"effort": "low"}, {"format": {"schema": {"type": "object"}}}]),
        cache_control=st.just({"type": "ephemeral", "ttl": "1h"}),
        thinking=st.just({"type": "enabled", "budget_tokens": 1024}),
        tool_choice=st.just({"type": "auto"}),
    ),
    "gemini-generate": objects(
        tools=st.just([{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}, {"googleSearch": {}}]),
        systemInstruction=st.sampled_from(["s", {"parts": [{"text": "s"}, {"text": "t"}]}, {"parts": []}]),
        system_instruction=st.just({"parts": [{"text": "snake"}]}),
        generationConfig=st.sampled_from([{"topP": 1}, {"responseSchema": {"a": 1}}, {"thinkingConfig": {"b": 2}}]),
        cachedContent=TEXTS,
    ),
    "bedrock-converse": objects(
        toolConfig=st.builds(lambda tools: {"tools": tools, "toolChoice": {"any": {}}},
            st.lists(POINT | st.just({"toolSpec": {"name": "f"}}), max_size=3)),
        system=st.lists(CONVERSE_BLOCK, max_size=3),
        inferenceConfig=st.just({"maxTokens": 5}),
        additionalModelRequestFields=st.just({"thinking": {"type": "enabled"}}),
    ),
}  # fmt: skip
MESSAGES = {
    "openai-chat": ("messages", CHAT_MESSAGE),
    "openai-responses": ("input", ITEM),
    "anthropic-messages": (
        "messages",
        st.builds(
            lambda role, content: {"role": role, "content": content},
            st.sampled_from(["user", "assistant", "system"]),
            TEXTS | st.lists(BLOCK, max_size=3),
        ),
    ),
    "gemini-generate": ("contents", GEMINI_CONTENT),
    "bedrock-converse": (
        "messages",
        st.builds(lambda content: {"role": "user", "content": content}, st.lists(CONVERSE_BLOCK, max_size=3)),
    ),
}


def encoded(value, *, indent=None, ascii_only=True, compact=False):
    separators = (",", ":") if compact else None
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only, separators=separators)
    return text.encode("utf-8", "surrogatepass" if ascii_only else "replace")


@st.composite
def logs(draw):
    """A wire's name and the bodies of a conversation that grows, in odd layouts."""
    name = draw(st.sampled_from(list(MESSAGES)))
    member, message = MESSAGES[name]
    messages: list = []
    bodies = []
    style = {
        "compact": draw(st.booleans()),
        "ascii_only": draw(st.booleans()),
        "indent": draw(st.sampled_from([None, 1])),
    }
    frame = draw(BODIES[name])
    for _ in range(draw(st.integers(1, 4))):
        messages = messages + draw(st.lists(message, min_size=draw(st.integers(0, 1)), max_size=3))
        others = draw(OTHER)
        members = [*frame.items(), (member, messages), *others.items()]
        body = encoded(dict(draw(st.permutations(members)) if draw(st.booleans()) else members), **style)
        if draw(st.integers(0, 9)) == 0:  # a member given twice: the last one counts
            body = body.replace(b"{", b'{"' + member.encode() + b'": [' + b"],", 1)
        if draw(st.integers(0, 9)) == 0:
            body = body.rstrip()[:-1] + b', "' + member.encode() + b'": []}'
        bodies.append(body)
    return name, bodies


@hypothesis_settings(max_examples=150, deadline=None)
@given(logs())
def test_the_fast_way_gives_what_the_whole_body_gives(log):
    name, bodies = log
    sketcher = Sketcher(remembered=8)
    for body in (*bodies, *bodies):
        assert sketcher.sketch(body, name) == sketch_of_body(body, name)
        prompt = dialect(name).canonical(body)
        assert sketch_of_body(body, name).parts == parts_of(prompt)
        assert sum(part.characters for part in parts_of(prompt)) == sum(len(one.text) for one in prompt.segments)


@pytest.mark.parametrize("name", list(MESSAGES))
@pytest.mark.parametrize("compact", [True, False])
def test_ordinary_conversations_are_read_the_fast_way(monkeypatch, name, compact):
    monkeypatch.setattr("hitrate.targets.dialects.sketch.sketch_of_body", None)
    member = MESSAGES[name][0]
    message = {"gemini-generate": {"role": "user", "parts": [{"text": "a"}]}, "bedrock-converse": {"content": []}}.get(
        name, {"role": "user", "content": "a"}
    )
    sketcher = Sketcher()
    for count in range(1, 4):
        for body in (
            {"model": "m", member: [message] * count, "stream": True},
            {"seed": count, member: [message] * count},
        ):
            assert len(sketcher.sketch(encoded(body, compact=compact), name).parts) == count


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES is not set")
def test_the_shared_cases_read_fast_as_slowly():
    sketcher = Sketcher()
    count = 0
    for file in sorted(Path(str(CASES)).glob("*.json")):
        case = json.loads(file.read_text())
        for request in case.get("requests", ()):
            body = encoded(request["body"], ascii_only=False)
            assert sketcher.sketch(body, case["api"]) == sketch_of_body(body, case["api"])
            count += 1
    assert count > 100


def chat(*messages, **more):
    return encoded({"model": "m", "messages": list(messages), **more})


def digests(body, name="openai-chat"):
    return [part.digest for part in Sketcher().sketch(body, name).parts]


def test_a_conversation_that_grows_keeps_its_parts():
    sketcher = Sketcher()
    first = chat({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, tools=[{"name": "f"}])
    second = chat({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"},
                  {"role": "assistant", "content": "Hello"}, tools=[{"name": "f"}])  # fmt: skip
    before, after = sketcher.sketch(first, "openai-chat"), sketcher.sketch(second, "openai-chat")
    assert after.parts[:3] == before.parts
    assert [(part.kind, part.characters) for part in after.parts] == [
        ("tools", 12), ("system", 9), ("user", 2), ("assistant", 5)]  # fmt: skip
    assert after.characters == 28


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"role": "user", "content": "a"}, {"content": [{"type": "text", "text": "a"}], "role": "user"}, True),
        ({"role": "user", "content": "a"}, {"role": "user", "content": "a", "cache_control": {"type": "x"}}, True),
        ({"role": "system", "content": "a"}, {"role": "developer", "content": "a"}, True),
        ({"role": "user", "content": "a"}, {"role": "tool", "content": "a"}, False),
        ({"role": "user", "content": "a"}, {"role": "user", "content": "a "}, False),
        (
            {"role": "user", "content": [{"type": "text", "text": "ab"}, {"type": "text", "text": "c"}]},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "bc"}]},
            False,
        ),
    ],
)
def test_parts_are_equal_by_what_is_rendered(one, other, same):
    assert (digests(chat(one)) == digests(chat(other))) is same


def test_blocks_and_marks():
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body = {
        "tools": [{"name": "f", **mark}],
        "system": [{"type": "text", "text": "abc"}, {"type": "text", "text": "de", "cache_control": {}}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "yes", **mark}]},
                    {"type": "text", "text": "go"},
                ],
            }
        ],
        "cache_control": {"type": "ephemeral"},
    }
    found = Sketcher().sketch(encoded(body), "anthropic-messages").parts
    assert [(part.kind, part.blocks, part.marks) for part in found] == [
        ("tools", (12,), ((0, "1h"),)),
        ("system", (3,), ()),
        ("system", (2,), ((0, None),)),
        ("tool", (4, 2), ((0, "1h"), (1, None))),
    ]  # fmt: skip


def test_a_cache_point_marks_what_stands_in_front_of_it():
    point = {"cachePoint": {"type": "default"}}
    body = {
        "system": [{"text": "s"}, point],
        "messages": [{"role": "user", "content": [{"text": "a"}]}, {"role": "user", "content": [point, {"text": "b"}]}],
    }
    found = Sketcher().sketch(encoded(body), "bedrock-converse").parts
    assert [part.marks for part in found] == [((0, None),), ((0, None),), ()]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "a"},
        {"type": "text", "text": 'say ,"cache_control":{}'},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1, "cache_control": {"type": "data"}}},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "b", "cache_control": {}}]},
        {"type": "text", "text": "a", "citations": [{"cache_control": {"type": "data"}}]},
    ],
)
def test_a_message_whose_marker_moves_on_stays_what_it_is(block):
    sketcher = Sketcher()
    marked = {"role": "user", "content": [block, {"type": "text", "text": "c", "cache_control": {"type": "ephemeral"}}]}
    for body in (marked, json.loads(json.dumps(marked).replace(', "cache_control": {"type": "ephemeral"}', ""))):
        for _ in range(2):
            data = encoded({"model": "m", "messages": [body, marked]})
            assert sketcher.sketch(data, "anthropic-messages") == sketch_of_body(data, "anthropic-messages")
    bare = json.dumps(marked).replace('"cache_control"', '"other"').encode()
    data = b'{"messages": [' + bare + b"]}"
    assert sketcher.sketch(data, "anthropic-messages") == sketch_of_body(data, "anthropic-messages")
    stripped = re.sub(rb', "cache_control": \{[^{}]*\}', b"", json.dumps(marked).encode())
    data = b'{"messages": [' + stripped + b"]}"
    assert sketcher.sketch(data, "anthropic-messages") == sketch_of_body(data, "anthropic-messages")


def test_a_body_that_cannot_be_read_says_why():
    with pytest.raises(ValueError, match=r"^/messages: expected an array"):
        Sketcher().sketch(b'{"messages": 5}', "openai-chat")
    with pytest.raises(ValueError, match="/messages/1: expected a message object, found 5"):
        Sketcher().sketch(b'{"messages": [{"role": "user", "content": "a"}, 5]}', "openai-chat")
    with pytest.raises(ValueError, match="not UTF-8 at byte 43"):
        Sketcher().sketch(b'{"messages": [{"role": "user", "content": "\xff"}]}', "openai-chat")
    with pytest.raises(ValueError):
        Sketcher().sketch(b'{"messages": ' + b"[" * 90_000 + b"]" * 90_000 + b"}", "openai-chat")


@pytest.mark.parametrize("name", names())
def test_every_wire_has_sketches_and_an_affinity(name):
    body = dialect(name).build(model="m", messages=[{"role": "user", "content": "Hi"}], extra={"user": "u1"})
    found = Sketcher().sketch(body, name)
    assert found.characters >= 2
    assert found.affinity == "u1"


def test_headers_that_separate_cache_entries():
    found = Sketcher().sketch(
        chat(), "openai-chat", {"anthropic-beta": "a,b", "user-agent": "x", "x-lora-adapter": "l"}
    )
    assert found.key[-2:] == (Setting("anthropic-beta:", '"a,b"'), Setting("x-lora-adapter:", '"l"'))


def test_memory_is_bounded():
    sketcher = Sketcher(remembered=10)
    for number in range(100):
        sketcher.sketch(chat({"role": "user", "content": f"{number}"}, user=str(number)), "openai-chat")
    reader = sketcher._readers["openai-chat"]
    assert len(reader._elements) <= 20
    assert len(reader._frames) <= 256
