"""Single calls with one system prompt and the tools in another order, written in another way, or not all of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hitrate.explaining import explain_bodies

LONG = "You answer for a forwarding house, you read the case before you write, and you promise nothing. " * 20
SHORT = "You help. Be brief."
NAMES = ("find_case", "list_notes", "quote_route", "hand_over", "send_letter")
FIELDS = ("case_number", "desk", "language", "postcode", "weight_kg")
QUESTIONS = ("Where is parcel 20771?", "Who sealed the crate of case 9?", "Quote me Oslo, 40 kg.", "Write to Ms Berg.")


def tool(name: str, fields: tuple[str, ...] = FIELDS) -> dict[str, Any]:
    properties = {field: {"type": "string", "description": f"The {field} for {name}."} for field in fields}
    about = f"{name.replace('_', ' ').capitalize()}, as the desk would do it."
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": about, "input_schema": schema}


def chat(tools: list[dict[str, Any]], system: str, question: str) -> dict[str, Any]:
    functions = [
        {"type": "function", "function": {"parameters": one["input_schema"], **one, "input_schema": None}}
        for one in tools
    ]
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {"model": "gpt-4.1", "tools": functions, "messages": messages}


def claude(tools: list[dict[str, Any]], system: str, question: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    return {"model": "claude-sonnet-4-5", "max_tokens": 500, "system": system, "tools": tools, "messages": messages}


APIS = pytest.mark.parametrize("api", [chat, claude], ids=["chat", "claude"])


def found(api: Any, tools: list[list[dict[str, Any]]], systems: list[str] | None = None) -> list[tuple[str, Any, Any]]:
    systems = systems or [LONG] * len(tools)
    bodies = [api(*one) for one in zip(tools, systems, QUESTIONS[: len(tools)], strict=True)]
    return [(one.cause, one.call, one.against) for one in explain_bodies(bodies).findings]


def shuffled(values: Any, seed: int) -> list[Any]:
    return random.Random(seed).sample(list(values), len(values))


@APIS
def test_tools_in_another_order(api):
    tools = [[tool(name) for name in shuffled(NAMES, seed)] for seed in range(4)]
    assert found(api, tools) == [("tool-order", 1, 0)]


@APIS
def test_another_order_of_keys_in_the_schemas(api):
    tools = [[tool(name, tuple(shuffled(FIELDS, seed))) for name in NAMES] for seed in range(4)]
    assert found(api, tools) == [("schema-key-order", 1, 0)]


@APIS
def test_a_tool_that_comes_and_goes(api):
    tools = [[tool(name) for name in NAMES[: 5 - turn % 2]] for turn in range(4)]
    assert found(api, tools) == [("tool-set-changed", 1, 0)]


@APIS
@pytest.mark.parametrize("system", [SHORT, LONG])
def test_agents_with_tools_of_their_own_are_none(api, system):
    """A helper with two of the five tools, too."""
    own = [[tool(name) for name in names] for names in (NAMES, ("draw_map", "read_tide"), NAMES[:2], ("ring_bell",))]
    assert found(api, own, [system] * 4) == []


@APIS
def test_agents_with_other_instructions_are_none(api):
    tools = [[tool(name) for name in shuffled(NAMES, seed)][:1] for seed in (0, 0)]
    assert found(api, tools, [LONG, "Sort waste, and say where glass goes. " * 40]) == []


@APIS
def test_a_clock_behind_the_tools_is_told_as_well(api):
    tools = [[tool(name) for name in shuffled(NAMES, seed)] for seed in range(4)]
    clocks = [f"It is 09:{14 + turn}. {LONG}" for turn in range(4)]
    assert found(api, tools, clocks) == [("tool-order", 1, 0), ("clock-in-prefix", 1, 0)]
