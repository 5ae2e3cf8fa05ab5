"""The business case of a log: what `explain`, `cost` and `whatif` say of it, put together for who pays the bill.

One pass reads the log, explains it and keeps what its calls cost and how long they took. A second one, over the
requests as rewritten, is made only for the causes that a rewrite mends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from hitrate.billed_calls import CallsRead, LogSource, cost_of, measured
from hitrate.core import business_case as case
from hitrate.core.cost import Quote
from hitrate.core.findings import ExplainReport, Finding
from hitrate.core.model import Call
from hitrate.core.whatif_results import Scenario, WhatIfReport
from hitrate.errors import UsageError
from hitrate.explain.rewrites.drop_nonce import DropNonce
from hitrate.explain.rewrites.freeze_date import FreezeDate
from hitrate.explain.rewrites.interface import Rewrite
from hitrate.explain.rewrites.keep_ids import KeepIds
from hitrate.explain.rewrites.lifetime import Lifetime
from hitrate.explain.rewrites.mark_last import MarkLast
from hitrate.explain.rewrites.move_clock_last import MoveClockLast
from hitrate.explain.rewrites.sort_keys import SortKeys
from hitrate.explain.rewrites.sort_tools import SortTools
from hitrate.explaining import explain_log
from hitrate.report.redact import redacted, without_content
from hitrate.sim.lifetimes import gaps, lifetimes, steps_of

PREDICTED_BYTES = 64 << 20
"""Of request bodies: a larger log is replayed only when that is asked for, for it takes minutes."""

_SEED = 0

YOURS = "yours to change"


class Mend(NamedTuple):
    """A rewrite, as the option of `whatif` is called, and how to make one that has seen nothing yet."""

    name: str
    make: Callable[[], Rewrite]


_ONE_HOUR = Mend(Lifetime.name, lambda: Lifetime("1h"))

MENDS: dict[str, Mend] = {
    "clock-in-prefix": Mend(MoveClockLast.name, MoveClockLast),
    "date-rollover": Mend(FreezeDate.name, FreezeDate),
    "nonce-in-prefix": Mend(DropNonce.name, DropNonce),
    "ids-regenerated": Mend(KeepIds.name, KeepIds),
    "schema-key-order": Mend(SortKeys.name, SortKeys),
    "tool-order": Mend(SortTools.name, SortTools),
    "no-markers": (_mark_last := Mend(MarkLast.name, MarkLast)),
    "opening-not-marked": _mark_last,
    "history-not-marked": _mark_last,
    "look-back-exceeded": _mark_last,
    "exact-breakpoint": _mark_last,
    "expired": _ONE_HOUR,
}
"""By cause, in the order in which the rewrites are put together."""

Predict = Callable[[Sequence[Mend]], WhatIfReport]


class Wanted(NamedTuple):
    """`predict` replays the log with rewrites; None where it can be read only once, or nobody asked for it.
    `however_large`: also when that takes minutes."""

    predict: Predict | None = None
    however_large: bool = False
    redact: bool = False
    title: str | None = None
    calls_per_month: int | None = None


def business_case(source: LogSource, quote: Callable[[Call], Any], wanted: Wanted) -> case.BusinessCase:
    """What the calls of `source` cost, what of it was avoidable, and what each fix would save. No calls at all give a
    case of none."""
    read = CallsRead(source, quote)
    explained = explain_log(read, quote)
    if not source.content_kept:
        explained = without_content(explained)
    elif wanted.redact:
        explained = redacted(explained)
    return _Case(read, explained, wanted).report()


class _Case:
    def __init__(self, read: CallsRead, explained: ExplainReport, wanted: Wanted) -> None:
        self._read = read
        self._explained = explained
        self._wanted = wanted
        self._cost = cost_of(read, explained.log)
        self._now = measured(self._cost, read.calls)
        self._reporting_tokens = sum(
            kept.call.usage.prompt_tokens or 0 for kept in read.calls if kept.call.usage.hit_rate is not None
        )
        self._lossy, self._harmless = _apart(explained.findings)

    def report(self) -> case.BusinessCase:
        explained, cost = self._explained, self._cost
        whatif, no_prediction = self._replayed()
        span = self._span()
        month, no_month = self._month(span)
        steps = tuple(steps_of(self._in_conversations()))
        is_billed = bool(cost.break_even)
        return case.BusinessCase(
            title=self._wanted.title,
            log=explained.log,
            format=explained.format,
            calls=explained.calls,
            sessions=explained.sessions,
            span=span,
            now=self._now,
            lost=tuple(self._by_voice()),
            yours=self._without([one for one in self._lossy if one.voice == YOURS]),
            reachable=self._without(self._lossy),
            per_1000_calls=self._per_1000(),
            per_month=month,
            no_month=no_month,
            fixes=tuple(self._fixes(whatif)),
            remarks=tuple(_remarks(self._harmless)),
            prediction=None if whatif is None else self._prediction(whatif),
            no_prediction=no_prediction,
            turns=case.grouped_turns(self._turns()),
            ttft=case.cold_and_warm(self._times(), _SEED),
            waterfall=explained.waterfall,
            gaps=gaps(steps) if is_billed else None,
            lifetimes=lifetimes(steps) if is_billed and gaps(steps) is not None else (),
            break_even=cost.break_even,
            prices=cost.prices,
            unpriced=cost.unpriced,
            not_reported=cost.not_reported,
            without_output=cost.without_output,
            rule_set=explained.rule_set,
            records=explained.records,
            warnings=cost.warnings,
            notes=(*explained.notes, *self._unknown()),
        )

    def _unknown(self) -> Iterator[str]:
        """What this log cannot tell."""
        if self._read.calls and not self._read.body_bytes:
            yield (
                "The log holds counts and no requests: losses show, and so do pauses and settings; what changed in the "
                "text does not. Record the requests (hitrate proxy) to see it."
            )
        if self._now.cached_tokens is None:
            yield "No call reports cached tokens: neither a hit rate nor what the cache saves is known."

    # What is lost, and what mends it

    def _without(self, findings: Sequence[Finding]) -> case.Estimated:
        known = self._now.cached_tokens is not None or any(one.lost_tokens for one in findings)
        tokens = sum(one.lost_tokens or 0 for one in findings) if known else None
        usd = _sum_usd(findings) if findings else (0.0 if known and self._now.usd is not None else None)
        return case.without_losses(self._now, self._reporting_tokens, tokens, usd)

    def _by_voice(self) -> Iterator[case.VoiceLoss]:
        for voice in ("yours to change", "observation", "provider suspected"):
            found = [one for one in self._lossy if one.voice == voice]
            if found:
                yield case.VoiceLoss(
                    voice=found[0].voice,
                    causes=len({one.cause for one in found}),
                    lost_tokens=sum(one.lost_tokens or 0 for one in found),
                    lost_usd=_sum_usd(found),
                )

    def _fixes(self, whatif: WhatIfReport | None) -> Iterator[case.Fix]:
        groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for finding in self._lossy:
            groups[finding.cause, finding.voice].append(finding)
        for found in sorted(groups.values(), key=_dearest_first):
            example = min(found, key=lambda one: _dearest_first([one]))
            sessions = {one.session for one in found if one.session is not None}
            yield case.Fix(
                cause=example.cause,
                verdict=example.verdict,
                voice=example.voice,
                confidence=max((one.confidence for one in found), key=_CONFIDENCES.index),
                findings=len(found),
                conversations=len(sessions) or None,
                calls=sum(one.occurrences for one in found),
                pointers=tuple(dict.fromkeys(one.pointer for one in found if one.pointer is not None))[
                    : case.MOST_POINTERS
                ],
                estimated=self._without(found),
                predicted=_predicted(whatif, example.cause),
                example=example,
            )

    def _replayed(self) -> tuple[WhatIfReport | None, str | None]:
        """What rewrites would have made of the log, or why that is not known."""
        causes = {one.cause for one in self._lossy}
        mends = {mend.name: mend for cause, mend in MENDS.items() if cause in causes}
        if not mends:
            return None, "no rewrite mends the causes found" if causes else None
        if self._wanted.predict is None:
            return None, "the requests were not replayed, as asked or because the log can be read only once"
        if not self._read.source.content_kept:
            return None, "content was not kept, so nothing can be rewritten"
        if self._read.body_bytes > PREDICTED_BYTES and not self._wanted.however_large:
            return None, f"{self._read.body_bytes >> 20:,} MB of requests were not replayed; --predict does it"
        try:
            return self._wanted.predict(list(mends.values())), None
        except UsageError as error:
            return None, error.message

    def _prediction(self, whatif: WhatIfReport) -> case.Prediction:
        together = whatif.scenarios[-1]
        names = [scenario.name for scenario in whatif.scenarios]
        return case.Prediction(
            rule_set=whatif.rule_set,
            replayed=whatif.replayed,
            calls=whatif.calls,
            error=whatif.prediction_error,
            together=_of_scenario(together, whatif) if len(names) > 1 else None,
            notes=() if self._wanted.redact else whatif.notes,
        )

    # Money over time

    def _per_1000(self) -> case.PerThousandCalls:
        priced = self._cost.calls - self._cost.unpriced_calls

        def of(usd: float | None) -> float | None:
            return None if usd is None or not priced else 1000 * usd / priced

        return case.PerThousandCalls(
            priced_calls=priced,
            usd=of(self._cost.usd),
            usd_without_caching=of(self._cost.usd_without_caching),
            lost_usd=of(self._without(self._lossy).saved_usd),
            yours_usd=of(self._without([one for one in self._lossy if one.voice == YOURS]).saved_usd),
        )

    def _span(self) -> case.Span | None:
        moments = [kept.call.timing.at for kept in self._read.calls if kept.call.timing is not None]
        return case.Span(first_at=min(moments), last_at=max(moments), calls=len(moments)) if moments else None

    def _month(self, span: case.Span | None) -> tuple[case.PerMonth | None, str | None]:
        """The figures of a month, or why there are none."""
        given = self._wanted.calls_per_month
        if self._now.usd is None:
            return None, "no call has a price"
        if given is not None:
            why = f"{given:,} calls a month, as given, each costing what these cost on average"
            return self._of_month("as given", why, given), None
        if span is None:
            return None, "the calls have no times"
        if span.calls < self._cost.calls:
            return None, f"only {span.calls:,} of {self._cost.calls:,} calls have a time"
        strength = case.strength_of(span.seconds)
        if strength is None:
            return None, "a log of less than a day does not say how often such hours come in a month"
        priced = self._cost.calls - self._cost.unpriced_calls
        return self._of_month(*strength, round(priced * case.MONTH_S / span.seconds)), None

    def _of_month(self, strength: case.Strength, why: str, calls: int) -> case.PerMonth:
        mean = self._per_1000()

        def of(usd: float | None) -> float | None:
            return None if usd is None else usd * calls / 1000

        return case.PerMonth(
            strength=strength,
            why=why,
            calls=calls,
            usd=of(mean.usd),
            usd_without_caching=of(mean.usd_without_caching),
            lost_usd=of(mean.lost_usd),
            yours_usd=of(mean.yours_usd),
        )

    # Turns, pauses and times

    def _turns(self) -> list[tuple[int, int, float]]:
        found = []
        for number, session in enumerate(self._explained.by_session):
            for turn, index in enumerate(session.calls, 1):
                rate = self._read.calls[index].call.usage.hit_rate
                if rate is not None:
                    found.append((number, turn, rate))
        return found

    def _in_conversations(self) -> Iterator[tuple[str, Call, float | None]]:
        for session in self._explained.by_session:
            for index in session.calls:
                kept = self._read.calls[index]
                price = kept.quote.price.input_usd_per_mtok if isinstance(kept.quote, Quote) else None
                yield session.session, kept.call, price

    def _times(self) -> list[tuple[float, float, int | None]]:
        found = []
        for call, _, _ in self._read.calls:
            if call.timing is not None and call.timing.ttft_s is not None and call.usage.hit_rate is not None:
                found.append((call.usage.hit_rate, 1000 * call.timing.ttft_s, call.usage.prompt_tokens))
        return found


_CONFIDENCES = ("certain", "likely", "possible")

_COSTS_NOTHING = frozenset({"reporting", "pricing"})


def _apart(findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Those that lost tokens, or of which that is not known; and those that lost none."""
    harmless = [one for one in findings if one.verdict in _COSTS_NOTHING or one.lost_tokens == 0]
    return [one for one in findings if one not in harmless], harmless


