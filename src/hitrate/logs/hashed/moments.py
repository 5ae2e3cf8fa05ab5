"""Times and dates of a given length: what stands for one that was hashed, or shows the one that was kept."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from itertools import product

from hitrate.explain.causes.calendar_words import MONTHS, WEEKDAYS

DAY_S = 86_400
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_LAST_DAY = datetime.date(2199, 12, 31).toordinal() - _EPOCH

CLASSES = "tdyeabBk"
"""t time of day, d date, y date without year, b date and time, B the same without year, e Unix time, a age, as in
"3 min ago", k weekday."""

_ZONES = ("", "Z", " UTC", "+00:00", " +0000", " +00:00")
_FILLER = "bdfgjkmnpqvwxz"


def moment_of_length(kind: str, length: int, value: int, step_s: int, digits: str) -> str | None:
    """A moment of exactly that many code points that shows `value`; None where no form is known that short.

    `value` is seconds of the day, days since 1970, month * 32 + day, these times 86,400 plus seconds, Unix time or the
    number of the weekday, by the class. `digits`, as many as are needed, fill fractions and ages.
    """
    best = ""
    for form in _forms(kind, length, value, step_s, digits):
        if len(form) == length:
            return form
        if len(best) < len(form) < length - 1:
            best = form
    if not best:
        return None
    return (_FILLER * (length // len(_FILLER) + 1))[: length - len(best) - 1] + " " + best


def _forms(kind: str, length: int, value: int, step_s: int, digits: str) -> Iterator[str]:
    if kind == "t":
        yield from _times(value % DAY_S, length, step_s, digits)
    elif kind in "dy":
        yield from _dates(kind, value)
    elif kind in "bB":
        day, second = divmod(value, DAY_S)
        dates = list(_dates("d" if kind == "b" else "y", day))
        for date, between in product(dates, (" ", "T", ", ", " at ")):
            for time in _times(second, length - len(date) - len(between), step_s, digits):
                yield date + between + time
        if kind == "b":
            moment = _date(day)
            yield f"{moment:%Y%m%d}T{second // 3600:02}{second // 60 % 60:02}{second % 60:02}Z"
            yield f"{moment:%Y%m%d}{second // 3600:02}{second // 60 % 60:02}{second % 60:02}"
    elif kind == "e":
        yield from _unix_times(value, length, digits)
    elif kind == "a":
        number = "1" + digits
        for unit in ("s ago", " s ago", " minutes ago"):
            if length > len(unit):
                yield number[: length - len(unit)] + unit
    elif kind == "k":
        yield from (word for word, day in WEEKDAYS.items() if day == value % 7 and len(word) == length)


def _times(second: int, length: int, step_s: int, digits: str) -> Iterator[str]:
    hour, minute, rest = second // 3600, second // 60 % 60, second % 60
    minutes = [f"{hour:02}:{minute:02}"] + ([f"{hour}:{minute:02}"] if hour < 10 else [])
    if step_s < 60:
        for base, zone in product(minutes, _ZONES):
            whole = f"{base}:{rest:02}"
            yield whole + zone
            fraction = length - len(whole) - len(zone) - 1
            if 0 < fraction < 10:
                yield f"{whole}.{digits[:fraction]}{zone}"
    elif step_s < 3600 or length > 4:
        yield from (base + zone for base, zone in product(minutes, _ZONES))
    half = "am" if hour < 12 else "pm"
    yield f"{hour}時"
    yield from (f"{hour % 12 or 12}{blank}{half}" for blank in ("", " "))
    yield f"{hour}h{minute:02}"


def _dates(kind: str, value: int) -> Iterator[str]:
    if kind == "y":
        month, day = divmod(value, 32)
        month, day = min(max(month, 1), 12), min(max(day, 1), 28 if month == 2 else 30)
        yield f"{month}月{day}日"
        yield from (f"{name} {day}" for name in _months(month))
        yield from (f"{day} {name}" for name in _months(month))
        return
    moment = _date(value)
    year, month, day = moment.year, moment.month, moment.day
    yield moment.isoformat()
    yield f"{day:02}.{month:02}.{year}"
    yield f"{day}.{month}.{year}"
    yield f"{day}.{month}.{year % 100:02}"
    yield f"{year}年{month}月{day}日"
    for name in _months(month):
        yield from (f"{day} {name} {year}", f"{name} {day} {year}", f"{name} {day}, {year}", f"{name} {day:02} {year}")
        weekday = moment.weekday()
        for word in _weekdays(weekday):
            yield from (f"{word} {name} {day} {year}", f"{word}, {name} {day}, {year}", f"{word}, {day} {name} {year}")
            yield f"{word} {name} {day:02} {year}"


def _unix_times(value: int, length: int, digits: str) -> Iterator[str]:
    yield str(value)
    for more in (3, 6, 9):
        yield f"{value}{digits[:more]}"
    if length > 11:
        yield f"{value}.{digits[: length - 11]}"


def _date(days: int) -> datetime.date:
    return datetime.date.fromordinal(_EPOCH + min(max(days, -25_000), _LAST_DAY))


def _months(month: int) -> list[str]:
    return _MONTH_WORDS[month]


def _weekdays(weekday: int) -> tuple[str, str]:
    name = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")[weekday]
    return name, name[:3]


_MONTH_WORDS: dict[int, list[str]] = {number: [] for number in range(1, 13)}
for _word, _number in MONTHS.items():
    if _word.isascii() and _word.isalpha():
        _MONTH_WORDS[_number].append(_word.capitalize())
