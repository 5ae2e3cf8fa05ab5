from __future__ import annotations

import pytest
from diff_bodies import TEXT, answer, call, chat, claude, compared, system, tool

TOOLS = [tool("sailings"), tool("tariff"), tool("track"), tool("note"), tool("book")]

SENTENCES = [
    (
        "openai-chat",
        chat(system("Current time: 09:14:07 UTC"), "q"),
        chat(system("Current time: 09:14:21 UTC"), "q"),
        'the system prompt differs at character 20: "09:14:07" became "09:14:21"',
    ),
    (
        "openai-chat",
        chat("q", tools=TOOLS),
        chat("q", tools=[TOOLS[0], TOOLS[2], TOOLS[1], *TOOLS[3:]]),
        'tool 2 "track" and tool 3 "tariff" changed places (the same 5 tools)',
    ),
    (
        "openai-chat",
        chat("q", tools=TOOLS),
        chat("q", tools=TOOLS[1:] + TOOLS[:1]),
        'the same 5 tools stand in another order from tool 1 on: "tariff" stands where "sailings" stood',
    ),
    (
        "openai-chat",
        chat("q", tools=TOOLS[:2]),
        chat("q", tools=[TOOLS[0], TOOLS[4], TOOLS[3]]),
        '2 tools added: "book", "note", a tool removed: "tariff"; the lists differ from tool 2 on',
    ),
    ("openai-chat", chat("q", "r", tools=TOOLS), chat("q", "r"), "the tools are gone"),
    ("openai-chat", chat("q", "r"), chat("q", "r", tools=TOOLS), "the tools are new: the earlier request had none"),
    (
        "openai-chat",
        chat("q", tools=[tool("a", "old words")]),
        chat("q", tools=[tool("a", "new words")]),
        '"description" of tool 1 "a" differs at character 0: "old" became "new"',
    ),
    (
        "openai-chat",
        chat("q", tools=[tool("a", x={}, y={})]),
        chat("q", tools=[tool("a", y={}, x={})]),
        '"properties" of tool 1 "a" has the same members in another order: "y" stands where "x" stood',
    ),
    (
        "openai-chat",
        chat("q", "r", call('{"a":1,"b":2}'), "s"),
        chat("q", "r", call('{"b":2,"a":1}'), "s"),
        '"arguments" of tool call 1 in message 3 (assistant) is the same JSON with its members in another order',
    ),
    (
        "openai-chat",
        chat("q", answer("a", reasoning_content="hm"), "r"),
        chat("q", answer("a"), "r"),
        'message 2 (assistant) lost its member "reasoning_content"',
    ),
    (
        "openai-chat",
        chat("q", tools=[tool("a", x={"enum": ["m", "f", "k"]})]),
        chat("q", tools=[tool("a", x={"enum": ["f", "m", "k"]})]),
        '"enum" of tool 1 "a" holds the same 3 items in another order',
    ),
    (
        "openai-chat",
        chat("q", tools=[tool("a", x={"anyOf": [{"type": "string"}]})]),
        chat("q", tools=[tool("a", x={"anyOf": [{"type": "null"}, {"type": "string"}]})]),
        '"anyOf" of tool 1 "a" has 1 more: "{"type":"null"}"',
    ),
    (
        "openai-chat",
        chat("q", {"role": "user", "content": [TEXT, {"type": "text", "text": "r"}]}, "s"),
        chat("q", {"role": "user", "content": [{"type": "text", "text": "r"}, TEXT]}, "s"),
        "message 2 (user) holds the same blocks in another order",
    ),
    (
        "anthropic-messages",
        claude("q", "r", system=[TEXT]),
        claude("q", "r", system=[TEXT, {"type": "text", "text": "<env>"}]),
        'system block 2 is new: {"type":"text","text":"<env>"}',
    ),
    (
        "anthropic-messages",
        claude([TEXT, {"type": "text", "text": "<env>"}], "r"),
        claude([TEXT], "r"),
        'block 2 in message 1 (user) is gone: {"type":"text","text":"<env>"}',
    ),
    (
        "anthropic-messages",
        claude([TEXT, {"type": "text", "text": "one"}], "r"),
        claude([TEXT, {"type": "text", "text": "one\u202e"}], "r"),
        'block 2 in message 1 (user) has more text at character 3: "\\u202e" was added',
    ),
    (
        "openai-chat",
        chat("Caf\u00e9", "r"),
        chat("Cafe\u0301", "r"),
        "only the Unicode form of the same characters differs in message 1 (user), at character 3: "
        '"Caf\\xe9" became "Cafe\\u0301"',
    ),
    (
        "openai-chat",
        chat("end \n", "r"),
        chat("end", "r"),
        "only white space or invisible characters differ in message 1 (user), at character 3: "
        '"end\\x20\\n" became "end"',
    ),
    (
        "openai-chat",
        chat("\x1b[31mred", "r"),
        chat("\x1b[32mred", "r"),
        'message 1 (user) differs at character 3: "\\x1b[31mred" became "\\x1b[32mred"',
    ),
    (
        "openai-chat",
        chat(system("s"), "u1", answer("a1"), "u2", "u3"),
        chat(system("s"), "u2", "u3", "u4"),
        "2 messages were dropped from message 2 (user) on; the ones behind moved to the front",
    ),
    (
        "openai-chat",
        chat("q", "r"),
        chat(answer("q"), "r"),
        'message 1 (assistant) was sent as "user" and is now sent as "assistant"',
    ),
    (
        "llamacpp-completion",
        {"prompt_token_ids": [5, 310, 310, 7]},
        {"prompt_token_ids": [5, 2214, 7]},
        "token ids [310, 310] became [2214] at position 1; the same ids follow, so the text may be the same",
    ),
    (
        "gemini-generate",
        {"contents": [{"parts": [{"inlineData": {"data": "A"}}]}, {"parts": [{"text": "q"}]}]},
        {"contents": [{"parts": [{"text": "[image]"}]}, {"parts": [{"text": "q"}]}]},
        'block 1 in message 1 (user) was of type "inlineData" and is now of type "text"',
    ),
    (
        "openai-chat",
        chat(system("Plan trips."), "q", tools=TOOLS),
        chat(system("Sum up what was said."), "r"),
        "the two prompts have nothing in common: tools, system prompt and messages are other ones",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "was", "now", "words"), SENTENCES)
def test_a_change_is_said_in_one_plain_sentence(wire, was, now, words):
    found = compared(wire, was, now)
    assert found is not None
    assert found.words == words
