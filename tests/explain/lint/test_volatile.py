"""What looks volatile in a text, and how much."""

from __future__ import annotations

import pytest

from hitrate.explain.lint.volatile import volatile


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Current time: 2026-03-11 09:14:07 UTC", [("clock", "warning", "2026-03-11 09:14:07 UTC")]),
        ("Heute ist Mittwoch, 11. März 2026, 09:14:07", [("clock", "warning", "Mittwoch, 11. März 2026, 09:14:07")]),
        ("現在 2026年3月11日 9時14分7秒", [("clock", "warning", "2026年3月11日 9時14分7秒")]),
        ("It is now 2026-03-11 09:14", [("clock", "warning", "2026-03-11 09:14")]),
        ("Current date and time: 2026-03-11 09:14", [("clock", "warning", "2026-03-11 09:14")]),
        ("Build of 2026-03-11 09:14:07", [("clock", "note", "2026-03-11 09:14:07")]),
        ("current timestamp: 1773220447", [("clock", "warning", "1773220447")]),
        ("Call 1773220447 for help", []),
        ("The shop is open from 09:00 to 17:00.", []),
        ("Deadline 23:59:59 of each day", []),
        ("Last seen 3 minutes ago", [("clock", "note", "3 minutes ago")]),
        ("Orders placed 3 days ago may be changed", []),
        ("Today's date: 2026-03-11", [("date", "note", "2026-03-11")]),
        ("Plants of kind 12 may come back", []),
        ("Today is 12 May", [("date", "note", "12 May")]),
        ("The act of 25 May 2018 applies", [("date", "note", "25 May 2018")]),
        (
            "Trace 4bf92f35-77b3-4da6-a3ce-929d0e0e4736 of this call",
            [("id", "warning", "4bf92f35-77b3-4da6-a3ce-929d0e0e4736")],
        ),
        (
            "Policy build 5c0f3b1e-77a2-4d1c-9c40-2f6f1f0b9d11",
            [("id", "note", "5c0f3b1e-77a2-4d1c-9c40-2f6f1f0b9d11")],
        ),
        ("request id: 9f86d081884c7d65", [("id", "warning", "9f86d081884c7d65")]),
        ("Use the code 9f86d081884c7d65 for it", []),
        ("x-billing-header: cc=2.1; cch=9b1d4", [("id", "warning", "9b1d4")]),
        ("See RFC 6901 and ISO 8601 for order FT-APL-M9", []),
        ("Turn 14 of 50.", [("counter", "note", "14")]),
        ("You have 12,400 tokens left.", [("counter", "note", "12,400")]),
        ("Answer in at most 3 steps.", []),
        ("", []),
    ],
)
def test_values_by_shape_and_label(text: str, found: list[tuple[str, str, str]]) -> None:
    assert [(one.kind, one.severity, text[one.start : one.end]) for one in volatile(text)] == found


def test_places_count_from_the_start_of_the_text() -> None:
    text = "First line.\nNow: 2026-03-11 09:14:07\nTrace 01ARZ3NDEKTSV4RRFFQ69G5FAV\n"
    assert [(one.start, text[one.start : one.end]) for one in volatile(text)] == [
        (17, "2026-03-11 09:14:07"),
        (43, "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    ]
