"""Finds times of day, dates, Unix times and ages in a line of text, as programs of many locales print them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.calendar_words import MONTHS, SHORT_WEEKDAYS, WEEKDAYS, day_number, year_of

DAY_S = 86_400

Date = tuple[int | None, int, int]
"""Year (None where it is not written), month, day."""


class Moment(Struct, frozen=True, kw_only=True, gc=False):
    """A point in time written at `start`..`end` of a line.

    `seconds` is the time of day, `step_s` the smallest step that its form can show. `dates` are the readings of the
    date: two where day and month could be meant either way. `weekday` is 0 (Monday) .. 6. `epoch_s` is Unix time.
    `age_s` is for "3 minutes ago".
    """

    start: int
    end: int
    text: str
    seconds: float | None = None
    step_s: float = 1.0
    dates: tuple[Date, ...] = ()
    weekday: int | None = None
    epoch_s: float | None = None
    age_s: float | None = None

    @property
    def has_time(self) -> bool:
        return self.seconds is not None or self.epoch_s is not None or self.age_s is not None

    @property
    def has_date(self) -> bool:
        return bool(self.dates) or self.weekday is not None


_NAME = r"[^\W\d_][^\s\d.,:;()/（），：-]{1,13}"
"""A word that may name a month; letters of Indic scripts carry marks that are no word characters."""
_HALF = r"上午|下午|午前|午後|오전|오후|凌晨|早上|晚上"
_ZONE = r"(?:\s?(?:UTC|GMT|Z\b|[A-Z]{3,4}\b(?!:)|[+-]\d\d:?\d\d))?"


class _Form(NamedTuple):
    """A way to write moments down."""

    pattern: re.Pattern[str]
    needs: tuple[str, ...]
    """One of these is in every line of ASCII, in lower case, that the pattern finds something in."""


def _forms(needs: dict[str, tuple[str, ...]]) -> tuple[_Form, ...]:
    return tuple(_Form(lazy_pattern(pattern, re.IGNORECASE), needed) for pattern, needed in needs.items())


_OTHER_LETTERS: tuple[str, ...] = ()
"""The needs of forms that no line of ASCII has."""

_TIMES = _forms(
    {
        rf"(?:(?P<half>{_HALF})\s?)?(?<![\d:.,])(?P<h>\d{{1,2}})[:：](?P<m>\d\d)(?:[:：](?P<s>\d\d)(?P<f>[.,]\d+)?)?"
        rf"(?:\s?(?P<ap>[ap]\.?\s?m\b\.?|[صم](?!\w)))?(?![\d:])(?-i:{_ZONE})": (":",),
        rf"(?:(?P<half>{_HALF})\s?)?(?<!\d)(?P<h>\d{{1,2}})\s?[時时點点시]\s?(?:(?P<m>\d{{1,2}})\s?[分분])?"
        r"\s?(?:(?P<s>\d{1,2})\s?[秒초])?": _OTHER_LETTERS,
        r"(?<![\d.,])(?P<h>\d{1,2})\s?(?:h|u|uhr)\s?(?P<m>\d\d)(?:\s?(?:m|min)\s?(?P<s>\d\d)s?)?(?!\w)": ("h", "u"),
        r"(?<![\d.,])(?P<h>\d{1,2})\.(?P<m>\d\d)(?:\.(?P<s>\d\d))?\s?(?:uhr\b|klo\b)": ("uhr", "klo"),
        r"\b(?:klo?\.?|ore|alle)\s(?P<h>\d{1,2})\.(?P<m>\d\d)(?:\.(?P<s>\d\d))?(?!\d)": ("kl", "ore", "alle"),
        r"(?<![\d.,:])(?P<h>\d{1,2})\s?(?P<ap>[ap]\.?m\b\.?)": ("am", "pm", "a.m", "p.m"),
        r"(?<=\d{8}T)(?P<h>\d\d)(?P<m>\d\d)(?P<s>\d\d)(?:Z|[+-]\d{4})?(?!\d)": ("t",),
    }
)

_DATES = _forms(
    {
        r"(?<!\d)(?P<y>\d{4})(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})(?!\d)": ("-", "/", "."),
        r"(?:(?P<era>令和|平成|民國|民国)\s?)?(?:(?P<y>\d{1,4})\s?[年년]\s?)?(?P<m>\d{1,2})\s?[月월]\s?(?P<d>\d{1,2})"
        r"\s?[日일号號]": _OTHER_LETTERS,
        r"(?<!\w)(?P<d>\d{1,2})(?:st|nd|rd|th|er|º|ª|\.)?[\s-]?(?:de\s|of\s)?"
        rf"(?P<month>{_NAME})(?!\w)\.?,?(?:[\s-](?:de\s|del\s)?(?P<y>\d{{4}}))?(?!\d)": ("",),
        rf"(?<!\w)(?P<month>{_NAME})\.?\s(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])(?:,?\s(?P<y>\d{{4}}))?(?!\d)": ("",),
        r"(?<![\d./-])(?P<a>\d{1,2})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4}|\d\d)(?![\d])": ("-", "/", "."),
        r"ngày\s(?P<d>\d{1,2})\stháng\s(?P<m>\d{1,2})(?:\snăm\s(?P<y>\d{4}))?": _OTHER_LETTERS,
        r"(?<![\w.])(?P<y>(?:19|20)\d\d)(?P<m>[01]\d)(?P<d>[0-3]\d)(?=T\d|\D|$)": ("19", "20"),
    }
)

_STAMP = lazy_pattern(r"(?<![\w.])((?:19|20)\d\d)([01]\d)([0-3]\d)([0-2]\d)([0-5]\d)([0-5]\d)(?!\d)")
_EPOCH = lazy_pattern(r"(?<![\w.])(?P<whole>[12]\d{9}(?:\d{3}){0,3})(?P<f>\.\d+)?(?![\w])")
_WEEKDAY = lazy_pattern(
    r"[月火水木金土日]曜日?|(?:星期|周|週)[一二三四五六日天]|[월화수목금토일]요일|"
    r"[^\W\d_\u3040-\u9fff\uac00-\ud7a3][^\s\d.,:;()/（），：]{2,15}"
)
_SHORT_WEEKDAY = lazy_pattern(r"[^\W\d_]{1,5}")
_AGES = _forms(
    {
        r"(?P<n>\d+|an?|one)\s?(?P<unit>s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?|hrs?|days?|d)\sago\b": ("ago",),
        r"\bvor\s(?P<n>\d+|einer?|einem)\s(?P<unit>sekunden?|minuten?|stunden?|tag(?:en)?)\b": ("vor",),
        r"\bil y a\s(?P<n>\d+|une?)\s(?P<unit>secondes?|minutes?|heures?|jours?)\b": ("il y a",),
        r"\bhace\s(?P<n>\d+|una?)\s(?P<unit>segundos?|minutos?|horas?|días?)\b": ("hace",),
        r"(?P<n>\d+)\s?(?P<unit>秒|分|分钟|分鐘|時間|小时|小時|日|天|초|분|시간|일)\s?(?:前|之前|전)": _OTHER_LETTERS,
        r"(?P<n>\d+)\s(?P<unit>секунд\w?|минут\w?|час\w*|дн\w+|день)\sназад": _OTHER_LETTERS,
    }
)
_UNIT_S = (
    (r"s|sec.*|sekund.*|segund.*|秒|초|секунд.*", 1.0),
    (r"m|min.*|分|分钟|分鐘|분|минут.*", 60.0),
    (r"h|h(?:ou)?rs?|hours?|stund.*|heure.*|hora.*|時間|小时|小時|시간|час.*", 3600.0),
    (r".*", float(DAY_S)),
)

_NEIGHBOURS = lazy_pattern(
    r"[\s,;·|/()（），、،T@-]*(?:(?:at|um|à|a las|às|alle|om|kl\.?|the|den|der|le|el|on|в|г\.,?|р\.,?|o|saat"
    r"|الساعة)\s)?[\s(（]*"
)
"""What may stand between the parts of one moment."""


_LONGEST = 72
"""Code points of a moment with weekday, date and time, in a language with long names."""

_DIGIT = lazy_pattern(r"\d")


def moments(line: str) -> tuple[Moment, ...]:
    """All moments in `line`, in order; date, weekday and time of day that belong together are one."""
    taken: list[Moment] = []
    in_numbers = (*_stamps(line), *_epochs(line), *_dates(line)) if (digits := _DIGIT.search(line)) else ()
    times = _times(line) if digits else ()
    for moment in (*in_numbers, *_ages(line), *times, *_weekdays(line)):
        if all(moment.end <= other.start or moment.start >= other.end for other in taken):
            taken.append(moment)
    joined: list[Moment] = []
    for moment in sorted((_with_short_weekday(one, line) for one in taken), key=lambda one: one.start):
        together = bool(joined) and _belong(joined[-1], moment, line)
        joined.append(_join(joined.pop(), moment, line) if together else moment)
    return tuple(joined)


def moment_at(line: str, position: int) -> Moment | None:
    """The moment that covers `position`, or ends right there."""
    start = max(0, position - _LONGEST)
    place = position - start
    ending = None
    for moment in _moments_around(line[start : position + _LONGEST]):
        if moment.start <= place < moment.end:
            return _moved(moment, start)
        if ending is None and moment.end == place:
            ending = moment
    return None if ending is None else _moved(ending, start)


@lru_cache(maxsize=512)  # the later side of a break is the earlier one of the next, which can lie at another place
def _moments_around(window: str) -> tuple[Moment, ...]:
    """`moments`, which itself remembers no line: a line can be of any length, and one that nobody may keep."""
    return moments(window)


def _moved(moment: Moment, by: int) -> Moment:
    return replace(moment, start=moment.start + by, end=moment.end + by) if by else moment


def days_between(was: Moment, now: Moment) -> int | None:
    """Days from one date to the other, None where that cannot be told. A date without a year is read as the next such
    day, a weekday without a date as the next such weekday."""
    if was.dates and now.dates:
        alike = len(was.dates) == len(now.dates)  # else one of them can be meant in one way only
        pairs = zip(was.dates, now.dates, strict=True) if alike else product(was.dates, now.dates)
        apart = [_apart(reading_was, reading_now) for reading_was, reading_now in pairs]
        return min(apart, key=lambda days: (days < 0, abs(days)))
    if was.weekday is not None and now.weekday is not None:
        return (now.weekday - was.weekday) % 7
    return None


def seconds_between(was: Moment, now: Moment) -> float | None:
    """Seconds from one moment to the other; of two times of day without a date, the next such time is meant."""
    if was.epoch_s is not None and now.epoch_s is not None:
        return now.epoch_s - was.epoch_s
    if was.age_s is not None and now.age_s is not None:
        return now.age_s - was.age_s
    if was.seconds is None or now.seconds is None:
        return None
    within = now.seconds - was.seconds
    days = days_between(was, now)
    return within % DAY_S if days is None else within + days * DAY_S


def near(moment: Moment, at: float, days: float = 2.0) -> bool:
    """Whether the moment's own date, where it shows one, is that of Unix time `at`, give or take time zones."""
    if moment.epoch_s is not None:
        return abs(moment.epoch_s - at) <= days * DAY_S
    today = at / DAY_S
    return any(
        abs(day_number(year_of(int(today)) if year is None else year, month, day) - today) <= days
        for year, month, day in moment.dates
    )


