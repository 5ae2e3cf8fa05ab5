"""A log read, rewritten by each fix, and both replayed on the rule: what `whatif` reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hitrate.cli.reading import no_call_in
from hitrate.cli.whatif_log import Read, ReadLog, canonical
from hitrate.cli.whatif_replay import ROUTING_SEEDS, Figures, Predictor
from hitrate.cli.whatif_rule import rule_for
from hitrate.core.cost import Quote
from hitrate.core.model import Call, Usage
from hitrate.core.money import Bill, Unpriced, bill
from hitrate.core.whatif_results import MOST_CALLS, CallOutcome, Measured, Scenario, WhatIfReport
from hitrate.core.wires import RENDERED, wire_named
from hitrate.errors import UsageError
from hitrate.explain.rewrites.affinity import Affinity
from hitrate.explain.rewrites.interface import Rewrite, Sent
from hitrate.sim.lifetimes import Step, gaps, lifetimes, steps_of

AS_SENT = "as sent"
ALL = "all"
LEAST_GAIN = 0.0005
"""Of the hit rate, that is worth naming."""

_CANNOT = "the prompt was rendered before it was sent, so its messages do not show; record requests before that"

MakeRewrite = Callable[[], Rewrite]


class Fix(NamedTuple):
    """`make` gives a rewrite that has seen nothing yet."""

    name: str
    make: MakeRewrite


class Asked(NamedTuple):
    fixes: Sequence[Fix]
    """In the order in which they are put together."""
    rules: str | None = None
    settings: Mapping[str, Any] = {}
    replicas: int = 1
    lifetimes: bool = False
    only_effective: bool = False
    """Leave out fixes that change nothing, as when all were tried."""


def what_if(source: Any, quote: Callable[[Call], Any], asked: Asked) -> tuple[WhatIfReport, list[tuple[Read, bytes]]]:
    """The report, and the bodies that all fixes together make. InputFileError when not one call could be read,
    UsageError for a log without bodies unless only lifetimes were asked for."""
    log = ReadLog(source)
    if not log.calls:
        raise no_call_in(source)
    if not log.read and not (asked.lifetimes and all(fix.name == "ttl" for fix in asked.fixes)):
        raise UsageError(
            f"{source.path} holds no request bodies that can be read, so nothing can be rewritten and replayed; from "
            "counts and times alone only --ttl can be answered"
        )
    return _Run(log, quote, asked).report()


class _Run:
    def __init__(self, log: ReadLog, quote: Callable[[Call], Any], asked: Asked) -> None:
        self._log = log
        self._quote = quote
        self._asked = asked
        self._rules = [rule_for(one.facts, asked.rules, asked.settings, one.call.model) for one in log.read]
        self._notes: dict[str, None] = {}
        self._predictor = Predictor(log.read, self._rules, asked.replicas)

    def report(self) -> tuple[WhatIfReport, list[tuple[Read, bytes]]]:
        read = self._log.read
        sent = [one.call.body for one in read]
        before = self._predictor.predicted(sent, routed=False)
        all_bodies = self._rewritten(self._asked.fixes, sent)
        scenarios, after = self._scenarios(sent, before, all_bodies)
        self._take_notes()
        steps = tuple(self._steps()) if self._asked.lifetimes or any(one.facts.requires_marks for one in read) else ()
        measured, error = self._measured(before)
        return WhatIfReport(
            log=self._log.path,
            format=self._log.format,
            rule_set=", ".join(dict.fromkeys(rule.text for rule in self._rules)) or None,
            basis="estimated",
            calls=len(self._log.calls),
            replayed=len(read),
            conversations=self._log.conversations,
            replicas=self._asked.replicas,
            measured=measured,
            prediction_error=error,
            scenarios=tuple(scenarios) if read else (),
            gaps=gaps(steps) if steps else None,
            lifetimes=lifetimes(steps) if gaps(steps) is not None else (),
            by_call=tuple(self._by_call(sent, all_bodies, before, after)),
            notes=tuple(self._notes),
        ), list(zip(read, all_bodies, strict=True))

    def _scenarios(
        self, sent: list[bytes], before: list[Figures], all_bodies: list[bytes]
    ) -> tuple[list[Scenario], list[Figures]]:
        """Every fix alone and all together, the log as sent first; and the figures of the last of them."""
        first = self._scenario(AS_SENT, "The requests as they are in the log.", 0, before)
        scenarios, idle = [first], []
        after = before
        for fix in self._asked.fixes:
            rewrite, bodies = fix.make(), self._rewritten([fix], sent)
            changed = self._changed(sent, bodies, [fix])
            if not changed and self._asked.only_effective:
                idle.append(f"{fix.name} ({self._without_effect(rewrite)})")
                continue
            after = self._predictor.predicted(bodies, routed=_routes([fix])) if changed else before
            note = None if changed else f"changes nothing: {self._without_effect(rewrite)}"
            scenarios.append(self._scenario(fix.name, rewrite.about, changed, after, first, note))
        if idle:
            self._note(f"nothing to do for {'; '.join(idle)}")
        if len(scenarios) > 2:
            after = self._predictor.predicted(all_bodies, routed=_routes(self._asked.fixes))
            changed = self._changed(sent, all_bodies, self._asked.fixes)
            scenarios.append(self._scenario(ALL, "All of these together.", changed, after, first))
        if self._asked.only_effective:
            scenarios = self._worth_showing(scenarios)
        return scenarios, after

    def _without_effect(self, rewrite: Rewrite) -> str:
        rendered = self._rendered()
        return _CANNOT if rendered and rendered == len(self._log.read) else rewrite.without_effect

    def _rendered(self) -> int:
        return sum(wire_named(one.call.dialect) == RENDERED for one in self._log.read)

    def _changed(self, sent: list[bytes], bodies: list[bytes], fixes: Sequence[Fix]) -> int:
        """Calls with another body, or which are routed by a key that they had not."""
        rows = zip(self._log.read, sent, bodies, strict=True)
        return sum(new != old or (_routes(fixes) and one.affinity is None) for one, old, new in rows)

    def _worth_showing(self, scenarios: list[Scenario]) -> list[Scenario]:
        """Without the fixes that change requests and not the rate, unless some work only together."""
        singles = [one for one in scenarios[1:] if one.name != ALL]
        gaining = [one for one in singles if (one.gained or 0.0) >= LEAST_GAIN]
        together = scenarios[-1] if scenarios[-1].name == ALL else None
        best = max((one.gained or 0.0 for one in singles), default=0.0)
        if together is not None and (together.gained or 0.0) - best >= LEAST_GAIN:
            return scenarios
        without = [one.name for one in singles if one not in gaining]
        if without:
            self._note(f"would change requests and not the predicted hit rate: {', '.join(without)}")
        return [scenarios[0], *gaining, *([together] if together is not None and len(gaining) > 1 else [])]

    def _scenario(
        self,
        name: str,
        what: str,
        changed: int,
        figures: list[Figures],
        first: Scenario | None = None,
        note: str | None = None,
    ) -> Scenario:
        prompt = sum(one.prompt for one in figures)
        cached = round(sum(one.cached for one in figures))
        written = [one.written for one in figures if one.written is not None]
        rate = cached / prompt if prompt else None
        usd = self._usd(figures)
        return Scenario(
            name=name,
            what=what,
            changed_calls=changed,
            prompt_tokens=prompt,
            cached_tokens=cached,
            written_tokens=sum(written) if written else None,
            hit_rate=rate,
            gained=None if first is None or rate is None or first.hit_rate is None else rate - first.hit_rate,
            usd=usd,
            saved_usd=None if first is None or usd is None or first.usd is None else first.usd - usd,
            note=note,
        )

    def _usd(self, figures: list[Figures]) -> float | None:
        """None as soon as one call has no price."""
        total = Bill()
        for one, figure in zip(self._log.read, figures, strict=True):
            usage = Usage(
                prompt_tokens=figure.prompt,
                cached_tokens=round(figure.cached),
                written_tokens=figure.written,
                written_1h_tokens=figure.written_1h,
                output_tokens=one.call.usage.output_tokens,
            )
            found = self._billed(one.call, usage)
            if isinstance(found, Unpriced):
                self._note(f"no bill: {found.reason} (call {one.position})")
                return None
            total = total.plus(found)
        return float(total.usd) if figures else None

    def _billed(self, call: Call, usage: Usage) -> Bill | Unpriced:
        quoted = self._quote(call)
        if not isinstance(quoted, Quote):
            return quoted if isinstance(quoted, Unpriced) else Unpriced("no price")
        return bill(usage, quoted.price)

    def _rewritten(self, fixes: Sequence[Fix], bodies: list[bytes]) -> list[bytes]:
        for fix in fixes:
            rewrite = fix.make()
            for one in self._sent(bodies):
                rewrite.learn(one)
            bodies = [rewrite.body(one) for one in self._sent(bodies)]
        return bodies

    def _sent(self, bodies: list[bytes]) -> Iterator[Sent]:
        for one, body in zip(self._log.read, bodies, strict=True):
            dialect = one.call.dialect
            yield Sent(body, dialect, one.conversation, canonical)

    def _measured(self, before: list[Figures]) -> tuple[Measured, float | None]:
        prompt = cached = expected = calls = 0.0
        total: Bill | None = Bill()
        for one, figures in zip(self._log.read, before, strict=True):
            usage = one.call.usage
            if usage.prompt_tokens is None or usage.cached_tokens is None or usage.accounting_fault:
                continue
            calls += 1
            prompt += usage.prompt_tokens
            cached += usage.cached_tokens
            expected += figures.cached
            found = self._billed(one.call, usage)
            total = None if total is None or isinstance(found, Unpriced) else total.plus(found)
        return Measured(
            calls=int(calls),
            prompt_tokens=int(prompt),
            cached_tokens=int(cached),
            hit_rate=cached / prompt if prompt else None,
            usd=float(total.usd) if total is not None and calls else None,
        ), (expected - cached) / prompt if prompt else None

    def _by_call(
        self, sent: list[bytes], bodies: list[bytes], before: list[Figures], after: list[Figures]
    ) -> Iterator[CallOutcome]:
        rows = zip(self._log.read, sent, bodies, before, after, strict=True)
        for one, old, new, was, now in list(rows)[:MOST_CALLS]:
            yield CallOutcome(
                call=one.position,
                conversation=one.call.session or f"#{one.conversation + 1}",
                prompt_tokens=one.call.usage.prompt_tokens,
                cached_tokens=None if one.call.usage.accounting_fault else one.call.usage.cached_tokens,
                expected_cached_tokens=round(was.cached),
                prompt_tokens_after=now.prompt,
                expected_cached_tokens_after=round(now.cached),
                changed=old != new,
            )

    def _steps(self) -> Iterator[Step]:
        """Consecutive calls of a conversation, by their reported counts; logs without bodies by their sessions."""
        conversations = {one.position: str(one.conversation) for one in self._log.read}
        named = []
        for index, call in enumerate(self._log.calls):
            name = conversations.get(index) if self._log.read else call.session or "#1"
            if name is not None:
                quoted = self._quote(call)
                price = quoted.price.input_usd_per_mtok if isinstance(quoted, Quote) else None
                named.append((name, call, price))
        return steps_of(named)

    def _note(self, text: str) -> None:
        self._notes.setdefault(text)

    def _take_notes(self) -> None:
        for rule in self._rules:
            if rule.note:
                self._note(rule.note)
        if self._asked.replicas > 1:
            self._note(
                f"calls without a session key go to any of {self._asked.replicas} replicas: the mean of "
                f"{ROUTING_SEEDS} random routes"
            )
        if any(one.call.timing is None for one in self._log.read):
            self._note(
                "some calls have no time: they are replayed one after another, and lifetimes say nothing of them"
            )
        if rendered := self._rendered():
            self._note(f"{rendered:,} of {len(self._log.read):,} requests cannot be rewritten: {_CANNOT}")
        if self._log.unanswered:
            self._note(f"not replayed, because refused or failed: {self._log.unanswered}")
        if self._log.unread:
            self._note(f"not replayed, because unreadable: {len(self._log.unread)}, the first: {self._log.unread[0]}")


def _routes(fixes: Sequence[Fix]) -> bool:
    return any(fix.name == Affinity.name for fix in fixes)
