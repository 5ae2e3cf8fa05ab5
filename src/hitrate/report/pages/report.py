"""The page of a business case: the figures, the fixes in order of money, and how all of it is known."""

from __future__ import annotations

from collections.abc import Iterator

from hitrate.core.business_case import BusinessCase
from hitrate.report import business_method as method
from hitrate.report import business_words as words
from hitrate.report import plots_report as plots
from hitrate.report import svg
from hitrate.report.columns import count, percent, times
from hitrate.report.kinds import report as sheets
from hitrate.report.pages.parts import Chapter, Figure, Headline, Tile
from hitrate.report.words import Line


def subject(report: BusinessCase) -> tuple[str, list[str]]:
    return "business case", [words.subject(report)]


def own_words(report: BusinessCase) -> tuple[str, tuple[str, ...]]:
    return "In short", tuple(f"{point.name}: {point.text}" for point in words.summary(report))


def verdict_word(report: BusinessCase) -> str:
    return ""


def headline(report: BusinessCase) -> Headline | None:
    """What was avoidable, in money where it is known; else what the cache saves, or the hit rate."""
    now, reachable = report.now, report.reachable
    detail = f"in {words.calls_of(report.calls)}"
    if report.span is not None:
        detail += f" over {words.duration(report.span)}"
    if reachable.saved_usd and now.usd:
        share = percent(reachable.saved_usd / now.usd)
        return Headline(
            f"≈ {words.cash(reachable.saved_usd)}",
            f"of {words.cash(now.usd)} spent was avoidable",
            f"{share} % of the bill, {detail}; estimated",
        )
    if reachable.lost_tokens and now.prompt_tokens:
        share = percent(reachable.lost_tokens / now.prompt_tokens)
        told = f"about {count(reachable.lost_tokens)} of {count(now.prompt_tokens)}, {detail}; estimated"
        return Headline(f"≈ {share} %", "of all prompt tokens could have come from cache and did not", told)
    if now.usd_saved and now.usd_saved > 0 and now.usd_without_caching and now.cached_tokens is not None:
        told = (
            f"{words.cash(now.usd)} instead of {words.cash(now.usd_without_caching)}, {detail}"
            if now.usd is not None
            else detail
        )
        return Headline(words.cash(now.usd_saved), "saved by the cache; nothing found that was avoidable", told)
    if now.hit_rate is not None:
        return Headline(f"{percent(now.hit_rate)} %", "of all prompt tokens came from cache", detail)
    return None


def tiles(report: BusinessCase) -> tuple[Tile, ...]:
    return tuple(_tiles(report))


def _tiles(report: BusinessCase) -> Iterator[Tile]:
    now, mean, month = report.now, report.per_1000_calls, report.per_month
    if now.usd is not None:
        yield Tile(words.cash(now.usd), "spent", "measured")
    if now.usd_saved is not None and now.cached_tokens is not None:
        saved = "saved by the cache already" if now.usd_saved >= 0 else "more than without caching"
        yield Tile(words.cash(abs(now.usd_saved)), saved, "measured")
    if report.yours.saved_usd and report.yours.saved_usd != report.reachable.saved_usd:
        yield Tile(f"≈ {words.cash(report.yours.saved_usd)}", "of it yours to change", "estimated")
    if now.hit_rate is not None:
        yield Tile(words.rate(now.hit_rate), "hit rate now", "measured")
    if report.reachable.lost_tokens and report.reachable.hit_rate is not None:
        yield Tile(f"≈ {words.rate(report.reachable.hit_rate)}", f"hit rate {words.all_mended(report)}", "estimated")
    if mean.lost_usd and (month is None or not month.lost_usd):
        yield Tile(f"≈ {words.cash(mean.lost_usd)}", "avoidable per 1,000 calls", "estimated")
    if month is not None and month.lost_usd:
        yield Tile(f"≈ {words.cash(month.lost_usd)}", "avoidable per month", f"estimated, {month.strength}")


def figures(report: BusinessCase, identity: str) -> list[Figure]:
    return [figure for chapter in chapters(report, identity) for figure in chapter.figures]


def chapters(report: BusinessCase, identity: str) -> tuple[Chapter, ...]:
    found = (
        _in_short(report, identity),
        _fixes(report, identity),
        _tokens(report, identity),
        _turns(report, identity),
        _times(report, identity),
        _lifetimes(report, identity),
        Chapter(
            title="How this is known", sheets=tuple(sheets.price_sheets(report)), facts=tuple(method.lines(report))
        ),
    )
    return tuple(chapter for chapter in found if chapter is not None)


def _in_short(report: BusinessCase, identity: str) -> Chapter:
    bars = plots.outcome_bars(report)
    made: tuple[Figure, ...] = ()
    if bars:
        title = "Before and after" if len(bars) > 1 else "As it was"
        highest = max(bar.value for bar in bars) if report.now.usd else 1.0
        told = "; ".join(f"{bar.name}: {bar.text}{bar.more}" for bar in bars)
        plot = svg.both_widths(lambda width: plots.outcome_plot(bars, highest, width), title, told, f"{identity}-money")
        made = (Figure(title=title, plot=plot, key=_outcome_key(bars)),)
    return Chapter(
        title="In short",
        points=tuple(words.summary(report)),
        figures=made,
        sheets=tuple(sheets.outcome_sheets(report)),
    )


