"""The name of a user, tenant or workspace in front of instructions that all sessions share."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.sections import stands_in_system
from hitrate.explain.causes.spot import Spot, spot_of
from hitrate.explain.causes.wording import place, quoted
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_LABEL = lazy_pattern(
    r"(?:\buser|customer|client|account|tenant|organi[sz]ation|\borg\b|compan|workspace|member|\bname\b|project|\bcwd\b|working.dir"
    r"|\bhome\b|e-?mail|hello|\bhi\b|dear|welcome|talking to|speak(?:ing)? (?:to|with)|assistant (?:of|for)"
    r"|behalf of|helping|owner|employee"
    r"|kunde|benutzer|nutzer|mandant|firma|anwender|assistent (?:von|für)|sprichst mit|hallo|utilisat|client|société"
    r"|entreprise|bonjour"
    r"|usuari|cliente|empresa|hola|utente|azienda|gebruiker|klant|bedrijf|użytkownik|klient|firma|пользовател|клиент|компани|здравствуйте"
    r"|kullanıcı|müşteri|şirket|用户|用戶|客户|客戶|租户|租戶|公司|姓名|你好|ユーザー|お客様|会社|氏名|様|사용자|고객|회사|이름|مستخدم|عميل|شركة|उपयोगकर्ता|ग्राहक)",
    re.IGNORECASE,
)
_EMAIL_OR_PATH = lazy_pattern(r"[^\s@/]+@[^\s@/]+\.\w+|/(?:home|Users)/[^/\s]+|[A-Z]:\\Users\\[^\\\s]+")
_PROPER = lazy_pattern(r"\w*[^\W\d_a-z]\w*")
"""A word with a letter that is no Latin lower-case one: a capital, or a script without case."""
_LETTER = lazy_pattern(r"[^\W\d_]")
_AMOUNT = lazy_pattern(r"[-+]?(?:[$€£¥₩₹₽₺][-+]?\d[\d.,']*|\d[\d.,']*[$€£¥₩₹₽₺%‰]|\d[\d,']*\.\d+)")


class NameOnTop:
    name: ClassVar[str] = "name-on-top"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "A user's, tenant's or workspace's name stands in front of text that all sessions share."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/anthropics/claude-code/issues/47107",
        "https://github.com/cnighswonger/claude-code-cache-fix/issues/280",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        if divergence is None or spot is None or not (divergence.kind == "tools" or stands_in_system(divergence, spot)):
            return None
        was, now = spot.tokens
        label = spot.label(was)
        named = _names_one(label[-60:], was) or all(_EMAIL_OR_PATH.search(line) for line in spot.lines)
        short = _short(spot)
        if was == now or not short or not (named or (self._across(evidence) and all(map(_PROPER.match, (was, now))))):
            return None
        if not self._across(evidence) and not (named and spot.goes_on_alike(*short)):
            return None
        between = "from session to session" if self._across(evidence) else "within a session"
        return Recognised(
            confidence="likely" if named else "possible",
            summary=f"A name in {place(divergence)} differs {between}: {quoted(short[0])} became {quoted(short[1])}.",
            advice="Put what belongs to one user or tenant behind the instructions that all share: at the end of the "
            "system prompt, or better into the first user message, so that every session starts warm.",
            ruled_out=(*ruled_out(evidence), "a clock, a date or an id: the value is none of these"),
        )

    @staticmethod
    def _across(evidence: Evidence) -> bool:
        return evidence.before is not None and evidence.before.conversation != evidence.call.conversation


def _names_one(label: str, value: str) -> bool:
    """Whether the text in front speaks of a user or tenant; in front of a number, its very last word has to, and an
    amount of money, a share or a fraction names nobody."""
    found = list(_LABEL.finditer(label))
    if not found or _AMOUNT.fullmatch(value):
        return False
    return bool(_LETTER.search(value)) or not re.search(r"\w", label[found[-1].end() :])


def _short(spot: Spot) -> tuple[str, str] | None:
    """Both values up to where the lines agree again; None where that is more than a name."""
    was, now = (line[len(spot.lead) :] for line in spot.lines)
    same = 0
    while same < min(len(was), len(now)) and was[-1 - same] == now[-1 - same]:
        same += 1
    begin = re.search(r"\w*\Z", spot.lead)
    head = begin.group() if begin else ""
    found = head + was[: len(was) - same], head + now[: len(now) - same]
    return found if 0 < max(map(len, found)) <= 60 and all(found) else None