def _apart(was: Date, now: Date) -> int:
    if was[0] is None or now[0] is None:
        days = day_number(2001, now[1], now[2]) - day_number(2001, was[1], was[2])
        return days % 365
    return day_number(now[0], now[1], now[2]) - day_number(was[0], was[1], was[2])


def _that_may_fit(line: str, forms: Iterable[_Form]) -> list[re.Pattern[str]]:
    """The patterns of the forms that something in the line may have, in their order."""
    if not line.isascii():
        return [form.pattern for form in forms]
    lower = line.lower()
    found = []
    for pattern, needs in forms:
        for needed in needs:
            if needed in lower:
                found.append(pattern)
                break
    return found


def _times(line: str) -> Iterator[Moment]:
    for pattern in _that_may_fit(line, _TIMES):
        for match in pattern.finditer(line):
            groups = match.groupdict()
            hour, minute, second = (int(groups.get(name) or 0) for name in "hms")
            half = (groups.get("half") or "") + (groups.get("ap") or "").lower()
            if hour > 24 or minute > 59 or second > 60 or (half and hour > 12 and not groups.get("half")):
                continue
            if half.startswith(("p", "م", "下午", "午後", "오후", "晚上")) and hour < 12:
                hour += 12
            elif half.startswith(("a", "ص", "上午", "午前", "오전", "凌晨")) and hour == 12:
                hour = 0
            fraction = groups.get("f")
            seconds = hour * 3600 + minute * 60 + second + (float("0." + fraction[1:]) if fraction else 0.0)
            step = 1.0 if groups.get("s") else 60.0 if groups.get("m") else 3600.0
            yield Moment(start=match.start(), end=match.end(), text=match.group(), seconds=seconds, step_s=step)


