"""What kind of value a text is: UUID, hash, random characters, number. Shape alone proves nothing: a value counts only
where it differs between two prompts."""

from __future__ import annotations

import re

from hitrate.core.lazy_pattern import lazy_pattern

_UUID = lazy_pattern(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_TRACE = lazy_pattern(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.IGNORECASE)
_ULID = lazy_pattern(r"[0-9A-HJKMNP-TV-Z]{26}")
_HASH = lazy_pattern(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{7,}|(?=.*\d)(?=.*[A-F])[0-9A-F]{7,}|[0-9a-f]{32,}", re.ASCII)
_LONG_NUMBER = lazy_pattern(r"\d{9,}")
_RUN = lazy_pattern(r"[A-Za-z0-9]+")
_SWITCH = lazy_pattern(r"(?<=[a-zA-Z])(?=\d)|(?<=\d)(?=[a-zA-Z])")
_CASE_SWITCH = lazy_pattern(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[a-z])")
_SHORT_VALUE = lazy_pattern(r"(?=.*[\d])[\w-]{4,}|[0-9a-f]{4,}", re.ASCII)

_ID_WORDS = (
    r"(?:\w*[_-]|request|req|trace|span|session|call|item|run|user|thread|message|conversation|agent|task)?(?:id|ids)"
    r"|\w*(?:uuid|guid|hash|digest|checksum|nonce|token|trace|signature|correlation)"
    r"|sha\d*|etag|salt|seed|span|sig|cch|rid|sid|request|req|session|sess|run|build|conversation|thread|instance|pod|container|h"
    r"|anfrage|sitzung|kennung|vorgang|prüfsumme|requête|séance|identifiant|empreinte|solicitud|sesión|identificador"
    r"|sessão|richiesta|sessione|sessie|żądanie|sesja|oturum|istek|запрос|сессия|сеанс|идентификатор|хеш"
    r"|请求|請求|会话|會話|编号|編號|标识|標識|哈希|追踪|セッション|リクエスト|識別子|ハッシュ|요청|세션|식별자"
    r"|معرف|طلب|جلسة|सत्र|अनुरोध"
)
_ID_LABEL = lazy_pattern(
    rf"(?<![A-Za-z])(?:{_ID_WORDS})\W{{0,2}}(?:(?:id|nr|no)\W{{0,2}})?\s*(?:[:=#：]|is|ist|est|es)?\s*[\"'<(\[]?[\w.-]*[_-]?\Z",
    re.IGNORECASE,
)
"""A word for an id or a hash right in front of a value, with the part of the value that both sides share."""


def random_kind(token: str) -> str | None:
    """ "UUID", "trace context", "ULID", "hash", "long number" or "random characters" where a token, or a run of letters
    and digits in it, is of that shape; None for words and plain numbers."""
    for kind, pattern in (("trace context", _TRACE), ("UUID", _UUID)):
        if pattern.search(token):
            return kind
    for run in _RUN.findall(token):
        if _ULID.fullmatch(run) and len(_SWITCH.findall(run)) >= 2:
            return "ULID"
        if _HASH.fullmatch(run):
            return "hash"
        if _LONG_NUMBER.fullmatch(run):
            return "long number"
        if len(run) >= 6 and len(_SWITCH.findall(run)) >= 2:
            return "random characters"
        switches = len(_CASE_SWITCH.findall(run))
        if len(run) >= 16 and (2 * switches >= len(run) or (switches >= 4 and any(map(str.isdecimal, run)))):
            return "random characters"
    return None


def labelled_id(label: str, token: str) -> bool:
    """Whether the text in front names a short value as an id or a hash: "h=9b1d4", "request id: 4711"."""
    return bool(_SHORT_VALUE.fullmatch(token) and _ID_LABEL.search(label))


def number(text: str) -> float | None:
    """The value of a number as printed: 1,234.5 and 1.234,5 alike; None where it is none, as in 1.2.3."""
    digits = re.sub(r"['_\u00a0\u202f]", "", text)
    if re.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    elif re.fullmatch(r"[-+]?\d{1,3}(?:\.\d{3})+(?:,\d+)?", digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"[-+]?\d+,\d+", digits):
        digits = digits.replace(",", ".")
    try:
        return float(digits)
    except ValueError:
        return None
