"""Checks of cache markers: there, read, few enough, in order, in reach, long enough."""

from __future__ import annotations

from typing import Any

import pytest
from lint_given import LONG, MARK, block, chat, claude, flaws

from hitrate.explain.lint.history_not_marked import HistoryNotMarked
from hitrate.explain.lint.lifetimes_out_of_order import LifetimesOutOfOrder
from hitrate.explain.lint.look_back_exceeded import LookBackExceeded
from hitrate.explain.lint.markers_not_read import MarkersNotRead
from hitrate.explain.lint.no_markers import NoMarkers
from hitrate.explain.lint.opening_not_marked import OpeningNotMarked
from hitrate.explain.lint.too_many_markers import TooManyMarkers
from hitrate.explain.lint.too_short import TooShort

MESSAGES, CONVERSE, CHAT = "anthropic-messages", "bedrock-converse", "openai-chat"
HOUR: dict[str, Any] = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
POINT = {"cachePoint": {"type": "default"}}


def converse(system: list[dict[str, Any]], *turns: list[dict[str, Any]]) -> dict[str, Any]:
    messages = [{"role": ("user", "assistant")[place % 2], "content": turn} for place, turn in enumerate(turns)]
    return {"modelId": "anthropic.claude-sonnet-4-5", "system": system, "messages": messages}


def seen(check, body: dict[str, Any], dialect: str, **rules: Any) -> list[tuple[str, str | None]]:
    return [(one.severity, one.pointer) for one in flaws(check, body, dialect, **rules)]


@pytest.mark.parametrize(
    ("body", "dialect", "found"),
    [
        (claude(LONG, "Hi"), MESSAGES, [("warning", None)]),
        (claude([block(LONG, **MARK)], "Hi"), MESSAGES, []),
        (claude("Short.", "Hi"), MESSAGES, []),
        (converse([{"text": LONG}], [{"text": "Hi"}]), CONVERSE, [("warning", None)]),
        (converse([{"text": LONG}, POINT], [{"text": "Hi"}]), CONVERSE, []),
        ({**claude(LONG, "Hi"), "cache_control": {"type": "ephemeral"}}, MESSAGES, []),
        (chat(LONG, "Hi"), CHAT, []),
    ],
)
def test_no_markers_where_nothing_is_cached_without(body, dialect, found) -> None:
    assert seen(NoMarkers(), body, dialect) == found


@pytest.mark.parametrize(
    ("body", "dialect", "found"),
    [
        (converse([{"text": LONG, **MARK}], [{"text": "Hi"}]), CONVERSE, [("error", "/system/0/cache_control")]),
        (
            claude([block(LONG, cacheControl={"type": "ephemeral"})], "Hi"),
            MESSAGES,
            [("error", "/system/0/cacheControl")],
        ),
        (
            claude([block(LONG, **MARK)], [block("Hi", cachePoint={"type": "default"})]),
            MESSAGES,
            [("warning", "/messages/0/content/0/cachePoint")],
        ),
        (claude([block(LONG, **MARK)], "Hi"), MESSAGES, []),
        (claude(LONG, [block('Write "cache_control" for me')]), MESSAGES, []),
    ],
)
def test_markers_of_another_wire(body, dialect, found) -> None:
    assert seen(MarkersNotRead(), body, dialect) == found


def test_a_fifth_marker_is_refused() -> None:
    def marked(number: int) -> dict[str, Any]:
        return claude([block(LONG, **MARK)], [block(f"Part {place}", **MARK) for place in range(number - 1)])

    assert seen(TooManyMarkers(), marked(4), MESSAGES) == []
    (flaw,) = flaws(TooManyMarkers(), marked(5), MESSAGES)
    assert (flaw.severity, flaw.pointer) == ("error", "/messages/0/content/3/cache_control")
    assert flaw.summary.startswith("5 cache markers where 4 are allowed: /system/0/cache_control, ")


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (HOUR, MARK, []),
        (MARK, MARK, []),
        (MARK, HOUR, [("error", "/messages/0/content/0/cache_control")]),
    ],
)
def test_longer_lifetimes_come_first(first, second, found) -> None:
    body = claude([block(LONG, **first)], [block("Hi", **second)])
    assert seen(LifetimesOutOfOrder(), body, MESSAGES) == found


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        (["Hi"], []),
        (["Hi", "Hello", "Short"], []),
        (["Hi", LONG, "And?"], [("warning", "/system/0/cache_control")]),
        (["Hi", LONG, [block("And?", **MARK)]], []),
    ],
)
def test_a_history_behind_the_last_marker(turns, found) -> None:
    assert seen(HistoryNotMarked(), claude([block(LONG, **MARK)], *turns), MESSAGES) == found


@pytest.mark.parametrize(
    ("system", "found"),
    [
        ([block(LONG)], [("note", "/messages/0/content/0/cache_control")]),
        ([block(LONG, **MARK)], []),
        ([block("Short.")], []),
    ],
)
def test_an_opening_that_others_share(system, found) -> None:
    assert seen(OpeningNotMarked(), claude(system, [block("Hi", **MARK)]), MESSAGES) == found


@pytest.mark.parametrize(
    ("blocks", "marked", "found"),
    [
        (18, {17}, []),  # the answer's block and 18 new ones: the 19th behind the entry
        (19, {18}, [("warning", "/messages/2/content/18/cache_control")]),
        (27, {26}, [("warning", "/messages/2/content/26/cache_control")]),
        (27, {10, 26}, []),
    ],
)
def test_a_turn_of_many_blocks(blocks, marked, found) -> None:
    turn = [block(f"Note {number}", **(MARK if number in marked else {})) for number in range(blocks)]
    body = claude([block(LONG, **MARK)], "Hi", "Hello", turn)
    assert seen(LookBackExceeded(), body, MESSAGES) == found


@pytest.mark.parametrize(
    ("body", "dialect", "rules", "found"),
    [
        (claude([block(LONG, **MARK)], "Hi"), MESSAGES, {}, []),
        (
            claude([block(LONG, **MARK)], "Hi", model="claude-haiku-4-5"),
            MESSAGES,
            {},
            [("warning", "/system/0/cache_control")],
        ),
        (claude([block("Short.", **MARK)], LONG), MESSAGES, {}, [("warning", "/system/0/cache_control")]),
        (claude("Short.", "Hi"), MESSAGES, {}, []),
        (chat("Short.", "Hi"), CHAT, {"minimum_tokens": 1024}, [("note", None)]),
        (chat(LONG, "Hi"), CHAT, {"minimum_tokens": 1024}, []),
        (chat("Short.", "Hi"), CHAT, {}, []),
    ],
)
def test_below_the_minimum_of_the_model(body, dialect, rules, found) -> None:
    assert seen(TooShort(), body, dialect, **rules) == found
