"""Names of months and weekdays as programs print them into prompts, in some twenty languages, and dates in numbers."""

from __future__ import annotations

_MONTHS = (
    "january jan januar jänner januari janvier janv enero ene janeiro gennaio gen stycznia января січня ocak ocak "
    "ιανουαρίου ledna yanvar يناير जनवरी มกราคม",
    "february feb februar februari février févr fév febrero fevereiro fev febbraio lutego февраля лютого şubat "
    "φεβρουαρίου února فبراير फ़रवरी फरवरी กุมภาพันธ์",
    "march mar märz mär mrz maart mrt mars marts marzo março marca марта березня mart maret μαρτίου března مارس मार्च "
    "มีนาคม",
    "april apr avril avr abril abr aprile kwietnia апреля квітня nisan απριλίου dubna أبريل ابريل अप्रैल เมษายน",
    "may mai mei mayo maio maggio mag maj maja мая травня mayıs μαΐου května مايو मई พฤษภาคม",
    "june jun juni juin junio junho giugno giu czerwca июня червня haziran ιουνίου června يونيو जून มิถุนายน",
    "july jul juli juillet juil julio julho luglio lug lipca июля липня temmuz ιουλίου července يوليو जुलाई กรกฎาคม",
    "august aug augustus août agosto ago sierpnia августа серпня ağustos agustus augusti αυγούστου srpna أغسطس अगस्त "
    "สิงหาคม",
    "september sept sep septembre septiembre setiembre setembro set settembre września сентября вересня eylül "
    "σεπτεμβρίου září سبتمبر सितंबर กันยายน",
    "october oct oktober okt octobre octubre outubro out ottobre ott października октября жовтня ekim οκτωβρίου října "
    "أكتوبر अक्टूबर ตุลาคม",
    "november nov novembre noviembre novembro listopada ноября листопада kasım νοεμβρίου listopadu نوفمبر नवंबर "
    "พฤศจิกายน",
    "december dec dezember dez décembre déc diciembre dic dezembro dicembre grudnia декабря грудня aralık desember des "
    "δεκεμβρίου prosince ديسمبر दिसंबर ธันวาคม",
)

_WEEKDAYS = (
    "monday montag lundi lunes segunda-feira lunedì maandag poniedziałek понедельник понеділок pazartesi måndag mandag "
    "senin 月曜日 月曜 星期一 周一 週一 월요일 الاثنين सोमवार วันจันทร์",
    "tuesday dienstag mardi martes terça-feira martedì dinsdag wtorek вторник вівторок salı tisdag tirsdag selasa "
    "火曜日 火曜 星期二 周二 週二 화요일 الثلاثاء मंगलवार วันอังคาร",
    "wednesday mittwoch mercredi miércoles quarta-feira mercoledì woensdag środa среда середа çarşamba onsdag rabu "
    "水曜日 水曜 星期三 周三 週三 수요일 الأربعاء बुधवार วันพุธ",
    "thursday donnerstag jeudi jueves quinta-feira giovedì donderdag czwartek четверг четвер perşembe torsdag kamis "
    "木曜日 木曜 星期四 周四 週四 목요일 الخميس गुरुवार วันพฤหัสบดี",
    "friday freitag vendredi viernes sexta-feira venerdì vrijdag piątek пятница п'ятниця cuma fredag jumat 金曜日 金曜 "
    "星期五 周五 週五 금요일 الجمعة शुक्रवार วันศุกร์",
    "saturday samstag sonnabend samedi sábado sabato zaterdag sobota суббота субота cumartesi lördag lørdag sabtu "
    "土曜日 土曜 星期六 周六 週六 토요일 السبت शनिवार วันเสาร์",
    "sunday sonntag dimanche domingo domenica zondag niedziela воскресенье неділя pazar söndag søndag minggu 日曜日 "
    "日曜 星期日 星期天 周日 週日 일요일 الأحد रविवार วันอาทิตย์",
)

_SHORT_WEEKDAYS = (
    "mon mo lun seg pn пн pzt mån man 月 월",
    "tue tues di mar ter wt вт sal tis tir 火 화",
    "wed mi mer mié qua śr ср çar ons 水 수",
    "thu thur thurs do jeu jue qui cz чт per tor 木 목",
    "fri fr ven vie sex pt пт cum fre 金 금",
    "sat sa sam sáb so сб cmt lör lør 土 토",
    "sun so dim dom nd вс paz sön søn 日 일",
)

MONTHS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
"""Lower-case name -> 1..12, in the grammatical case that dates use."""

WEEKDAYS = {name: number for number, names in enumerate(_WEEKDAYS) for name in names.split()}
"""Lower-case full name -> 0 (Monday) .. 6."""

SHORT_WEEKDAYS = {name for names in _SHORT_WEEKDAYS for name in names.split()}
"""Abbreviations; many are words of their own, so they count beside a date only."""

_EPOCH_SHIFT = 719_468
"""Days from 0000-03-01 to 1970-01-01 in the proleptic Gregorian calendar."""


def day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01: years are counted from March, so that the leap day comes last."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - _EPOCH_SHIFT


def year_of(day: int) -> int:
    """The Gregorian year of a day counted from 1970-01-01."""
    year = 1970 + int(day / 365.2425)
    while day_number(year + 1, 1, 1) <= day:
        year += 1
    while day_number(year, 1, 1) > day:
        year -= 1
    return year
