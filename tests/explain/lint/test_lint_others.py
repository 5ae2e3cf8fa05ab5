"""Checks of the session key and of the order of tools."""

from __future__ import annotations

import pytest
from lint_given import chat, flaws, tool

from hitrate.explain.lint.checks import CHECKS
from hitrate.explain.lint.no_affinity import NoAffinity
from hitrate.explain.lint.tool_order import ToolOrder


@pytest.mark.parametrize(
    ("body", "dialect", "found"),
    [
        ({**chat("s", "Hi"), "model": "gpt-5.4"}, "openai-chat", 1),
        ({**chat("s", "Hi"), "model": "gpt-5.4", "prompt_cache_key": "a"}, "openai-chat", 0),
        ({"contents": [{"parts": [{"text": "Hi"}]}]}, "gemini-generate", 0),
    ],
)
def test_a_session_key_where_the_vendor_has_one(body, dialect, found) -> None:
    assert [one.severity for one in flaws(NoAffinity(), body, dialect)] == ["note"] * found


@pytest.mark.parametrize(
    ("body", "dialect", "found"),
    [
        (chat("s", "Hi", tools=[tool("a"), tool("b"), tool("c")]), "openai-chat", []),
        (chat("s", "Hi", tools=[tool("b"), tool("a"), tool("c")]), "openai-chat", [("/tools/1", "b, a, c", 3)]),
        (chat("s", "Hi", tools=[tool("b")]), "openai-chat", []),
        (
            {"contents": [], "tools": [{"functionDeclarations": [{"name": "b"}, {"name": "a"}]}]},
            "gemini-generate",
            [("/tools/0/functionDeclarations/1", "b, a", 3)],
        ),
    ],
)
def test_tools_that_are_not_sorted(body, dialect, found) -> None:
    assert [(one.pointer, one.text, one.offset) for one in flaws(ToolOrder(), body, dialect)] == found


@pytest.mark.parametrize(
    "body",
    [
        {"messages": []},
        {"messages": [{"role": "user"}], "tools": [7, None, "x"], "system": 3},
        {"messages": [{"role": "assistant", "content": [None, 1]}], "system": [None]},
    ],
)
def test_no_check_fails_on_odd_bodies(body) -> None:
    for check in CHECKS:
        assert all(one.severity == "note" for one in flaws(check, body, "anthropic-messages"))
