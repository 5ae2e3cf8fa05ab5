"""The time leaves the front and stays with the message it was first sent with."""

from __future__ import annotations

import pytest
from rewrites_given import chat, rewritten, texts

from hitrate.explain.rewrites.move_clock_last import MoveClockLast


def clock(second: int) -> str:
    return f"Current time: 2026-03-11 09:14:{second:02} UTC\n\nYou are Fennel. Be kind."


def test_a_line_with_the_time_goes_behind_the_newest_user_message_and_stays_there() -> None:
    bodies = [
        chat(clock(7), "Hi"),
        chat(clock(21), "Hi", "Hello", "Order 7?"),
        chat(clock(48), "Hi", "Hello", "Order 7?"),
    ]
    assert [texts(body) for body in rewritten(MoveClockLast(), bodies)] == [
        ["You are Fennel. Be kind.", "Hi\n\nCurrent time: 2026-03-11 09:14:07 UTC"],
        [
            "You are Fennel. Be kind.",
            "Hi\n\nCurrent time: 2026-03-11 09:14:07 UTC",
            "Hello",
            "Order 7?\n\nCurrent time: 2026-03-11 09:14:21 UTC",
        ],
        [
            "You are Fennel. Be kind.",
            "Hi\n\nCurrent time: 2026-03-11 09:14:07 UTC",
            "Hello",
            "Order 7?\n\nCurrent time: 2026-03-11 09:14:21 UTC",
        ],
    ]


def test_a_time_inside_a_sentence_is_pointed_to() -> None:
    def body(minute: int):
        return chat(f"You are Fennel, on duty since morning; it is 2026-03-11 09:{minute} and the shop is open.", "Hi")

    (first, second) = rewritten(MoveClockLast(), [body(14), body(15)])
    front = "You are Fennel, on duty since morning; it is (see the newest message) and the shop is open."
    assert texts(first)[0] == texts(second)[0] == front
    assert texts(first)[1] == "Hi\n\nFennel, on duty since morning; it is 2026-03-11 09:14"


@pytest.mark.parametrize(
    "bodies",
    [
        [chat(clock(7), "Hi")],
        [chat(clock(7), "Hi"), chat(clock(7), "Hi", "Hello", "And?")],
        [chat("Open from 09:00.", "Hi"), chat("Closed from 10:00 on.", "Hi")],  # another text, not another time
        [chat("Be kind.", "It is 09:14:07"), chat("Be kind.", "It is 09:14:21")],
        [chat(clock(7)), chat(clock(21))],  # no message to put it behind
    ],
)
def test_what_does_not_change_stays(bodies) -> None:
    assert rewritten(MoveClockLast(), bodies) == bodies


def test_conversations_keep_their_own_times() -> None:
    bodies = [chat(clock(7), "Hi"), chat(clock(9), "Hi"), chat(clock(21), "Hi", "Hello", "And?")]
    made = rewritten(MoveClockLast(), bodies, conversations=[0, 1, 1])
    assert [texts(body)[1][-6:] for body in made] == ["07 UTC", "09 UTC", "09 UTC"]


def test_a_marker_stays_at_the_end_of_its_message() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}

    def body(second: int, block: dict):
        return {"system": clock(second), "messages": [{"role": "user", "content": [block]}]}

    text = {"type": "text", "text": "Hi", **mark}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "7", **mark}
    for block, last in (
        (text, {"type": "text", "text": "Hi\n\nCurrent time: 2026-03-11 09:14:07 UTC", **mark}),
        (result, {"type": "text", "text": "Current time: 2026-03-11 09:14:07 UTC", **mark}),
    ):
        made = rewritten(MoveClockLast(), [body(7, block), body(21, block)], "anthropic-messages")
        assert made[0]["messages"][0]["content"][-1] == last
        assert str(made[0]).count("cache_control") == 1


@pytest.mark.parametrize(
    ("dialect", "body", "content"),
    [
        (
            "openai-responses",
            lambda text: {
                "instructions": text,
                "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
            },
            lambda body: body["input"][0]["content"][0]["text"],
        ),
        (
            "gemini-generate",
            lambda text: {"systemInstruction": {"parts": [{"text": text}]}, "contents": [{"parts": [{"text": "Hi"}]}]},
            lambda body: body["contents"][0]["parts"][0]["text"],
        ),
        (
            "bedrock-converse",
            lambda text: {
                "system": [{"text": text}],
                "messages": [{"role": "user", "content": [{"text": "Hi"}, {"cachePoint": {"type": "default"}}]}],
            },
            lambda body: body["messages"][0]["content"][0]["text"],
        ),
    ],
)
def test_every_wire_has_its_newest_user_message(dialect, body, content) -> None:
    made = rewritten(MoveClockLast(), [body(clock(7)), body(clock(21))], dialect)
    assert content(made[0]) == "Hi\n\nCurrent time: 2026-03-11 09:14:07 UTC"
    assert made[1] == made[0]
