"""The plan of a replay in words: its sheet, its sentences, and the configurations to copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from msgspec import structs

from hitrate.core.numerals import counted
from hitrate.core.simulation_results import Bound, Choice, Margin, Plan, SimulatedPoint, SimulateResult
from hitrate.report.columns import Column, Sheet, amount, count
from hitrate.report.words import Line, Listing, Passage

_MARKS = {"chosen": "chosen", "front": "nothing better for less"}
_MARKS_BY_MONEY = {"chosen": "chosen", "front": "dearer, more hits"}
"""Where the bill is all that is weighed: what hits save is in it, so that more of them at a higher bill are no gain."""


def exact_percent(value: float) -> str:
    return f"{100 * value:.2f}"


def gib(value: float) -> str:
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def times(value: float) -> str:
    return f"{value:.2f}"


def seconds(value: float) -> str:
    """Three digits: 0.0482, 1.24, 92.6."""
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def memory(row: SimulatedPoint) -> str:
    """Of one replica."""
    if row.capacity_blocks is None:
        return "no limit"
    blocks = counted(row.capacity_blocks, "block")
    return blocks if row.capacity_gib is None else f"{blocks} ({gib(row.capacity_gib)} GiB)"


def fleet(row: SimulatedPoint) -> str:
    """Of one line: "8 replicas of 8,000 blocks each by first-blocks"."""
    limited = row.capacity_blocks is not None
    if row.replicas == 1:
        size = f"one replica of {memory(row)}" if limited else "a cache without a limit"
    else:
        each = f"of {memory(row)} each" if limited else "without a limit"
        size = f"{count(row.replicas)} replicas {each} by {row.policy}"
    lifetime = "" if row.ttl_s is None else f", kept {row.ttl_s:,g} s"
    return f"{size}{lifetime}{behind(row)}"


def behind(row: SimulatedPoint) -> str:
    """The store, if there is one."""
    return "" if row.store is None else f", with a store {_store_size(row)}"


def _store_size(row: SimulatedPoint) -> str:
    if row.store_blocks is None:
        return "without a limit"
    blocks = counted(row.store_blocks, "block")
    return f"of {blocks}" if row.store_gib is None else f"of {gib(row.store_gib)} GiB"


def store(row: SimulatedPoint) -> str | None:
    if row.store is None:
        return None
    return "no limit" if row.store_blocks is None else _store_size(row).removeprefix("of ")


def _mark(marks: Mapping[str, str], row: SimulatedPoint) -> str:
    return marks.get(row.plan or "", "")


def _total(row: SimulatedPoint) -> float | None:
    return None if row.capacity_gib is None else row.replicas * row.capacity_gib


MONEY = (
    Column(key="hosted_usd", header="vendor's\nbill $", show=amount),
    Column(key="provisioned_usd", header="GPUs\n$", show=amount),
    Column(key="provisioned_usd_per_mtok", header="GPUs $/M\nprompt tok.", show=amount, drop_order=7),
)

TIMES = (
    Column(key="ttft_p50_s", header="TTFT\np50 s", show=seconds, drop_order=2),
    Column(key="ttft_p90_s", header="TTFT\np90 s", show=seconds, drop_order=6),
    Column(key="ttft_p99_s", header="TTFT\np99 s", show=seconds),
    Column(key="queue_p99_s", header="queue\np99 s", show=seconds, drop_order=8),
)

_MEAN = Column(key="ttft_mean_s", header="TTFT\nmean s", show=seconds)
_OTHER_TIMES = 5

STORE = Column(key="store", header="store", get=store)

_PLAN = (
    Column(key="plan", header="plan", get=partial(_mark, _MARKS)),
    Column(key="replicas", header="replicas", show=count),
    Column(key="policy", header="policy"),
    Column(key="rule_set", header="rule", drop_order=3),
    Column(key="capacity_blocks", header="blocks\neach", show=count, unknown=lambda _: "unlimited"),
    Column(key="capacity_gib", header="GiB\neach", show=gib, drop_order=1),
    Column(key="total_gib", header="GiB\nin all", show=gib, get=_total),
    STORE,
    Column(key="ttl_s", header="lifetime\ns", show="{:,g}".format),
    Column(key="hit_rate", header="hit\nrate %", show=exact_percent),
    Column(key="imbalance", header="busiest\nby mean", show=times, drop_order=2),
    *MONEY,
    *TIMES,
)


def sheet(result: SimulateResult) -> Sheet | None:
    """Rows that are chosen or not beaten, by rising cost; None without a plan."""
    plan = result.plan
    if plan is None:
        return None
    places = dict.fromkeys((*plan.front, *(choice.row for choice in plan.choices)))
    rows = [result.rows[place] for place in places]
    order = partial(_cost, plan)
    rows.sort(key=lambda row: (order(row), -(row.hit_rate or 0.0)))
    known = [column for column in _columns(plan) if any(column.value(row) is not None for row in rows)]
    return Sheet(title=f"plan: {plan.rule}", columns=tuple(known), rows=tuple(rows))


def by_bill_alone(plan: Plan | None) -> bool:
    return plan is not None and plan.cost == "hosted_usd" and plan.gain == "hit_rate"


def _columns(plan: Plan) -> Iterator[Column]:
    by_money = by_bill_alone(plan)
    for column in goal_kept(_PLAN, plan):
        if column.key == "plan" and by_money:
            yield structs.replace(column, get=partial(_mark, _MARKS_BY_MONEY))
        else:
            yield column


def goal_kept(columns: Iterable[Column], plan: Plan | None) -> Iterator[Column]:
    """Of times to the first token the one that the plan is about stays on a narrow screen, and the others may go."""
    if plan is None or not plan.gain.startswith("ttft_"):
        yield from columns
        return
    for column in columns:
        if column.key == plan.gain:
            column = structs.replace(column, drop_order=0)
        elif column.key.startswith("ttft_") and not column.drop_order:
            column = structs.replace(column, drop_order=_OTHER_TIMES)
        yield column
        if column.key == TIMES[-2].key and plan.gain == _MEAN.key:
            yield _MEAN


def _cost(plan: Plan, row: SimulatedPoint) -> tuple[float, float]:
    total = float(row.replicas * (row.capacity_tokens or 0))
    found = total if plan.cost == "memory" else getattr(row, plan.cost)
    return 0.0 if found is None else float(found), total


def lines(result: SimulateResult) -> Iterator[Line]:
    for passage in passages(result):
        yield Line("verdict", passage.heading)
        yield from (Line(line.kind, f"  {line.text}") for line in passage.lines)
    yield from remarks(result)


def passages(result: SimulateResult) -> list[Passage]:
    """One a choice: what it is, what it reaches, and what it is measured by."""
    return [
        Passage(
            f"{fleet(result.rows[choice.row])}: {choice.why}",
            tuple(Line("aggregate", text) for text in (reached(result.rows[choice.row]), *beside(result, choice))),
        )
        for choice in (() if result.plan is None else result.plan.choices)
    ]


def remarks(result: SimulateResult) -> Iterator[Line]:
    """That no row meets the goal, and what speaks against the plan."""
    plan = result.plan
    if plan is None:
        return
    if plan.nearest is not None and plan.goal is not None:
        row = result.rows[plan.nearest.row]
        lacks = seconds(plan.nearest.ttft_more_s or 0.0)
        yield Line("verdict", f"no row meets the goal; the nearest is {fleet(row)}, {lacks} s above it: {reached(row)}")
    yield from (Line("warning", text) for text in plan.warnings)


def reached(row: SimulatedPoint) -> str:
    parts = [] if row.hit_rate is None else [f"hit rate {exact_percent(row.hit_rate)} %"]
    if row.ttft_p99_s is not None:
        known = [(name, getattr(row, f"ttft_{name}_s")) for name in ("p50", "p90", "p99")]
        parts.append("time to first token " + ", ".join(f"{name} {seconds(value)} s" for name, value in known))
    if row.provisioned_usd is not None:
        parts.append(f"${amount(row.provisioned_usd)} for the GPUs")
    if row.provisioned_usd_per_mtok is not None:
        parts.append(f"${amount(row.provisioned_usd_per_mtok)} a million prompt tokens")
    if row.hosted_usd is not None:
        without = row.hosted_usd_without_caching
        saved = "" if without is None else f" (${amount(without)} without caching)"
        parts.append(f"the vendor bills ${amount(row.hosted_usd)}{saved}")
    if row.gpu_seconds_busy is not None and row.gpu_seconds_provisioned:
        busy = row.gpu_seconds_busy / row.gpu_seconds_provisioned
        parts.append(f"a step runs {100 * busy:.0f} % of the GPUs' time")
    if row.transferred_tokens is not None:
        parts.append(f"{counted(row.transferred_tokens, 'token')} came from the store")
    if row.imbalance is not None:
        parts.append(f"the busiest replica computes {times(row.imbalance)} times the mean")
    return ", ".join(parts)


def beside(result: SimulateResult, choice: Choice) -> Iterator[str]:
    """What it is measured by."""
    chosen = result.rows[choice.row]
    known = [_bound(one) for one in choice.bounds if one.hit_rate is not None and not _is_fleet(one, chosen)]
    if known:
        yield f"beside: {', '.join(known)}"
    if choice.affinity:
        yield choice.affinity
    if choice.other_policy is not None:
        other = result.rows[choice.other_policy.row]
        yield f"next policy at this size, {other.policy}: {_more(result, choice.other_policy, chosen)}"
    for name, margin in (("next cheaper", choice.cheaper), ("next dearer", choice.dearer)):
        if margin is not None:
            yield f"{name}, {fleet(result.rows[margin.row])}: {_more(result, margin, chosen)}"
    if choice.no_configuration is not None:
        yield f"no configuration of a router: {choice.no_configuration}"


def _is_fleet(one: Bound, chosen: SimulatedPoint) -> bool:
    """Whether it is the chosen row itself."""
    if chosen.replicas == 1 or one.replicas != chosen.replicas:
        return False
    return one.name == "the fleet" or (one.policy == chosen.policy and chosen.store is None)


def _bound(one: Bound) -> str:
    return f"{one.name} {exact_percent(one.hit_rate or 0.0)} %"


def _more(result: SimulateResult, margin: Margin, chosen: SimulatedPoint) -> str:
    parts = []
    goal = None if result.plan is None else result.plan.goal
    if margin.hit_rate_more is not None:
        parts.append(f"{100 * margin.hit_rate_more:+.2f} points")
    if margin.ttft_more_s is not None:
        parts.append(f"TTFT {'p99' if goal is None else goal.statistic} {margin.ttft_more_s:+.3g} s")
    if margin.memory_more:
        unit = "tokens of cache" if chosen.capacity_gib is None else "GiB"
        parts.append(f"{margin.memory_more:+,.0f} {unit}")
    what = "on the bill" if chosen.provisioned_usd is None else "for the GPUs"
    paid = chosen.hosted_usd if chosen.provisioned_usd is None else chosen.provisioned_usd
    if paid and margin.cost_more is not None and abs(margin.cost_more) >= 0.01 * paid:
        sign = "+" if margin.cost_more > 0 else "-"
        parts.append(f"{sign}${amount(abs(margin.cost_more))} {what}")
    return ", ".join(parts) or "the same"


def listings(result: SimulateResult) -> list[Listing]:
    """Configurations of every choice."""
    choices = () if result.plan is None else result.plan.choices
    return [
        Listing(
            title=f"{fleet(result.rows[choice.row])}: {one.software} {one.version}",
            language=one.language,
            text=one.text,
            note="; ".join(part for part in (one.note, f"options as in {one.source}") if part),
        )
        for choice in choices
        for one in choice.configurations
    ]
