from __future__ import annotations

import pytest
from breaks import AT, BODY, divergence, evidence, named, recognised

CLOCK, DATE = "clock-in-prefix", "date-rollover"


@pytest.mark.parametrize(
    ("was", "now", "gap"),
    [
        ("Current time: 2026-03-11 09:13:53 UTC", "Current time: 2026-03-11 09:14:07 UTC", 14),
        ("Now: 2026-03-11T09:13:53.120Z.", "Now: 2026-03-11T09:14:07.004Z.", 14),
        ("The time is 9:13 AM.", "The time is 9:14 AM.", 60),
        ("It is 11:59 AM here.", "It is 12:02 PM here.", 180),
        ("Local time 23:59:58", "Local time 00:00:12", 14),
        ("Date: Tue, 10 Mar 2026 23:59:58 GMT", "Date: Wed, 11 Mar 2026 00:00:12 GMT", 14),
        ("Heute ist Mittwoch, der 11. März 2026, 9.13 Uhr.", "Heute ist Mittwoch, der 11. März 2026, 9.14 Uhr.", 60),
        (
            "Nous sommes le mercredi 11 mars 2026, il est 9h13.",
            "Nous sommes le mercredi 11 mars 2026, il est 9h14.",
            60,
        ),
        ("Son las 9:13 del 11 de marzo de 2026.", "Son las 9:14 del 11 de marzo de 2026.", 60),
        ("現在時刻：2026年3月11日 9時13分53秒", "現在時刻：2026年3月11日 9時14分07秒", 14),
        ("当前时间：2026年3月11日 星期三 上午9:13", "当前时间：2026年3月11日 星期三 上午9:14", 60),
        ("현재 시각: 2026년 3월 11일 오전 9시 13분", "현재 시각: 2026년 3월 11일 오전 9시 14분", 60),
        ("الوقت الآن: ٠٩:١٣", "الوقت الآن: ٠٩:١٤", 60),
        ("Сейчас 11 марта 2026 г., 09:13:53", "Сейчас 11 марта 2026 г., 09:14:07", 14),
        ('{"ts": 1773220433, "agent": "fennel"}', '{"ts": 1773220447, "agent": "fennel"}', 14),
        ("epoch_ms=1773220433120", "epoch_ms=1773220447004", 14),
        ("build 20260311T091353Z", "build 20260311T091407Z", 14),
        ("Wed Mar 11 09:13:53 CET 2026", "Wed Mar 11 09:14:07 CET 2026", 14),
        ("Index refreshed 3 minutes ago", "Index refreshed 4 minutes ago", 60),
        ("Index zuletzt vor 3 Minuten erneuert", "Index zuletzt vor 4 Minuten erneuert", 60),
        ("3分前に更新", "4分前に更新", 60),
        ("Sono le ore 9.13 a Roma.", "Sono le ore 9.14 a Roma.", 60),
        ("Klokken er nå kl. 9.13", "Klokken er nå kl. 9.14", 60),
        ("11/03/2026 14:43:53 IST", "11/03/2026 14:44:07 IST", 14),
    ],
)
def test_a_time_that_moved_with_the_calls_is_certain(was, now, gap):
    name, said = recognised(evidence(divergence(was + BODY, now + BODY), gap=gap))
    assert (name, said.confidence) == (CLOCK, "certain")
    assert f"the lifetime: {gap} s passed of 5 min" in said.ruled_out or gap == 180


@pytest.mark.parametrize(
    ("was", "now", "gap", "confidence"),
    [
        ("Current time: 09:13", "Current time: 09:51", 60, "likely"),  # another clock than the log's
        ("Current time: 09:13", "Current time: 09:14", None, "likely"),  # the log has no times
        ("[09:13] ", "[09:14] ", None, "possible"),
        ("Updated 2026-03-11 06:00", "Updated 2026-03-11 09:00", 60, "likely"),  # rounded, and of the day of the call
    ],
)
def test_how_sure(was, now, gap, confidence):
    found = evidence(divergence(was + BODY, now + BODY), gap=gap, call={} if gap is not None else {"at": None})
    name, said = recognised(found)
    assert (name, said.confidence) == (CLOCK, confidence)


