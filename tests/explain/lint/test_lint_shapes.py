"""Checks that go by the look of a value in front of the history."""

from __future__ import annotations

import pytest
from lint_given import MARK, block, chat, claude, flaws, tool

from hitrate.explain.lint.clock_in_prefix import ClockInPrefix
from hitrate.explain.lint.counter_in_prefix import CounterInPrefix
from hitrate.explain.lint.date_rollover import DateRollover
from hitrate.explain.lint.nonce_in_prefix import NonceInPrefix
from hitrate.explain.lint.volatile_block_marked import VolatileBlockMarked

CLOCK = "Current time: 2026-03-11 09:14:07 UTC\n\nYou are Fennel."
UUID = "Trace 4bf92f35-77b3-4da6-a3ce-929d0e0e4736"


@pytest.mark.parametrize(
    ("check", "body", "found"),
    [
        (ClockInPrefix(), chat(CLOCK, "Hi"), [("warning", "/messages/0/content", 14)]),
        (ClockInPrefix(), chat("You are Fennel.", f"{CLOCK} {UUID}"), []),
        (
            ClockInPrefix(),
            chat("Be kind.", "Hi", tools=[tool("find", "Now 2026-03-11 09:14:07.")]),
            [("warning", "/tools/0/function/description", 4)],
        ),
        (DateRollover(), chat("Today is 2026-03-11.", "Hi"), [("note", "/messages/0/content", 9)]),
        (DateRollover(), chat(CLOCK, "Hi"), []),
        (NonceInPrefix(), chat(UUID, "Hi"), [("warning", "/messages/0/content", 6)]),
        (NonceInPrefix(), chat("You are Fennel.", "Hi", UUID), []),
        (CounterInPrefix(), chat("Turn 3 of 20", "Hi"), [("note", "/messages/0/content", 5)]),
        (CounterInPrefix(), chat("Be kind.", "Hi", tools=[tool("go", "Step: 3 is the default")]), []),
    ],
)
def test_only_what_stands_in_front_of_the_history_counts(check, body, found) -> None:
    assert [(one.severity, one.pointer, one.offset) for one in flaws(check, body, "openai-chat")] == found


def test_one_flaw_a_text_names_the_worst_value_and_counts_the_others() -> None:
    text = "Published 2026-01-15 10:00.\nCurrent time: 2026-03-11 09:14:07"
    (flaw,) = flaws(ClockInPrefix(), chat(text, "Hi"), "openai-chat")
    assert flaw.severity == "warning"
    assert flaw.offset == text.index("2026-03-11")
    assert "and 1 more in this text" in flaw.summary


@pytest.mark.parametrize(
    ("system", "found"),
    [
        ([block("You are Fennel.", **MARK), block(CLOCK)], []),
        ([block("You are Fennel."), block(CLOCK, **MARK)], ["/system/1/text"]),
        ([block("Policy of 2026-01-15.", **MARK)], []),
    ],
)
def test_a_marker_belongs_in_front_of_what_changes(system, found) -> None:
    body = claude(system, "Hi")
    assert [one.pointer for one in flaws(VolatileBlockMarked(), body, "anthropic-messages")] == found