def _dates(line: str) -> Iterator[Moment]:
    for pattern in _that_may_fit(line, _DATES):
        for match in pattern.finditer(line):
            if (match.groupdict().get("month") or "may").lower() not in MONTHS:
                continue
            readings = tuple(reading for reading in _readings(match.groupdict()) if _exists(reading))
            if readings:
                yield Moment(start=match.start(), end=match.end(), text=match.group(), dates=readings)


def _readings(groups: dict[str, str | None]) -> Iterator[Date]:
    written = groups.get("y")
    year = int(written) if written else None
    if year is not None:
        era = groups.get("era") or ""
        year += {"令和": 2018, "平成": 1988, "民國": 1911, "民国": 1911}.get(era, 2000 if year < 100 else 0)
        year -= 543 if year > 2400 else 0
    if groups.get("a"):
        first, second = int(groups["a"] or 0), int(groups.get("b") or 0)
        yield year, second, first
        if groups["sep"] != ".":
            yield year, first, second
        return
    month = groups.get("month")
    yield year, MONTHS[month.lower()] if month else int(groups.get("m") or 0), int(groups.get("d") or 0)


def _exists(date: Date) -> bool:
    year, month, day = date
    return 1 <= month <= 12 and 1 <= day <= 31 and (year is None or 1900 <= year <= 2200)


