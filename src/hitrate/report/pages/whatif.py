"""The page of a what-if: hit rate and bill before and after each fix."""

from __future__ import annotations

from hitrate.core.whatif_results import WhatIfReport
from hitrate.report import plots_whatif as plots
from hitrate.report import svg
from hitrate.report.columns import amount, percent
from hitrate.report.kinds.whatif import agreement, best_scenario
from hitrate.report.pages.parts import Figure, Headline


def subject(report: WhatIfReport) -> tuple[str, list[str]]:
    return "what-if", [report.log]


def own_words(report: WhatIfReport) -> tuple[str, tuple[str, ...]]:
    return "What a fix would have changed", (
        "The requests of the log were rewritten by each fix and replayed on one cache rule, as they were sent and as "
        "they would have been.",
        f"Both sides are predictions: {agreement(report)}.",
    )


def verdict_word(report: WhatIfReport) -> str:
    return ""


def headline(report: WhatIfReport) -> Headline | None:
    best = best_scenario(report)
    if best is None or best.hit_rate is None or not best.gained:
        return None
    saved = "" if best.saved_usd is None else f", ${amount(best.saved_usd)} of the bill saved"
    before = report.scenarios[0].hit_rate or 0.0
    return Headline(
        f"≈ {percent(best.hit_rate)} %",
        f"predicted hit rate with {best.name}, ≈ {percent(before)} % as sent",
        f"{report.replayed} calls replayed{saved}",
    )


def figures(report: WhatIfReport, identity: str) -> list[Figure]:
    bars = plots.rate_bars(report)
    if not bars:
        return []
    title = "Share of all prompt tokens that comes from cache"
    told = "; ".join(f"{bar.name}: {percent(bar.rate)} %" for bar in bars)
    plot = svg.both_widths(lambda width: plots.rate_plot(bars, width), title, told, f"{identity}-rates")
    return [Figure(title=title, plot=plot, caption="≈ predicted by the rule; measured is what was reported")]
