"""`explain`: what broke the prefix cache, where, whose doing, at what price.

The title is the answer in one line: which call, where, what changed, what it cost. Tokens of labels and losses are
estimates and marked as such; served tokens are the engine's own figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unicodedata import normalize

from msgspec import Struct

from hitrate.core.findings import ExplainReport, Finding, SessionWaterfall, Voice, Waterfall
from hitrate.explain.visible import visible
from hitrate.report.columns import HIT_RATE, PROMPT, Column, Sheet, amount, count, percent
from hitrate.report.words import Line, Passage, record_lines

TYPE = ExplainReport

MOST_FINDINGS_SHOWN = 20
MOST_SESSIONS_SHOWN = 20
MOST_CALLS_NAMED = 8

SIDE_CHARACTERS = 40
"""Of each side of a change that the first line shows."""

VOICES: dict[Voice, str] = {
    "yours to change": "you can change this",
    "observation": "observation",
    "provider suspected": "provider suspected",
}

_COSTS_NO_TOKENS = frozenset({"reporting", "pricing"})


def title(report: ExplainReport) -> str:
    if not report.findings:
        return _healthy(report)
    more = len(report.findings) - 1
    parts = [first_line(report.findings[0]), f"and {count(more)} more finding{_s(more)}" if more else ""]
    return " · ".join(part for part in (*parts, _left_out(report)) if part)


def first_line(finding: Finding, *, with_cost: bool = True, with_summary: bool = True) -> str:
    """Which call, where, what changed, what it cost, and the cause. A finding on a whole log has no place: there its
    summary says what it is, where that does not stand beside the line."""
    said = finding.summary.rstrip(".") if finding.call is None and with_summary else ""
    parts = [_calls_compared(finding), place(finding), change(finding), said, cost(finding) if with_cost else ""]
    return f"{' · '.join(part for part in parts if part)}: {finding.cause}"


def _healthy(report: ExplainReport) -> str:
    waterfall = report.waterfall
    left_out, damaged = _left_out(report), report.records.damaged
    if report.calls and report.records.left_out == report.calls:
        text = f"nothing could be compared: {left_out}"
    else:
        text = f"nothing found that breaks the prefix cache: {_read(report)}" + (f" · {left_out}" if left_out else "")
    if damaged:
        text += f" · {count(damaged)} record{_s(damaged)} could not be used"
    if waterfall.hit_rate is None:
        return f"{text} · cached tokens not reported, so no hit rate"
    return f"{text} · hit rate {percent(waterfall.hit_rate)} %, {_lost(waterfall.lost_tokens, waterfall.lost_usd)}"


def _left_out(report: ExplainReport) -> str:
    left_out = report.records.left_out
    return f"the request of {count(left_out)} of {_calls(report.calls)} could not be read" if left_out else ""


def _calls_compared(finding: Finding) -> str:
    if finding.call is not None:
        return f"call {finding.call}" + (f" against {finding.against}" if finding.against is not None else "")
    if not finding.calls:
        return "the whole log"
    if finding.occurrences > MOST_CALLS_NAMED:
        return f"{_calls(finding.occurrences)}: {_named(finding)}"
    return f"call{_s(len(finding.calls))} {_named(finding)}"


def _named(finding: Finding) -> str:
    more = ", …" if finding.occurrences > MOST_CALLS_NAMED and finding.calls else ""
    return ", ".join(map(str, finding.calls[:MOST_CALLS_NAMED])) + more


def place(finding: Finding) -> str:
    """ "/messages/0/content, character 31"; "" where a finding has no place."""
    if finding.pointer is None:
        return ""
    where = visible(finding.pointer) or "the whole body"
    return where if finding.offset is None else f"{where}, character {count(finding.offset)}"


def change(finding: Finding, most: int = SIDE_CHARACTERS) -> str:
    """Both sides with what cannot be seen as escapes; "" where neither is known."""
    in_text = finding.offset is not None
    forms = in_text and _look_alike(finding.was or "", finding.now or "")
    was, now = (_side(text, most, quoted=in_text, forms=forms) for text in (finding.was, finding.now))
    if was and now:
        return f"{was} became {now}"
    return f"added {now}" if now else f"removed {was}" if was else ""


def _look_alike(was: str, now: str) -> bool:
    """Whether the two sides, which part at their first code point, begin with one letter in two Unicode forms."""
    first = {normalize("NFC", side[:_LONGEST_LETTER])[:1] for side in (was, now)}
    return was[:1] != now[:1] and len(first) == 1


_LONGEST_LETTER = 8
"""Code points of a letter with its marks."""


def _side(text: str | None, most: int, *, quoted: bool, forms: bool) -> str:
    if not text:
        return ""
    shown = visible(text[:most], forms=forms, at_end=len(text) <= most) + ("…" if len(text) > most else "")
    return f'"{shown}"' if quoted else shown


def cost(finding: Finding) -> str:
    if finding.lost_tokens is None:
        return "" if finding.verdict in _COSTS_NO_TOKENS else "loss not known"
    return _lost(finding.lost_tokens, finding.lost_usd)


def _lost(tokens: int, usd: float | None) -> str:
    if not tokens and not usd:
        return "no tokens lost"
    return f"about {count(tokens)} token{_s(tokens)}{'' if usd is None else f', ${amount(usd)}'} lost"


def passages(report: ExplainReport) -> list[Passage]:
    """A finding each, the dearest first."""
    shown = report.findings[:MOST_FINDINGS_SHOWN]
    made = [
        Passage(
            f"finding {place} · {finding.cause} · {VOICES[finding.voice]} · {finding.confidence}", tuple(_told(finding))
        )
        for place, finding in enumerate(shown, 1)
    ]
    if more := len(report.findings) - len(shown):
        made.append(Passage(f"{count(more)} further finding{_s(more)}: --json and --csv list all", ()))
    return made


def _told(finding: Finding) -> Iterator[Line]:
    yield Line("summary", finding.summary)
    if finding.advice:
        yield Line("advice", f"what to do: {finding.advice}")
    where = [_calls_compared(finding), place(finding), cost(finding)]
    yield Line("place", " · ".join(part for part in where if part))
    if text := change(finding, 2 * SIDE_CHARACTERS):
        yield Line("place", text)
    if finding.cacheable_chars is not None:
        share = "" if finding.cacheable_share is None else f", {percent(finding.cacheable_share)} % of the later prompt"
        one = finding.cacheable_chars == 1
        characters = "1 character" if one else f"{count(finding.cacheable_chars)} characters"
        yield Line("place", f"{characters} of prompt in front {'is' if one else 'are'} shared{share}")
    if text := _shows_in(finding):
        yield Line("place", text)
    if finding.ruled_out:
        yield Line("ruled out", f"ruled out: {'; '.join(finding.ruled_out)}")
    if finding.vendor:
        yield Line("vendor", f"the vendor's own diagnosis: {finding.vendor}")


def _shows_in(finding: Finding) -> str:
    session = f" of session {finding.session}" if finding.session else ""
    if finding.call is None:
        return ""
    if finding.occurrences <= 1:
        return f"shows once{session}" if session else ""
    return f"shows in {_calls(finding.occurrences)}{session}" + (f": {_named(finding)}" if finding.calls else "")


class _Stretch(Struct, frozen=True):
    """A row of the waterfall."""

    label: str
    cause: str | None
    tokens: int
    share: float | None
    usd: float | None
    reported: bool
    """Whether `tokens` is the engine's own figure."""


