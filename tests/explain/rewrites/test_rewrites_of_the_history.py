"""Markers, lifetimes, ids of the history, and the session key."""

from __future__ import annotations

from typing import Any

import pytest
from rewrites_given import chat, rewritten

from hitrate.explain.rewrites.affinity import Affinity
from hitrate.explain.rewrites.keep_ids import KeepIds
from hitrate.explain.rewrites.lifetime import Lifetime
from hitrate.explain.rewrites.mark_last import MarkLast

MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
HOUR: dict[str, Any] = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
POINT = {"cachePoint": {"type": "default"}}


def block(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def claude(system: Any, *turns: Any) -> dict[str, Any]:
    return {
        "system": system,
        "messages": [{"role": ("user", "assistant")[place % 2], "content": turn} for place, turn in enumerate(turns)],
    }


@pytest.mark.parametrize(
    ("body", "marked"),
    [
        (claude("s", "Hi"), claude([block("s", **MARK)], [block("Hi", **MARK)])),
        (
            claude([block("s", **MARK)], "Hi", "Hello", "And?"),
            claude([block("s", **MARK)], [block("Hi", **MARK)], "Hello", [block("And?", **MARK)]),
        ),
        (
            claude([block("s", **HOUR)], [block("Hi", **HOUR)], "Hello", "And?", "So", "Then?"),
            claude(
                [block("s", **HOUR)], [block("Hi")], "Hello", [block("And?", **HOUR)], "So", [block("Then?", **HOUR)]
            ),
        ),
        (claude([block("s", **MARK)], [block("a"), block("b", **MARK)]), None),
    ],
)
def test_markers_behind_the_opening_on_the_newest_message_and_where_the_call_before_ended(body, marked) -> None:
    assert rewritten(MarkLast(), [body], "anthropic-messages") == [marked or body]


def test_cache_points_of_converse() -> None:
    body = claude([{"text": "s"}], [{"text": "Hi"}, POINT], [{"text": "Hello"}], [{"text": "And?"}])
    marked = claude([{"text": "s"}, POINT], [{"text": "Hi"}, POINT], [{"text": "Hello"}], [{"text": "And?"}, POINT])
    assert rewritten(MarkLast(), [body], "bedrock-converse") == [marked]


def test_a_wire_without_markers_stays_as_it_is() -> None:
    assert rewritten(MarkLast(), [chat("s", "Hi")]) == [chat("s", "Hi")]
    assert rewritten(Lifetime("1h"), [chat("s", "Hi")]) == [chat("s", "Hi")]


@pytest.mark.parametrize(
    ("ttl", "was", "now"),
    [("1h", MARK, HOUR), ("5m", HOUR, MARK), ("1h", HOUR, HOUR), ("5m", MARK, MARK)],
)
def test_every_marker_asks_for_the_lifetime(ttl, was, now) -> None:
    body, wanted = (claude([block("s", **mark)], [block("Hi", **mark)]) for mark in (was, now))
    assert rewritten(Lifetime(ttl), [body], "anthropic-messages") == [wanted]


def test_ids_of_the_history_stay_those_sent_first() -> None:
    def body(one: str, *more: Any):
        call = {"id": one, "type": "function", "function": {"name": "find", "arguments": "{}"}}
        messages = [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": one, "content": "7"},
        ]
        return {"messages": [*messages, *more]}

    made = rewritten(KeepIds(), [body("call_a"), body("call_b"), body("call_c", {"role": "user", "content": "And?"})])
    assert made[1] == body("call_a")
    assert made[2] == body("call_a", {"role": "user", "content": "And?"})
    assert rewritten(KeepIds(), [body("call_a"), body("call_b")], conversations=[0, 1])[1] == body("call_b")


def test_a_session_key_a_conversation_where_there_is_none() -> None:
    bodies = [chat("s", "Hi"), chat("s", "Ho"), chat("s", "Hi", user="u7")]
    made = rewritten(Affinity(), bodies, conversations=[0, 1, 2])
    assert [body.get("prompt_cache_key") for body in made] == ["conversation-1", "conversation-2", None]
    assert rewritten(Affinity(), [claude("s", "Hi")], "anthropic-messages") == [claude("s", "Hi")]