def _dearest_first(findings: Sequence[Finding]) -> tuple[float, int]:
    return -(_sum_usd(findings) or 0.0), -sum(one.lost_tokens or 0 for one in findings)


def _sum_usd(findings: Sequence[Finding]) -> float | None:
    """Over those whose amount is known."""
    amounts = [one.lost_usd for one in findings if one.lost_usd is not None]
    return sum(amounts) if amounts else None


def _remarks(findings: Sequence[Finding]) -> Iterator[case.OtherFinding]:
    for finding in {(one.cause, one.summary): one for one in findings}.values():
        yield case.OtherFinding(
            cause=finding.cause, voice=finding.voice, summary=finding.summary, advice=finding.advice
        )


def _predicted(whatif: WhatIfReport | None, cause: str) -> case.Predicted | None:
    if whatif is None or cause not in MENDS:
        return None
    scenario = next((one for one in whatif.scenarios[1:] if one.name == MENDS[cause].name), None)
    return None if scenario is None else _of_scenario(scenario, whatif)


def _of_scenario(scenario: Scenario, whatif: WhatIfReport) -> case.Predicted:
    as_sent = whatif.scenarios[0]
    return case.Predicted(
        rewrite=scenario.name,
        what=scenario.what,
        changed_calls=scenario.changed_calls,
        hit_rate_as_sent=as_sent.hit_rate,
        hit_rate=scenario.hit_rate,
        usd_as_sent=as_sent.usd,
        usd=scenario.usd,
        saved_usd=scenario.saved_usd,
        note=scenario.note,
    )
