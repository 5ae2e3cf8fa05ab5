"""A second change behind the first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from diff_bodies import chat, claude, system, tool

from hitrate.explain.compared import Compared
from hitrate.explain.diff import parted
from hitrate.explain.evidence import Recognised
from hitrate.explain.further import behind_another, further_change, shared_out
from hitrate.explain.labels import Labelled
from hitrate.explaining import request_of

TOOLS = [tool("a"), tool("b")]
MOVED = TOOLS[::-1]
KEYS = [tool("a", x={}, y={}), tool("b")], [tool("a", y={}, x={}), tool("b")]


def schema(*names: str) -> dict[str, Any]:
    properties = {name: {"type": "string"} for name in names}
    named = {"name": "r", "schema": {"type": "object", "properties": properties}}
    return {"type": "json_schema", "json_schema": named}


def found(wire: str, was: dict[str, Any], now: dict[str, Any]) -> tuple[str, int | None, int] | None:
    parting = parted(*[request_of(json.dumps(body).encode(), wire) for body in (was, now)])
    assert parting is not None
    further = further_change(Compared(parting), wire, request_of)
    return None if further is None else (further.divergence.pointer, further.divergence.offset, further.kept_characters)


@pytest.mark.parametrize(
    ("was", "now", "further"),
    [
        pytest.param(
            chat(system("It is 9:14 now."), "q", tools=TOOLS),
            chat(system("It is 9:15 now."), "q", tools=MOVED),
            ("/messages/0/content", 9, len(" now.") + 1),
            id="tools moved and a clock",
        ),
        pytest.param(
            chat(system("9:14"), "q", tools=KEYS[0]),
            chat(system("9:15"), "q", tools=KEYS[1]),
            ("/messages/0/content", 3, 1),
            id="keys of a schema and a clock",
        ),
        pytest.param(
            chat(system("9:14"), "q", tools=TOOLS),
            chat(system("9:15"), "q"),
            ("/messages/0/content", 3, 1),
            id="no tools any more",
        ),
        pytest.param(
            chat(system("9:14"), "q", response_format=schema("x", "y")),
            chat(system("9:15"), "q", response_format=schema("y", "x")),
            ("/messages/0/content", 3, 1),
            id="response schema and a clock",
        ),
        pytest.param(chat(system("9:14"), "q", tools=TOOLS), chat(system("9:14"), "q", tools=MOVED), None, id="one"),
        pytest.param(chat(system("9:14"), "q"), chat(system("9:15"), "q", "r"), None, id="a clock alone"),
        pytest.param(
            chat(system("9:14"), "q", tools=TOOLS), chat(system("9:14"), "r", tools=MOVED), None, id="other messages"
        ),
    ],
)
def test_the_next_change_in_front_of_the_messages(was, now, further):
    assert found("openai-chat", was, now) == further


def test_it_on_another_wire():
    was = claude("q", system="It is 9:14 now.", tools=[{"name": "a"}, {"name": "b"}])
    now = claude("q", system="It is 9:15 now.", tools=[{"name": "b"}, {"name": "a"}])
    assert found("anthropic-messages", was, now) == ("/system", 9, len(" now.") + 1)


def test_what_it_says():
    said = behind_another(
        Recognised(confidence="certain", summary="The time changed.", advice="Move it."), "tool-order"
    )
    assert said.summary == (
        "The time changed. It stands behind another change (tool-order); mend both, as each alone gains little."
    )


LABELS = (Labelled("served", None, 5), Labelled("new", None, 7), Labelled("behind a break", "first", 10))


@pytest.mark.parametrize(
    ("tokens", "behind"),
    [
        (4, [("first", 6), ("second", 4)]),
        (0, [("first", 10)]),
        (10, [("second", 10)]),
        (99, [("second", 10)]),
    ],
)
def test_what_both_lost_counts_for_the_second(tokens, behind):
    shared = shared_out(LABELS, "first", "second", tokens)
    assert shared[:2] == LABELS[:2]
    assert [(one.cause, one.tokens) for one in shared[2:]] == behind
