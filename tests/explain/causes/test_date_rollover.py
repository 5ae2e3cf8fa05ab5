from __future__ import annotations

import pytest
from breaks import AT, BODY, divergence, evidence, named, recognised

DATE = "date-rollover"
MIDNIGHT = 1_773_187_227.0
"""2026-03-11 00:00:27 UTC"""


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("Today's date: Tue Mar 10 2026", "Today's date: Wed Mar 11 2026"),
        ("Today is Tuesday, March 10th, 2026.", "Today is Wednesday, March 11th, 2026."),
        ("date: 2026-03-10", "date: 2026-03-11"),
        ("Current date: 10/03/2026", "Current date: 11/03/2026"),
        ("Current date: 03/10/2026", "Current date: 03/11/2026"),
        ("Heute ist Dienstag, der 10. März 2026.", "Heute ist Mittwoch, der 11. März 2026."),
        ("Stand: 10.03.2026", "Stand: 11.03.2026"),
        ("Nous sommes le mardi 10 mars 2026.", "Nous sommes le mercredi 11 mars 2026."),
        ("Hoy es martes, 10 de marzo de 2026", "Hoy es miércoles, 11 de marzo de 2026"),
        ("今日は2026年3月10日（火曜日）です。", "今日は2026年3月11日（水曜日）です。"),
        ("本日は令和8年3月10日(火)", "本日は令和8年3月11日(水)"),
        ("今天是2026年3月10日，星期二", "今天是2026年3月11日，星期三"),
        ("오늘은 2026년 3월 10일 화요일입니다", "오늘은 2026년 3월 11일 수요일입니다"),
        ("تاريخ اليوم: ١٠ مارس ٢٠٢٦", "تاريخ اليوم: ١١ مارس ٢٠٢٦"),
        ("Сегодня вторник, 10 марта 2026 г.", "Сегодня среда, 11 марта 2026 г."),
        ("Hoje é terça-feira, 10 de março de 2026.", "Hoje é quarta-feira, 11 de março de 2026."),
        ("आज 10 मार्च 2026 है", "आज 11 मार्च 2026 है"),
        ("Bugün 10 Mart 2026", "Bugün 11 Mart 2026"),
        ("snapshot 20260310", "snapshot 20260311"),
        ("Dnes je úterý 10. března 2026", "Dnes je středa 11. března 2026"),
        ("Σήμερα Τρίτη 10 Μαρτίου 2026", "Σήμερα Τετάρτη 11 Μαρτίου 2026"),
        ("Tuesday, 10 March", "Wednesday, 11 March"),
    ],
)
def test_a_day_passed_within_the_lifetime(was, now):
    name, said = recognised(evidence(divergence(was + BODY, now + BODY), gap=54, at=MIDNIGHT))
    assert (name, said.confidence) == (DATE, "certain")
    assert said.summary.endswith(", 54 s after the call before.")
    assert "the lifetime: 54 s passed of 5 min" in said.ruled_out
    assert "announce a new day in the newest message" in said.advice


@pytest.mark.parametrize(
    ("was", "now", "gap", "confidence"),
    [
        ("Today is Tuesday.", "Today is Wednesday.", 54, "likely"),
        ("Today: 2024-07-26", "Today: 2024-07-27", 54, "likely"),  # a day further on, of another year than the log
        ("Today: 2026-03-08", "Today: 2026-03-11", 54, "likely"),
        ("Today: 2026-03-10", "Today: 2026-03-11", None, "likely"),
        ("(10 March)", "(11 March)", None, "possible"),
        ("Today: 2026-03-08", "Today: 2026-03-11", 3 * 86_400, "certain"),
    ],
)
def test_how_sure(was, now, gap, confidence):
    found = evidence(divergence(was + BODY, now + BODY), gap=gap, at=MIDNIGHT, call={} if gap else {"at": None})
    name, said = recognised(found)
    assert (name, said.confidence) == (DATE, confidence)


@pytest.mark.parametrize(
    ("was", "now", "name"),
    [
        ("Founded on 4 May 1998.", "Founded on 9 May 1998.", "system-text-changed"),
        ("Offer valid until 2027-01-31", "Offer valid until 2027-06-30", "system-text-changed"),
        ("Ticket 2026-03-10-A17", "Ticket 2026-03-10-B22", "system-text-changed"),
        ("Now: 2026-03-10 23:59:33", "Now: 2026-03-11 00:00:27", "clock-in-prefix"),
        ("Meet on Friday.", "Meet on Saturday.", "system-text-changed"),
        ("Mail sent in March.", "Mail sent in April.", "system-text-changed"),
        ("Fix of 4 May", "Fix of 9 May", "system-text-changed"),
        ("Today: 2026-03-11", "Today:  2026-03-11", "text-form-changed"),
    ],
)
def test_other_dates_are_no_rollover(was, now, name):
    assert named(was + BODY, now + BODY, gap=54, at=AT) == name
