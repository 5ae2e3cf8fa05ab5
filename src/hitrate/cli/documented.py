"""What is documented of a target, for `probe` to put beside what it measured."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from hitrate.caches.rules import RuleSet, describe, rule_set
from hitrate.cli.prediction import told_settings
from hitrate.cli.started import Started
from hitrate.errors import HitrateError
from hitrate.explain.probing.documented import Documented, from_rule
from hitrate.live.asker import knob_in_words
from hitrate.live.engine_tokens import engine_tokens
from hitrate.live.probes.sharing import ANOTHER_USER
from hitrate.serve.practice.options import NO_RULE, PracticeOptions
from hitrate.targets.facts_for import facts_for
from hitrate.targets.presets import Target


class Known(NamedTuple):
    """`rule` in words, with its source and date; None where no rule is known."""

    documented: Documented
    rule: str | None = None
    source: str | None = None
    date: str | None = None
    needs_marks: bool = False
    """Nothing is cached without explicit markers."""


def documented_of(start: Started, model: str, rule_name: str | None) -> Known:
    """By the rule named, else the practice server's own options, else the facts of the target. Raises UsageError.

    May ask the target for its settings, and waits for the answer.
    """
    if start.practice is not None and rule_name is None:
        return _practice(start.practice, start.target)
    target = start.target
    facts = facts_for(target.name, target.dialect, model)
    rule = rule_set(rule_name) if rule_name is not None else facts.rule
    if rule is not None:
        rule = replace(rule, parameters={**rule.parameters, **_told(start, rule)})
    documented = Documented() if rule is None else from_rule(rule)
    if rule is None:
        documented = replace(documented, step=target.step_tokens)
    elif rule_name is None:
        documented = replace(documented, minimum=facts.minimum_tokens, lifetime_s=facts.ttl_s)
    documented = replace(
        documented,
        reports=_reports(target),
        affinity=tuple(map(knob_in_words, target.affinity)),
        apart_from=_isolating(target),
    )
    if rule is None:
        return Known(documented, None, target.source, target.date)
    return Known(documented, describe(rule), rule.source, rule.date, rule.model == "marked")


def _told(start: Started, rule: RuleSet) -> dict[str, Any]:
    """What a running engine tells of its settings stands in for the defaults."""
    try:
        return told_settings(rule, engine_tokens(start.target, start.key))
    except HitrateError:  # what can be asked, and what cannot, is the business of the calls
        return {}


def _reports(target: Target) -> bool | None:
    if target.reports_cached.startswith("yes:"):
        return True
    return False if target.reports_cached.startswith("never") else None


def _isolating(target: Target) -> tuple[str, ...]:
    return (f"another {knob_in_words(target.cold_knob)}",) if target.cold_knob is not None else ()


def _practice(options: PracticeOptions, target: Target) -> Known:
    """The truth, as the server was told it."""
    from hitrate.serve.practice.caches import rule_text

    knobs = tuple(map(knob_in_words, target.affinity))
    works = options.routing.startswith("session-affinity") and options.replicas > 1
    beside: dict[str, object] = {
        "reports": not any(fault.name in ("null-details", "no-details", "no-usage") for fault in options.faults),
        "replicas": 1 if options.shared else options.replicas,
        "affinity": knobs if works else (),
        "inert": () if works else knobs,
        "apart_from": _isolating(target),
        "shared_with": (ANOTHER_USER,),
    }
    if options.rule == NO_RULE:
        return Known(Documented(reports=False), "none", "what the practice server was started with")
    rule: RuleSet = rule_set(options.rule)
    if rule.model in ("block chain", "block trie", "radix"):
        beside["step"] = options.block_size
    if options.ttl_s is not None:
        beside["lifetime_s"] = options.ttl_s
    documented = from_rule(rule, minimum=options.minimum_tokens, write_delay_s=options.write_delay_ms / 1000, **beside)
    source = "what the practice server was started with"
    return Known(documented, rule_text(options), source, rule.date, rule.model == "marked")