def _estimated(row: _Stretch) -> bool:
    return not row.reported


WATERFALL = (
    Column(key="label", header="prompt tokens"),
    Column(key="cause", header="cause", unknown=lambda row: ""),
    Column(key="tokens", header="tokens", show=count, estimated=_estimated),
    Column(key="share", header="share\n%", show=percent, estimated=_estimated),
    Column(key="usd", header="cost\n$", show=amount, estimated=_estimated),
)

SESSIONS = (
    Column(key="session", header="session"),
    Column(key="calls", header="calls\nn", show=count, get=lambda row: row.waterfall.calls),
    Column(key="prompt_tokens", header=PROMPT.header, show=count, get=lambda row: row.waterfall.prompt_tokens),
    Column(key="hit_rate", header=HIT_RATE.header, show=percent, get=lambda row: row.waterfall.hit_rate),
    Column(
        key="lost_tokens", header="lost\ntokens", show=count, get=lambda row: row.waterfall.lost_tokens, predicted=True
    ),
    Column(key="lost_usd", header="lost\n$", show=amount, get=lambda row: row.waterfall.lost_usd, predicted=True),
)

_PLAIN = ("verdict", "cause", "call", "against", "pointer", "offset", "was", "now", "cacheable_chars")
_PLAIN_BEHIND = ("lost_tokens", "lost_usd", "voice", "confidence", "summary", "advice")