@pytest.mark.parametrize(
    ("was", "now", "name"),
    [
        ("The shop opens at 09:00 in spring.", "The shop opens at 10:00 in spring.", "system-text-changed"),
        ("Today is Tuesday, March 10, 2026.", "Today is Wednesday, March 11, 2026.", DATE),
        ("Contract of 2019-04-01 10:00", "Contract of 2021-06-30 12:00", "system-text-changed"),
        ("Read John 3:16 first.", "Read John 4:07 first.", "system-text-changed"),
        ("Use version 1.2.3 of the tool.", "Use version 1.2.4 of the tool.", "system-text-changed"),
        ("Serve on port 8080.", "Serve on port 9090.", "counter-in-prefix"),
        ("Order 1773220433 is open.", "Order 1903220433 is open.", "nonce-in-prefix"),
        ("Call 555-0142 for help.", "Call 555-0199 for help.", "system-text-changed"),
    ],
)
def test_other_numbers_are_no_clock(was, now, name):
    assert named(was + BODY, now + BODY) == name


@pytest.mark.parametrize(
    ("kind", "pointer"),
    [
        ("tools", "/tools/0/function/description"),
        ("user", "/messages/1/content"),
        ("system", "/systemInstruction/parts/0/text"),
    ],
)
def test_it_is_a_clock_wherever_it_stands(kind, pointer):
    assert named("As of 09:13:53 UTC.", "As of 09:14:07 UTC.", kind=kind, pointer=pointer) == CLOCK


@pytest.mark.parametrize(
    ("line", "at", "name"),
    [
        ("Epoch 1773220447.725", AT, CLOCK),
        ("Epoch 1773220447.725", None, CLOCK),
        ("Now: 2026-03-11 09:14:07", AT, CLOCK),
        ("Time: 09:14", AT, CLOCK),
        ("Opened in 1773220447", None, "system-text-changed"),
        ("Founded on 2019-04-01 at 10:00", AT, "system-text-changed"),
        ("Open from 09:00", AT, "system-text-changed"),
        ("Be brief today.", AT, "system-text-changed"),
    ],
)
@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("across", [False, True])
def test_a_line_that_only_one_of_two_prompts_has(line, at, name, gone, across):
    texts = [BODY.strip(), f"{line}\n{BODY.strip()}"]
    was, now = reversed(texts) if gone else texts
    gap = None if at is None else 14.0
    assert recognised(evidence(divergence(was, now), at=at, gap=gap, across=across))[0] == name


def test_what_it_says_of_a_line():
    _, said = recognised(evidence(divergence(BODY.strip(), "Epoch 1773220447.725\n" + BODY.strip())))
    assert said.summary == (
        'A line with the time is new in the system prompt (/messages/0/content, character 0): "1773220447.725".'
    )


def test_what_it_says():
    _, said = recognised(evidence(divergence("Time: 09:13:53" + BODY, "Time: 09:14:07" + BODY)))
    assert said.summary == (
        'The time in the system prompt (/messages/0/content, character 10) changed from "09:13:53" to "09:14:07"; '
        "it can change every second."
    )
    assert "newest user message" in said.advice


def test_the_period_shows_in_several_values():
    past = [
        divergence(f"Time: {was}" + BODY, f"Time: {now}" + BODY)
        for was, now in (("08:40", "08:55"), ("08:55", "09:00"))
    ]
    found = evidence(divergence("Time: 09:00" + BODY, "Time: 09:05" + BODY), gap=200, at=AT, lineage=past)
    assert recognised(found)[1].summary.endswith("it moves in steps of 5 minutes.")