def _stamps(line: str) -> Iterator[Moment]:
    for match in _STAMP.finditer(line):
        year, month, day, hour, minute, second = (int(part) for part in match.groups())
        if _exists((year, month, day)):
            yield Moment(
                start=match.start(),
                end=match.end(),
                text=match.group(),
                seconds=hour * 3600 + minute * 60 + second,
                dates=((year, month, day),),
            )


def _epochs(line: str) -> Iterator[Moment]:
    for match in _EPOCH.finditer(line):
        whole = match["whole"]
        seconds = int(whole) / 10 ** (len(whole) - 10) + float(match["f"] or 0)
        if seconds < 2.5e9:
            yield Moment(start=match.start(), end=match.end(), text=match.group(), epoch_s=seconds)


def _ages(line: str) -> Iterator[Moment]:
    for pattern in _that_may_fit(line, _AGES):
        for match in pattern.finditer(line):
            unit = next(seconds for unit, seconds in _UNIT_S if re.fullmatch(unit, match["unit"], re.IGNORECASE))
            count = int(match["n"]) if match["n"].isdecimal() else 1
            yield Moment(start=match.start(), end=match.end(), text=match.group(), age_s=count * unit, step_s=unit)


def _weekdays(line: str) -> Iterator[Moment]:
    for match in _WEEKDAY.finditer(line):
        weekday = WEEKDAYS.get(match.group().lower())
        if weekday is None:
            continue
        yield Moment(start=match.start(), end=match.end(), text=match.group(), weekday=weekday)


def _belong(first: Moment, second: Moment, line: str) -> bool:
    if second.start - first.end > 12 or not _NEIGHBOURS.fullmatch(line, first.end, second.start):
        return False
    if first.has_time and second.has_time:
        return False
    return not (first.dates and second.dates) and None in (first.epoch_s, second.age_s)


def _join(first: Moment, second: Moment, line: str) -> Moment:
    timed = first if first.seconds is not None else second
    return Moment(
        start=first.start,
        end=second.end,
        text=line[first.start : second.end],
        seconds=timed.seconds,
        step_s=timed.step_s,
        dates=first.dates or second.dates,
        weekday=first.weekday if first.weekday is not None else second.weekday,
        epoch_s=first.epoch_s if first.epoch_s is not None else second.epoch_s,
        age_s=first.age_s if first.age_s is not None else second.age_s,
    )


def _with_short_weekday(moment: Moment, line: str) -> Moment:
    """The moment with an abbreviated weekday in front or behind taken in: "Tue Mar 10", "3月11日(水)"."""
    if not moment.dates:
        return moment
    start, end = moment.start, moment.end
    for match in _SHORT_WEEKDAY.finditer(line):
        if match.group().lower() not in SHORT_WEEKDAYS:
            continue
        if match.end() <= start and re.fullmatch(r"[\s.,]{1,3}(?:den |the )?", line[match.end() : start]):
            start = match.start()
        elif match.start() >= end and re.fullmatch(r"\s?[(（,]\s?", line[end : match.start()]):
            end = match.end()
    return replace(moment, start=start, end=end, text=line[start:end])
