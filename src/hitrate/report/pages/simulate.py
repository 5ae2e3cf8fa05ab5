"""The page of a replay: hit rate over memory, and of a plan what it costs, how long tokens take and how even it is."""

from __future__ import annotations

from collections.abc import Iterator

from hitrate.core.numerals import counted
from hitrate.core.simulation_results import SimulateResult
from hitrate.report import plan_words, plots_plan, svg
from hitrate.report import plots_simulate as plots
from hitrate.report.columns import amount, count
from hitrate.report.kinds.simulate import knees, method_lines, rows_sheet
from hitrate.report.pages.parts import Chapter, Figure, Headline, Tile
from hitrate.report.plan_words import exact_percent, fleet, seconds, times


def subject(result: SimulateResult) -> tuple[str, list[str]]:
    return "replay" if result.plan is None else "plan", [result.trace]


def own_words(result: SimulateResult) -> tuple[str, tuple[str, ...]]:
    if result.plan is not None:
        return "What to deploy, and what it is measured by", (
            f"{counted(result.trace_requests, 'request')}, replayed over {count(len(result.rows))} caches and fleets; "
            f"of those that can be deployed: {result.plan.rule}.",
            "Every rate is counted by the definition beside it; the same replay gives several, some points apart.",
        )
    return "What a cache of another size would have served", (
        f"{counted(result.trace_requests, 'request')}, replayed one after another: how much of their prompts caches of "
        "these sizes and rules would have had.",
        "Every rate is counted by the definition beside it; the same replay gives several, some points apart.",
    )


def verdict_word(result: SimulateResult) -> str:
    return ""


def headline(result: SimulateResult) -> Headline | None:
    if result.plan is not None:
        return _of_plan(result)
    rows = result.rows if result.curve is None else result.curve.points[-1:]
    known = [row for row in rows if row.hit_rate is not None]
    if not known:
        return None
    best = max(known, key=lambda row: row.hit_rate or 0.0)
    size = "without a limit" if best.capacity_blocks is None else f"of {counted(best.capacity_blocks, 'block')}"
    return Headline(
        f"{exact_percent(best.hit_rate or 0.0)} %",
        f"hit rate of a cache {size}",
        f"{best.rule_set}, counted by {best.definition}",
    )


def _of_plan(result: SimulateResult) -> Headline | None:
    """Of several choices the one for most replicas."""
    plan = result.plan
    assert plan is not None
    if plan.choices:
        choice = plan.choices[-1]
        row = result.rows[choice.row]
        detail = f"{choice.why}; {row.rule_set}, counted by {row.definition}"
        return Headline(f"{exact_percent(row.hit_rate or 0.0)} %", f"hit rate of {fleet(row)}", detail)
    if plan.nearest is not None:
        row = result.rows[plan.nearest.row]
        return Headline(
            f"+{seconds(plan.nearest.ttft_more_s or 0.0)} s",
            "above the goal: no row meets it",
            f"nearest is {fleet(row)}",
        )
    return None


def tiles(result: SimulateResult) -> tuple[Tile, ...]:
    return tuple(_tiles(result))


def _tiles(result: SimulateResult) -> Iterator[Tile]:
    """Of the row that the headline is about."""
    if result.plan is None or not result.plan.choices:
        return
    choice = result.plan.choices[-1]
    row = result.rows[choice.row]
    for name in ("p50", "p99"):
        if (value := getattr(row, f"ttft_{name}_s")) is not None:
            yield Tile(f"{seconds(value)} s", f"time to first token, {name}", "virtual time")
    if row.provisioned_usd is not None:
        yield Tile(f"${amount(row.provisioned_usd)}", "for the GPUs, over the trace", "price given")
    if row.hosted_usd is not None:
        source = "" if result.price is None else f"prices from {result.price.source}"
        yield Tile(f"${amount(row.hosted_usd)}", "a vendor's bill for the trace", source)
    if choice.affinity_share is not None:
        share = f"{100 * choice.affinity_share:.1f} %"
        yield Tile(share, "of the possible hits by session affinity alone", "replayed")
    for bound in choice.bounds:
        if bound.name == "one cache without a limit" and bound.hit_rate is not None:
            yield Tile(f"{exact_percent(bound.hit_rate)} %", "the most there is: one cache without a limit", "replayed")
    if row.imbalance is not None:
        yield Tile(times(row.imbalance), "times the mean on the busiest replica", "replayed")


