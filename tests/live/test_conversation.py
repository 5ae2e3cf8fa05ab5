import json
import random
import re

import pytest

from hitrate.core.model import Call, Reply
from hitrate.errors import InputFileError, UsageError
from hitrate.live.conversation import (
    FrozenScript,
    GrowingScript,
    ToolResults,
    default_opening,
    default_questions,
    frozen_sessions,
    nonce,
    read_text_file,
    read_tools,
    tool_names,
)
from hitrate.targets.dialects import dialect
from hitrate.tokens import tokenizer

FUNCTION = {"name": "look", "description": "d", "parameters": {"type": "object"}}


@pytest.fixture
def file(tmp_path):
    def write(content):
        place = tmp_path / "f"
        place.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(place)

    return write


def _with_message(message, tool_calls=()):
    return Reply(message=message, tool_calls=tuple(tool_calls))


def script(tool_results=None, system="S"):
    return GrowingScript(system, [], ["Why?", "How?"], random.Random(1), tool_results)


def test_the_default_opening_is_as_long_as_the_bench_says():
    assert 11_000 < len(default_opening()) < 13_000
    assert 2_700 < len(tokenizer("o200k").encode(default_opening())) < 3_300
    assert len(set(default_questions())) == 12


def test_nonces_differ_and_are_of_equal_length_in_tokens():
    source = random.Random(0)
    found = [nonce(source) for _ in range(100)]
    assert len(set(found)) == 100
    assert {len(tokenizer("o200k").encode(f"Run {one}.\n")) for one in found} == {10}


def test_each_turn_adds_a_unique_question_behind_the_reply_as_it_came():
    talk = script()
    first = talk.messages(1)
    message = {"role": "assistant", "content": None, "reasoning_content": "hm", "x": [1]}
    talk.answered(_with_message(message))
    second = talk.messages(2)
    assert first[0] == {"role": "system", "content": "S"}
    assert re.fullmatch(r"Turn 001, note (\d{3} ){3}\d{3}: Why\?", first[1]["content"])
    assert second[:3] == [*first, message]
    assert re.fullmatch(r"Turn 002, note (\d{3} ){3}\d{3}: How\?", second[3]["content"])


def test_without_a_system_prompt_there_is_no_system_message():
    assert [message["role"] for message in script(system=None).messages(1)] == ["user"]


def test_a_turn_without_an_answer_is_taken_back():
    talk = script()
    talk.messages(1)
    talk.answered(None)
    assert [message["role"] for message in talk.messages(2)] == ["system", "user"]


def tool_call(number, name):
    return {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}


def test_tool_calls_are_answered_instead_of_a_question(file):
    talk = script(ToolResults(file({"look": ["one", {"n": 2}], "*": "any"})))
    calls = [tool_call(1, "look"), tool_call(2, "look"), tool_call(3, "look"), tool_call(4, "ask")]
    talk.messages(1)
    talk.answered(_with_message({"role": "assistant", "tool_calls": calls}, calls))
    assert talk.messages(2)[3:] == [
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": '{"n": 2}'},
        {"role": "tool", "tool_call_id": "c3", "content": '{"n": 2}'},
        {"role": "tool", "tool_call_id": "c4", "content": "any"},
    ]


def test_tool_results_stay_owed_when_the_turn_failed(file):
    talk = script(ToolResults(file({"look": "x"})))
    calls = [tool_call(1, "look")]
    talk.messages(1)
    talk.answered(_with_message({"role": "assistant", "tool_calls": calls}, calls))
    sent = talk.messages(2)
    talk.answered(None)
    assert talk.messages(3) == sent


def test_a_tool_without_a_result(file):
    results = ToolResults(file({"look": "x"}))
    with pytest.raises(UsageError, match=r"has no result for the tool 'ask' that the model called \(it has: look\)$"):
        results.answer("ask", 0)
    with pytest.raises(InputFileError, match=r"expected a result for every tool, none for ask, tell$"):
        results.check(["ask", "look", "tell"])
    results.check(["look"])
    ToolResults(file({"*": "x"})).check(["ask"])


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "function", "function": FUNCTION}],
        {"tools": [{"type": "function", "function": FUNCTION}]},
        [FUNCTION],
        [{"type": "function", **FUNCTION}],
        [{"name": "look", "description": "d", "input_schema": {"type": "object"}}],
        [{"name": "look", "description": "d", "inputSchema": {"type": "object"}}],
        b"\xef\xbb\xbf" + json.dumps([FUNCTION]).encode(),
    ],
)
def test_tools_of_every_spelling(file, content):
    tools = read_tools(file(content))
    assert tools == [{"type": "function", "function": FUNCTION}]
    assert list(tools[0]["function"]) == list(FUNCTION)
    assert tool_names(tools) == ["look"]


def test_a_prompt_file_is_taken_as_it_is(file):
    assert read_text_file(file(b"\xef\xbb\xbfa\r\nb \n")) == "\ufeffa\r\nb \n"


@pytest.mark.parametrize(
    ("content", "place"),
    [(b"\xff", "line 1, column 1"), (b"ab\n\ncd\xe2\x28", "line 3, column 3"), (b"\n\xc3", "line 2, column 1")],
)
def test_a_file_that_is_not_utf8_is_told_by_place(file, content, place):
    path = file(content)
    bad = content[len(content.rpartition(b"\n")[0]) :]
    byte = next(one for one in bad if one > 0x7F)
    with pytest.raises(InputFileError) as caught:
        read_text_file(path)
    assert caught.value.message == f"{path}, {place}: expected UTF-8 text, found byte 0x{byte:02x}"


def test_a_frozen_conversation_is_sent_as_it_was():
    bodies = [json.dumps({"tools": [1], "messages": ["a"] * turn}).encode() for turn in (1, 2)]
    frozen = FrozenScript([Call(target="t", dialect="openai-chat", body=body) for body in bodies])
    frozen.answered(None)
    assert (frozen.tools, len(frozen), frozen.bytes_sent) == ([1], 2, sum(map(len, bodies)))
    assert [frozen.messages(turn) for turn in (1, 2, 3)] == [["a"], ["a", "a"], None]


def test_the_sessions_of_a_stored_run():
    def call(session, turn):
        body = json.dumps({"messages": [f"{session}{turn}"]}).encode()
        return Call(target="t", dialect="openai-chat", body=body, session=session, turn=turn)

    scripts = frozen_sessions([call("warm-up", 0), call("b", 1), call("a", 1), call("b", 2), call("a", 2)])
    assert [[one.messages(1), one.messages(2)] for one in scripts] == [[["b1"], ["b2"]], [["a1"], ["a2"]]]


TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "One?"},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "Two?"},
]


def on_wire(name, **more):
    body = dialect(name).build(model="m", messages=TALK, **more)
    return Call(target="t", dialect=name, body=body, session="s", turn=1)


@pytest.mark.parametrize(
    "name", ["openai-chat", "openai-responses", "anthropic-messages", "bedrock-converse", "gemini-generate"]
)
def test_plain_text_is_sent_again_from_any_wire(name):
    (script,) = frozen_sessions([on_wire(name)])
    assert script.messages(1) == TALK


@pytest.mark.parametrize("name", ["openai-responses", "anthropic-messages", "bedrock-converse", "gemini-generate"])
def test_more_than_text_is_sent_again_on_chat_completions_alone(name):
    with pytest.raises(UsageError, match=f"a run on the wire {name} can be sent again only if"):
        frozen_sessions([on_wire(name, tools=[{"type": "function", "function": FUNCTION}])])
