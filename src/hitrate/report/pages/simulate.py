"""The page of a replay: hit rate over memory."""

from __future__ import annotations

from hitrate.core.simulation_results import SimulateResult
from hitrate.report import plots_simulate as plots
from hitrate.report import svg
from hitrate.report.columns import count
from hitrate.report.kinds.simulate import exact_percent, knees
from hitrate.report.pages.parts import Figure, Headline


def subject(result: SimulateResult) -> tuple[str, list[str]]:
    return "replay", [result.trace]


def own_words(result: SimulateResult) -> tuple[str, tuple[str, ...]]:
    return "What a cache of another size would have served", (
        f"{count(result.trace_requests)} requests, replayed one after another: how much of their prompts caches of "
        "these sizes and rules would have had.",
        "Every rate is counted by the definition beside it; the same replay gives several, some points apart.",
    )


def verdict_word(result: SimulateResult) -> str:
    return ""


def headline(result: SimulateResult) -> Headline | None:
    rows = result.rows if result.curve is None else result.curve.points[-1:]
    known = [row for row in rows if row.hit_rate is not None]
    if not known:
        return None
    best = max(known, key=lambda row: row.hit_rate or 0.0)
    size = "without a limit" if best.capacity_blocks is None else f"of {count(best.capacity_blocks)} blocks"
    return Headline(
        f"{exact_percent(best.hit_rate or 0.0)} %",
        f"hit rate of a cache {size}",
        f"{best.rule_set}, counted by {best.definition}",
    )


def figures(result: SimulateResult, identity: str) -> list[Figure]:
    shown = plots.lines(result)
    if not shown:
        return []
    title = "Hit rate over the size of the cache"
    told = "; ".join(
        f"{line.name}: {exact_percent(line.points[0][1])} % at {count(line.points[0][0])} blocks, "
        f"{exact_percent(line.points[-1][1])} % at {count(line.points[-1][0])}"
        for line in shown
    )
    plot = svg.both_widths(lambda width: plots.plot(shown, width), title, told, f"{identity}-curve")
    return [Figure(title=title, plot=plot, caption="; ".join(knees(result)))]
