"""The page of an explanation: findings, where the prompt tokens went, and what each call was served."""

from __future__ import annotations

from hitrate.core.findings import ExplainReport
from hitrate.report import plots_explain as plots
from hitrate.report import svg
from hitrate.report.columns import amount, count, percent
from hitrate.report.kinds.explain import title
from hitrate.report.pages.parts import Figure, Headline


def subject(report: ExplainReport) -> tuple[str, list[str]]:
    return "explanation", [report.log]


def own_words(report: ExplainReport) -> tuple[str, tuple[str, ...]]:
    return "What broke the prefix cache", (
        title(report),
        "Each call sends its whole prompt again. Reuse ends at the first character that differs from what was sent "
        "before: everything behind it is computed and billed anew.",
    )


def verdict_word(report: ExplainReport) -> str:
    return ""


def headline(report: ExplainReport) -> Headline | None:
    """What was lost, in money where it is known; without a loss the hit rate."""
    waterfall = report.waterfall
    if report.findings and waterfall.lost_tokens:
        lost = f"about {count(waterfall.lost_tokens)} of {count(waterfall.prompt_tokens)} prompt tokens"
        detail = f"in {_of(waterfall.calls, 'call')}, {_of(len(report.findings), 'cause')} found"
        if waterfall.lost_usd:
            return Headline(f"${amount(waterfall.lost_usd)}", f"lost: {lost} could have come from cache", detail)
        share = f"{percent(waterfall.lost_tokens / waterfall.prompt_tokens)} %"
        return Headline(share, "of all prompt tokens could have come from cache and did not", f"{lost}, {detail}")
    if waterfall.hit_rate is None:
        return None
    return Headline(
        f"{percent(waterfall.hit_rate)} %", "of all prompt tokens came from cache", _of(waterfall.calls, "call")
    )


def _of(number: int, one: str) -> str:
    return f"{count(number)} {one}{'' if number == 1 else 's'}"


def figures(report: ExplainReport, identity: str) -> list[Figure]:
    made = []
    if bars := plots.bars(report):
        made.append(_waterfall_figure(bars, f"{identity}-waterfall"))
    if points := plots.points(report):
        made.append(_hit_rate_figure(points, f"{identity}-calls"))
    return made


def _waterfall_figure(bars: list[plots.Bar], identity: str) -> Figure:
    told = "; ".join(
        f"{bar.name}: " + ", ".join(f"{label} {count(tokens)} tokens" for label, tokens in bar.parts) for bar in bars
    )
    title = "Where the prompt tokens went"
    plot = svg.both_widths(lambda width: plots.waterfall_plot(bars, width), title, told, identity)
    return Figure(title=title, plot=plot, caption="served is reported, the rest estimated from the text")


def _hit_rate_figure(points: list[plots.CallPoint], identity: str) -> Figure:
    told = ", ".join(
        f"call {point.call} " + ("not reported" if point.rate is None else f"{percent(point.rate)} %")
        for point in points[:20]
    )
    title = "Share of the prompt that came from cache, call by call"
    plot = svg.both_widths(lambda width: plots.hit_rate_plot(points, width), title, told, identity)
    signs = {
        (True, "kept", "●", "hit rate of a call"): any(p.rate is not None and not p.has_finding for p in points),
        (False, "computed", "◆", "a call with a finding"): any(p.rate is not None and p.has_finding for p in points),
        (None, "unknown", "○", "not reported"): any(p.rate is None for p in points),
    }
    return Figure(title=title, plot=plot, key=tuple(sign[1:] for sign, there in signs.items() if there))
