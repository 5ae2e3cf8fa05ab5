"""Reports of `explain`: one with three findings in two sessions, one healthy, and one full of hostile text."""

from __future__ import annotations

from msgspec.structs import replace

from hitrate.core.findings import (
    CallRate,
    ExplainReport,
    Finding,
    LabelSum,
    RecordSums,
    SessionWaterfall,
    Waterfall,
)
from hitrate.core.records import Remark, Skipped

CLOCK = Finding(
    verdict="prefix_break",
    cause="clock-in-prefix",
    call=1,
    against=0,
    pointer="/messages/0/content",
    offset=31,
    was="07 UTC\n\nYou are",
    now="21 UTC\n\nYou are",
    cacheable_chars=31,
    cacheable_share=0.0019,
    lost_tokens=4120,
    lost_usd=0.0103,
    voice="yours to change",
    confidence="certain",
    summary="The time in the system prompt changed from 09:14:07 to 09:14:21; it can change every second.",
    ruled_out=("another model", "expiry: 14 s passed"),
    advice="Move the time behind the stable text.",
    calls=(1, 2),
    occurrences=2,
    session="garden",
    line=2,
    against_line=1,
)
TOOLS = Finding(
    verdict="prefix_break",
    cause="tool-order",
    call=4,
    against=3,
    pointer="/tools",
    offset=None,
    was="order_lookup, refund",
    now="refund, order_lookup",
    cacheable_chars=0,
    cacheable_share=0.0,
    lost_tokens=900,
    lost_usd=None,
    voice="yours to change",
    confidence="likely",
    summary="The same 2 tools stand in another order.",
    advice="Sort the tools by name.",
    calls=(4,),
    session="depot",
)
MISSED = Finding(
    verdict="unknown",
    cause="provider-missed",
    call=5,
    against=4,
    pointer=None,
    offset=None,
    was=None,
    now=None,
    cacheable_chars=None,
    cacheable_share=None,
    lost_tokens=None,
    lost_usd=None,
    voice="provider suspected",
    confidence="possible",
    summary="The text only grew, and nothing was served.",
    vendor="tools_changed; it disagrees",
    calls=(5,),
)


def label(label: str, tokens: int, share: float, usd: float | None = None, cause: str | None = None) -> LabelSum:
    return LabelSum(label=label, cause=cause, tokens=tokens, share=share, usd=usd)


def session(name: str, calls: tuple[int, ...], prompt: int, rate: float, lost: int) -> SessionWaterfall:
    labels = (label("served", round(prompt * rate), rate), label("new", prompt - round(prompt * rate), 1 - rate))
    waterfall = Waterfall(
        prompt_tokens=prompt, calls=len(calls), hit_rate=rate, labels=labels, lost_tokens=lost, lost_usd=None
    )
    return SessionWaterfall(session=name, calls=calls, waterfall=waterfall)


BROKEN = ExplainReport(
    log="logs/agent.jsonl",
    format="pairs",
    rule_set="openai-2026-09",
    calls=6,
    sessions=2,
    records=RecordSums(
        read=7,
        used=6,
        damaged=1,
        skipped=(Skipped(line=7, column=120, reason="expected JSON: the line ends inside a string"),),
        remarks=(Remark(line=3, what="byte-order mark in front of the record"),),
    ),
    findings=(CLOCK, TOOLS, MISSED),
    waterfall=Waterfall(
        prompt_tokens=12000,
        calls=6,
        hit_rate=0.4,
        labels=(
            label("served", 4000, 1 / 3, 0.001),
            label("new", 980, 980 / 12000, 0.00245),
            label("behind a break", 4120, 4120 / 12000, 0.0103, "clock-in-prefix"),
            label("behind a break", 900, 900 / 12000, None, "tool-order"),
            label("not reported", 2000, 1 / 6),
        ),
        lost_tokens=5020,
        lost_usd=0.0103,
        unpriced_calls=1,
    ),
    by_session=(session("garden", (0, 1, 2), 7000, 0.5, 4120), session("depot", (3, 4, 5), 5000, 0.1, 900)),
    by_call=(
        CallRate(call=0, session="garden", prompt_tokens=2000, hit_rate=0.0),
        CallRate(call=1, session="garden", prompt_tokens=2100, hit_rate=0.02),
        CallRate(call=2, session="garden", prompt_tokens=2900, hit_rate=0.95),
        CallRate(call=5, session="depot", prompt_tokens=2000, hit_rate=None),
    ),
    notes=("Tools are taken to stand in front of the system prompt.",),
)

HEALTHY = ExplainReport(
    log="logs/agent.jsonl",
    format="pairs",
    rule_set="openai-2026-09",
    calls=3,
    sessions=1,
    records=RecordSums(read=3, used=3),
    findings=(),
    waterfall=Waterfall(
        prompt_tokens=9000,
        calls=3,
        hit_rate=2 / 3,
        labels=(label("served", 6000, 2 / 3, 0.0018), label("new", 3000, 1 / 3, 0.009)),
        lost_tokens=0,
        lost_usd=0.0,
    ),
    by_session=(session("garden", (0, 1, 2), 9000, 2 / 3, 0),),
    by_call=(CallRate(call=0, session="garden", prompt_tokens=2000, hit_rate=0.0),),
)

SILENT = replace(
    HEALTHY,
    waterfall=replace(
        HEALTHY.waterfall,
        hit_rate=None,
        labels=(label("new", 3000, 1 / 3), label("not reported", 6000, 2 / 3)),
        lost_usd=None,
        unpriced_calls=3,
    ),
    by_call=(),
)

HOSTILE_TEXT = (
    "\x1b[31m\x1b]8;;http://x\x07\u202e\u2066[bold red]|`</script><script>alert(1)</script>\n"
    "::error::pwned\r\n##[error]x\n=cmd|' /C calc'!A0 ]]>*_#%0A,:\u2028\u200b\ud800 &lt;"
)
"""ANSI and OSC codes, bidirectional overrides, rich markup, a table separator, HTML, workflow commands, a formula,
Markdown, separators, a lone surrogate."""


def with_text(report: ExplainReport, text: str) -> ExplainReport:
    """The report with `text` everywhere that a log's author can write into."""
    findings = tuple(
        replace(
            one,
            pointer=None if one.pointer is None else f"/messages/0/{text}",
            was=text,
            now=f"={text}",
            summary=text,
            advice=text,
            ruled_out=(text, text),
            session=text,
            vendor=text,
        )
        for one in report.findings
    )
    records = replace(
        report.records,
        skipped=(Skipped(line=7, reason=text),),
        remarks=(Remark(line=3, what=text),),
    )
    return replace(
        report,
        log=f"logs/{text}.jsonl",
        records=records,
        findings=findings,
        by_session=tuple(replace(one, session=f"{text}{place}") for place, one in enumerate(report.by_session)),
        by_call=tuple(replace(one, session=text) for one in report.by_call),
        notes=(text,),
    )


HOSTILE = with_text(BROKEN, HOSTILE_TEXT)