def figures(result: SimulateResult, identity: str) -> list[Figure]:
    return [
        *_of_costs(result, identity),
        *_of_waits(result, identity),
        *_of_replicas(result, identity),
        *_of_work(result, identity),
        *_of_sizes(result, identity),
    ]


def chapters(result: SimulateResult, identity: str) -> tuple[Chapter, ...]:
    """Of a plan."""
    if result.plan is None:
        return ()
    title, text = own_words(result)
    plan, rows = plan_words.sheet(result), rows_sheet(result)
    found = (
        Chapter(
            title=title,
            text=text,
            figures=tuple(_of_costs(result, identity)),
            passages=tuple(plan_words.passages(result)),
            sheets=() if plan is None else (plan,),
            facts=tuple(plan_words.remarks(result)),
        ),
        Chapter(title="How long the first token takes", figures=tuple(_of_waits(result, identity))),
        Chapter(
            title="Replicas and routing",
            figures=(*_of_replicas(result, identity), *_of_work(result, identity)),
        ),
        Chapter(title="Memory", figures=tuple(_of_sizes(result, identity))),
        Chapter(title="Configurations to copy", listings=tuple(plan_words.listings(result))),
    )
    known = Chapter(title="How this is known", sheets=(rows,), facts=tuple(method_lines(result)))
    return (*(one for one in found if one.figures or one.listings or one.passages or one.facts), known)


def _of_costs(result: SimulateResult, identity: str) -> Iterator[Figure]:
    found = plots_plan.scatter(result)
    if found is None:
        return
    title = f"{found.y_text.partition(',')[0].capitalize()} against {found.x_text}"
    chosen = "; ".join(f"chosen: {fleet(row)}" for row in result.rows if row.plan == "chosen")
    best = "low and left" if found.lower_is_better else "high and left"
    told = f"{len(found.marks)} caches and fleets; {chosen or 'none is chosen'}"
    plot = svg.both_widths(lambda width: plots_plan.scatter_plot(found, width), title, told, f"{identity}-costs")
    line = "dearer, more hits" if plan_words.by_bill_alone(result.plan) else "nothing better for less"
    caption = f"{best} is better; dotted line: {line}; ring: chosen"
    yield Figure(title=title, plot=plot, caption=caption)


def _of_replicas(result: SimulateResult, identity: str) -> Iterator[Figure]:
    if (found := plots_plan.over_replicas(result)) is None:
        return
    size, lines = found
    title = "Hit rate over the number of replicas"
    told = "; ".join(f"{line.name}: {line.points[0][1]:.1f} % to {line.points[-1][1]:.1f} %" for line in lines)
    plot = svg.both_widths(lambda width: plots_plan.replicas_plot(lines, width), title, told, f"{identity}-replicas")
    yield Figure(title=title, plot=plot, caption=size)


def _of_waits(result: SimulateResult, identity: str) -> Iterator[Figure]:
    if not (bars := plots_plan.waits(result)):
        return
    title = "Time to first token"
    told = "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
    goal = None if result.plan is None else result.plan.goal
    line, name = (None, "") if goal is None else (goal.seconds, f"goal {seconds(goal.seconds)} s, {goal.statistic}")
    plot = svg.both_widths(
        lambda width: plots_plan.bar_plot(bars, width, line=line, name=name), title, told, f"{identity}-waits"
    )
    caption = f"bar: median; marks: 90th and 99th percentile; virtual time of {result.timing}"
    yield Figure(title=title, plot=plot, caption=caption)


def _of_work(result: SimulateResult, identity: str) -> Iterator[Figure]:
    if (found := plots_plan.burdens(result)) is None:
        return
    size, bars = found
    title = "What the busiest replica computes"
    told = "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
    plot = svg.both_widths(
        lambda width: plots_plan.bar_plot(bars, width, line=1.0, name="even"), title, told, f"{identity}-work"
    )
    yield Figure(title=title, plot=plot, caption=f"{size}; computed tokens over the mean of all replicas")


def _of_sizes(result: SimulateResult, identity: str) -> Iterator[Figure]:
    if not (shown := plots.lines(result)) or not any(len(line.points) > 1 for line in shown):
        return
    title = "Hit rate over the size of the cache"
    told = "; ".join(
        f"{line.name}: {exact_percent(line.points[0][1])} % at {counted(line.points[0][0], 'block')}, "
        f"{exact_percent(line.points[-1][1])} % at {count(line.points[-1][0])}"
        for line in shown
    )
    plot = svg.both_widths(lambda width: plots.plot(shown, width), title, told, f"{identity}-curve")
    yield Figure(title=title, plot=plot, caption="; ".join(knees(result)))
