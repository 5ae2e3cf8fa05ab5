"""Histories of which something was left out or put in when they were sent again, from the requests alone."""

from __future__ import annotations

from typing import Any

import pytest

from hitrate.explaining import explain_bodies

INSTRUCTIONS = "You answer for a forwarding house, and you promise nothing. " * 20
TURNS = 5
Message = dict[str, Any]


def said(who: str, turn: int) -> str:
    return f"{who} {turn}: the parcel with number {turn * 37 % 11} lies in depot {turn * 5 % 7} since day {turn + 3}."


def thought(turn: int) -> str:
    return said("I look up what I was asked in turn", turn + 20)


def chat(messages: list[Message]) -> dict[str, Any]:
    return {"model": "deepseek-chat", "messages": [{"role": "system", "content": INSTRUCTIONS}, *messages]}


def claude(messages: list[Message]) -> dict[str, Any]:
    return {"model": "claude-sonnet-4-5", "max_tokens": 500, "system": INSTRUCTIONS, "messages": messages}


def responses(messages: list[Message]) -> dict[str, Any]:
    return {"model": "gpt-5", "instructions": INSTRUCTIONS, "input": messages}


def text_of(kind: str, who: str, turn: int) -> Any:
    return [{"type": kind, "text": said(who, turn)}]


def answers(api: Any, turn: int, thinking: bool) -> list[Message]:
    """Reasoning, where it is sent again, as a message or item of its own, and the answer."""
    if api is responses:
        own: Message = {"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": thought(turn)}
        content = text_of("output_text", "Answer", turn)
    elif api is claude:
        block = {"type": "thinking", "thinking": thought(turn), "signature": f"sig{turn}"}
        own, content = {"role": "assistant", "content": [block]}, text_of("text", "Answer", turn)
    else:
        own = {"role": "assistant", "content": "", "reasoning_content": thought(turn)}
        content = said("Answer", turn)
    return [*([own] if thinking else []), {"role": "assistant", "content": content}]


def history(api: Any, turn: int, thinking: bool) -> list[Message]:
    messages: list[Message] = []
    for past in range(turn):
        messages += [{"role": "user", "content": said("Question", past)}, *answers(api, past, thinking)]
    return [*messages, {"role": "user", "content": said("Question", turn)}]


def found(bodies: list[dict[str, Any]]) -> list[tuple[str, int | None, int | None, str | None]]:
    return [(one.cause, one.call, one.against, one.pointer) for one in explain_bodies(bodies).findings]


@pytest.mark.parametrize("first", [True, False], ids=["dropped", "added"])
@pytest.mark.parametrize("change", [2, 3, 4])
@pytest.mark.parametrize(
    ("api", "pointer"),
    [(responses, "/input/1"), (claude, "/messages/1/content/0"), (chat, "/messages/2")],
    ids=["responses", "claude", "chat"],
)
def test_reasoning_of_its_own_that_is_in_some_requests_only(api, pointer, change, first):
    bodies = [api(history(api, turn, (turn < change) is first)) for turn in range(TURNS)]
    assert found(bodies) == [("reasoning-not-replayed", change, change - 1, pointer)]


@pytest.mark.parametrize(("kept", "first_loss"), [(4, 3), (6, 4)])
@pytest.mark.parametrize("api", [responses, claude, chat], ids=["responses", "claude", "chat"])
def test_a_window_that_keeps_the_first_message(api, kept, first_loss):
    histories = [history(api, turn, False) for turn in range(7)]
    windows = [api([*messages[:1], *messages[1:][-kept:]]) for messages in histories]
    assert [finding[:3] for finding in found(windows)] == [("sliding-window", first_loss, first_loss - 1)]


@pytest.mark.parametrize("api", [responses, claude, chat], ids=["responses", "claude", "chat"])
def test_a_fork_in_which_other_answers_are_given_is_none(api):
    """The same questions, answered in another way from the first on."""
    other = [
        {**message, "content": f"No. {message['content']}"} if message["role"] == "assistant" else message
        for message in history(api, 3, False)
    ]
    bodies = [api(history(api, turn, False)) for turn in range(4)]
    bodies += [api(other[:end]) for end in (3, 5, 7)]
    assert found(bodies) == []


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("You review what others write, line by line. " * 30, id="other instructions"),
        pytest.param(f"You are the critic. {INSTRUCTIONS}", id="instructions that differ at the start"),
        pytest.param(f"{INSTRUCTIONS} You are the critic.", id="instructions that differ at the end"),
    ],
)
def test_two_agents_that_go_through_one_history_side_by_side(other):
    systems = [INSTRUCTIONS, other]
    bodies = [
        {**chat([]), "messages": [{"role": "system", "content": system}, *history(chat, turn, False)]}
        for turn in range(3)
        for system in systems
    ]
    assert found(bodies) == []


def test_a_clock_in_the_second_call_is_told_whether_or_not_a_third_comes():
    bodies = [claude(history(claude, turn, False)) for turn in (0, 0, 1)]
    clocked = [{**body, "system": f"It is 09:1{place}. {INSTRUCTIONS}"} for place, body in enumerate(bodies)]
    for end in (2, 3):
        assert found(clocked[:end]) == [("clock-in-prefix", 1, 0, "/system")]