FINDINGS = (
    *(Column(key=key, header=key) for key in (*_PLAIN, "cacheable_share", *_PLAIN_BEHIND)),
    Column(key="ruled_out", header="ruled_out", get=lambda row: "; ".join(row.ruled_out) or None),
    Column(key="calls", header="calls", get=lambda row: " ".join(map(str, row.calls)) or None),
    *(Column(key=key, header=key) for key in ("occurrences", "session", "vendor", "line", "against_line")),
)


def sheets(report: ExplainReport) -> list[Sheet]:
    made = []
    if report.waterfall.prompt_tokens:
        made = [Sheet(title="where the prompt tokens went", columns=WATERFALL, rows=stretches(report.waterfall))]
    if len(report.by_session) > 1:
        made.append(_session_sheet(report.by_session))
    return made


def stretches(waterfall: Waterfall) -> tuple[_Stretch, ...]:
    """Rows of `WATERFALL`, with the sum below."""
    rows = [
        _Stretch(one.label, one.cause, one.tokens, one.share, one.usd, one.label == "served")
        for one in waterfall.labels
    ]
    amounts = [row.usd for row in rows if row.usd is not None]
    usd = sum(amounts) if amounts and len(amounts) == len(rows) and not waterfall.unpriced_calls else None
    whole = 1.0 if waterfall.prompt_tokens else None
    return (*rows, _Stretch("all", None, waterfall.prompt_tokens, whole, usd, True))


def _session_sheet(sessions: Sequence[SessionWaterfall]) -> Sheet:
    if len(sessions) <= MOST_SESSIONS_SHOWN:
        return Sheet(title="sessions", columns=SESSIONS, rows=tuple(sessions))
    dearest = sorted(sessions, key=lambda one: -one.waterfall.lost_tokens)[:MOST_SESSIONS_SHOWN]
    note = f"{len(dearest)} of {count(len(sessions))} sessions, those that lost most; --json lists all"
    return Sheet(title="sessions", columns=SESSIONS, rows=tuple(dearest), notes=(note,))


def records(report: ExplainReport) -> Sheet:
    return Sheet(columns=FINDINGS, rows=report.findings)


def lines(report: ExplainReport) -> list[Line]:
    return list(_lines(report))


def _lines(report: ExplainReport) -> Iterator[Line]:
    waterfall = report.waterfall
    if waterfall.hit_rate is None:
        yield Line("aggregate", f"hit rate not reported, {_calls(report.calls)}")
    else:
        yield Line("aggregate", f"hit rate {percent(waterfall.hit_rate)} % over the calls that report cached tokens")
    if waterfall.lost_tokens:
        above = "" if waterfall.lost_usd is None else "; the money is what they cost above the price of cached ones"
        yield Line("aggregate", f"in all {_lost(waterfall.lost_tokens, waterfall.lost_usd)}{above}")
    if waterfall.unpriced_calls and _no_price(waterfall):
        yield Line("note", "no price is known for these calls: name one with --price")
    elif waterfall.unpriced_calls:
        which = f"{count(waterfall.unpriced_calls)} of {_calls(report.calls)}"
        yield Line("note", f"for {which} not every amount is known: the sums of money leave it out")
    if any(one.label != "served" for one in waterfall.labels):
        yield Line("measurement", "≈ estimated from the reported prompt tokens and the text; the others were reported")
    if report.rule_set:
        yield Line("expectation", f"expected by {report.rule_set}")
    yield from (Line("note", text) for text in report.notes)
    yield Line("measurement", f"{report.log}, read as {report.format}: {_read(report)}")
    yield from record_lines(report.log, report.records)


def _no_price(waterfall: Waterfall) -> bool:
    """Tokens that are not reported have no known amount whatever they are priced at; of others it is the price."""
    told = [one for one in waterfall.labels if one.label != "not reported"]
    return bool(told) and all(one.usd is None for one in told)


def _calls(calls: int) -> str:
    return f"{count(calls)} call{_s(calls)}"


def _read(report: ExplainReport) -> str:
    sessions = f" in {count(report.sessions)} session{_s(report.sessions)}" if report.sessions else ""
    return _calls(report.calls) + sessions


def _s(how_many: int) -> str:
    return "" if how_many == 1 else "s"
