from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.explain.causes import moments as forms
from hitrate.explain.causes.calendar_words import day_number, year_of
from hitrate.explain.causes.moments import days_between, moment_at, moments, near, seconds_between

MARCH_11 = (2026, 3, 11)


@pytest.mark.parametrize(
    ("line", "text", "seconds", "date"),
    [
        ("at 2026-03-11T09:14:07Z sharp", "2026-03-11T09:14:07Z", 33_247, MARCH_11),
        ("Wed, 11 Mar 2026 23:59:58 GMT", "Wed, 11 Mar 2026 23:59:58 GMT", 86_398, MARCH_11),
        ("on March 11th, 2026 at 9:14 PM", "March 11th, 2026 at 9:14 PM", 76_440, MARCH_11),
        ("12:05 am", "12:05 am", 300, None),
        ("Mittwoch, der 11. März 2026, 9.14 Uhr", "Mittwoch, der 11. März 2026, 9.14 Uhr", 33_240, MARCH_11),
        ("mercredi 11 mars 2026 à 9h14", "mercredi 11 mars 2026 à 9h14", 33_240, MARCH_11),
        ("2026年3月11日(水) 9時14分", "2026年3月11日(水) 9時14分", 33_240, MARCH_11),
        ("令和8年3月11日", "令和8年3月11日", None, MARCH_11),
        ("民國115年3月11日", "民國115年3月11日", None, MARCH_11),
        ("下午3:05", "下午3:05", 54_300, None),
        ("١١ مارس ٢٠٢٦، الساعة ٠٩:١٤", "١١ مارس ٢٠٢٦، الساعة ٠٩:١٤", 33_240, MARCH_11),
        ("11 มีนาคม 2569", "11 มีนาคม 2569", None, MARCH_11),
        ("11.03.26", "11.03.26", None, MARCH_11),
        ("20260311091407", "20260311091407", 33_247, MARCH_11),
        ("20260311T091407Z", "20260311T091407Z", 33_247, MARCH_11),
        ("ngày 11 tháng 3 năm 2026", "ngày 11 tháng 3 năm 2026", None, MARCH_11),
    ],
)
def test_one_moment_with_its_value(line, text, seconds, date):
    (found,) = moments(line)
    assert (found.text, found.seconds, found.dates[:1]) == (text, seconds, (date,) if date else ())


@pytest.mark.parametrize(
    ("line", "epoch_s"),
    [("t=1773220447", 1_773_220_447), ("1773220447123", 1_773_220_447.123), ("1773220447.5", 1_773_220_447.5)],
)
def test_unix_times(line, epoch_s):
    assert moments(line)[0].epoch_s == epoch_s


@pytest.mark.parametrize(
    "line", ["v1.2.3", "10.0.0.1", "8080:80", "25:61", "2026-13-45", "99", "a:b", "9199999999", "May I?"]
)
def test_no_moment(line):
    assert moments(line) == ()


@pytest.mark.parametrize(
    ("was", "now", "days", "seconds"),
    [
        ("2026-03-10 23:59:58", "2026-03-11 00:00:02", 1, 4),
        ("28 Feb 2028", "1 Mar 2028", 2, None),
        ("31.12.2026", "01.01.2027", 1, None),
        ("Dec 31", "Jan 1", 1, None),
        ("02/03/2026", "03/03/2026", 1, None),
        ("03/31/2026", "04/01/2026", 1, None),
        ("Sunday", "Monday", 1, None),
        ("23:59:58", "00:00:02", None, 4),
        ("1773220433", "1773220447", None, 14),
        ("3 minutes ago", "5 minutes ago", None, 120),
        ("2026-03-11", "09:14", None, None),
    ],
)
def test_how_far_apart(was, now, days, seconds):
    first, second = moments(was)[0], moments(now)[0]
    assert (days_between(first, second), seconds_between(first, second)) == (days, seconds)


@pytest.mark.parametrize(
    ("text", "is_near"),
    [("2026-03-11", True), ("March 10", True), ("2025-03-11", False), ("1773220000", True), ("09:14", False)],
)
def test_near_a_time(text, is_near):
    assert near(moments(text)[0], 1_773_220_447.0) is is_near


def test_the_one_at_a_place_far_inside_a_line():
    line = "x" * 300 + " 2026-03-11 and 2026-04-01"
    found = moment_at(line, 310)
    assert (found.text, found.start, found.end) == ("2026-03-11", 301, 311)
    assert moment_at(line, 313) is None
    assert moment_at(line, 311).text == "2026-03-11"


@pytest.mark.parametrize("find", [moments, lambda line: moment_at(line, 5), lambda line: moment_at(line, 400)])
def test_no_long_line_stays_in_memory(find):
    line = " ".join(["at 2026-03-11,"] * 100)
    holders = sys.getrefcount(line)
    find(line)
    assert sys.getrefcount(line) == holders


@pytest.mark.parametrize(
    ("date", "day"),
    [((1970, 1, 1), 0), ((2000, 2, 29), 11_016), ((2026, 3, 11), 20_523), ((1969, 12, 31), -1), ((2100, 3, 1), 47_541)],
)
def test_days_are_counted_from_1970(date, day):
    assert day_number(*date) == day
    assert year_of(day) == date[0]


PIECES = (
    "11 Mar 2026", "2026-03-11T09:14:07Z", "9h14", "9 Uhr 14", "klo 9.14", "alle 9.14", "3 PM", "3 a.m.", "09:14:07.5",
    "20260311T091407", "20260311091407", "1773220447.5", "11/03/26", "March 11th", "an hour ago", "vor 3 Minuten",
    "il y a une heure", "hace 2 horas", "Il y a 3 JOURS", "3 MIN AGO", "Tue", "Sonntag", "7", ".", " ", ",", "T", "é",
    "2026年3月11日", "9時14分", "3分前", "ngày 11 tháng 3", "3 \u212aLO", "9.14 \u212alo", "kl. 9.14", "5 \u017f ago",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=8).map(" ".join))
def test_what_a_form_needs_leaves_no_moment_out(line):
    found = moments(line)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "_that_may_fit", lambda line, forms: [form.pattern for form in forms])
        patch.setattr(forms, "_DIGIT", re.compile(""))
        assert moments(line) == found