def _outcome_key(bars: list[plots.OutcomeBar]) -> tuple[tuple[str, str, str], ...]:
    signs = {
        ("kept", "■", "measured"): any(bar.basis == "measured" for bar in bars),
        ("computed", "▨", "avoidable part of it, estimated"): any(bar.lost for bar in bars),
        ("estimate", "▢", "estimated"): any(bar.basis == "estimated" for bar in bars),
    }
    return tuple(sign for sign, there in signs.items() if there)


def _fixes(report: BusinessCase, identity: str) -> Chapter | None:
    passages = (*words.fix_passages(report), *words.remark_passages(report))
    if not passages:
        return None
    bars = plots.fix_bars(report)
    made: tuple[Figure, ...] = ()
    if len(bars) > 1:
        title = "What each cause cost"
        told = "; ".join(f"{bar.name}: {bar.text}, {bar.voice}" for bar in bars)
        plot = svg.both_widths(lambda width: plots.fix_plot(bars, width), title, told, f"{identity}-fixes")
        signs = {
            ("computed", "■", "yours to change"): any(bar.is_yours for bar in bars),
            ("suspect", "▢", "to be looked into, or the provider's"): any(not bar.is_yours for bar in bars),
        }
        made = (Figure(title=title, plot=plot, key=tuple(sign for sign, there in signs.items() if there)),)
    in_order = ", in order of money" if any(fix.estimated.saved_usd for fix in report.fixes) else ""
    title = f"What to fix{in_order}" if report.fixes else "Also found"
    return Chapter(title=title, figures=made, passages=passages, sheets=tuple(sheets.fix_sheets(report)))


def _tokens(report: BusinessCase, identity: str) -> Chapter | None:
    found = plots.stacks(report)
    if not found:
        return None
    title = "Prompt tokens by what became of them" + (", and what they cost" if len(found) > 1 else "")
    told = "; ".join(
        f"{one.name}: " + ", ".join(f"{label} {count(round(value))}" for label, value in one.parts) for one in found
    )
    plot = svg.both_widths(lambda width: plots.stack_plot(found, width), title, told, f"{identity}-tokens")
    caption = "served and output are reported, the rest is estimated from the text"
    return Chapter(
        title="Where tokens and money went",
        figures=(Figure(title=title, plot=plot, caption=caption),),
        sheets=tuple(sheets.waterfall_sheets(report)),
    )


def _turns(report: BusinessCase, identity: str) -> Chapter | None:
    turns = report.turns
    if len(turns) < 2:
        return None
    title = "Share of the prompt that came from cache, by turn"
    told = ", ".join(f"turn {sheets.turn_name(one)} {percent(one.median)} %" for one in turns[:20])
    plot = svg.both_widths(lambda width: plots.turn_plot(turns, width), title, told, f"{identity}-turns")
    most = max(one.conversations for one in turns)
    parts = ["line: median" + (f" of up to {count(most)} conversations" if most > 1 else "")]
    if any(one.low < one.high for one in turns):
        parts.append("band: the middle half of the calls")
    if any(one.last_turn > one.turn for one in turns):
        parts.append(f"{count(turns[0].last_turn)} turns a point")
    return Chapter(
        title="Hit rate, turn by turn",
        text=(
            "In a healthy conversation it rises after the first turn and stays high: each turn finds what the one "
            "before sent.",
        ),
        figures=(Figure(title=title, plot=plot, caption="; ".join(parts)),),
        sheets=tuple(sheets.turn_sheets(report)),
    )


def _times(report: BusinessCase, identity: str) -> Chapter | None:
    found = report.ttft
    if found is None:
        return None
    text, made = (), ()  # type: tuple[str, ...], tuple[Figure, ...]
    lines = tuple(method.ttft_lines(found))
    if found.cold is not None or found.warm is not None:
        title = "Time to first token"
        told = "; ".join(
            f"{name}: {method.spread(one)}" for name, one in (("cold", found.cold), ("warm", found.warm)) if one
        )
        plot = svg.both_widths(lambda width: plots.ttft_plot(found, width), title, told, f"{identity}-ttft")
        made = (Figure(title=title, plot=plot, caption="bar: median; line: on to the 95th percentile"),)
    if found.speedup_p50_x is not None:
        text = (
            f"With the prefix in cache the first token came {times(found.speedup_p50_x)} times sooner, by the medians.",
        )
    return Chapter(
        title="What waiting the cache saves",
        text=text,
        figures=made,
        sheets=tuple(sheets.ttft_sheets(report)),
        facts=lines,
    )


def _lifetimes(report: BusinessCase, identity: str) -> Chapter | None:
    found = plots.pay_backs(report.break_even)
    if not found:
        return None
    title = "When a cache write has paid for itself"
    told = "; ".join(f"{one.name}: {'' if one.first is None else f'pays back from call {one.first}'}" for one in found)
    plot = svg.both_widths(lambda width: plots.pay_back_plot(found, width), title, told, f"{identity}-writes")
    caption = "calls with the same prefix within its lifetime; the ring: no dearer than without caching"
    facts: tuple[Line, ...] = tuple(method.lifetime_lines(report))
    return Chapter(
        title="How long entries should live",
        figures=(Figure(title=title, plot=plot, caption=caption),),
        sheets=tuple(sheets.lifetime_sheets(report)),
        facts=facts,
    )
