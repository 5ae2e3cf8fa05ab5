"""One page a target, `docs/targets/NAME.md`: what is documented of its cache beside what was measured, both dated."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hitrate.caches.rules import RULE_SETS, RuleSet
from hitrate.targets.presets import Target, all_names, load

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "targets"
NO_FILE = ROOT / "no-such-file"
"""Stands in for the user's own targets, which must not get into the pages."""
RECORDINGS = ROOT / "tests" / "data" / "engines"

Table = Callable[[Sequence[str], Iterable[Sequence[object]]], str]


def measured() -> dict[str, dict[str, Any]]:
    return tomllib.loads((ROOT / "tools" / "measured.toml").read_text(encoding="utf-8"))


def page_names() -> list[str]:
    return [name for name in all_names(NO_FILE) if name != "practice"]


def new_page(name: str) -> str:
    """What a page is before its part is filled in; text around the part is kept."""
    return f"# {name}\n\n<!-- generated: target {name} -->\n<!-- end of generated: target {name} -->\n"


def target_page(name: str, table: Table) -> str:
    target, found = load(name, NO_FILE), measured().get(name, {})
    return "\n\n".join([*_documented(target, table), *_measured(name, found, table)])


def overview(table: Table) -> str:
    """The table of all pages."""
    everything = measured()
    rows = []
    for name in page_names():
        rules = ", ".join(f"`{rule.name}`" for rule in _rules(load(name, NO_FILE)))
        runs = everything.get(name, {}).get("measured", [])
        last = max((run["date"] for run in runs), default=None)
        rows.append((f"[{name}]({name}.md)", rules, f"{sum(map(calls_of, runs)):,} calls" if runs else None, last))
    return table(("target", "cache rule", "compared with the real thing", "last on"), rows)


def without_rule() -> str:
    """The targets for which there is no rule at all, linked to their pages."""
    names = [name for name in page_names() if not _rules(load(name, NO_FILE))]
    return ", ".join(f"[{name}](../targets/{name}.md)" for name in names)


def calls_of(run: Mapping[str, Any]) -> int:
    """Calls of a measurement, counted in its recording where it has one."""
    if "recording" not in run:
        return int(run["calls"])
    whole = json.loads((RECORDINGS / run["recording"]).read_text(encoding="utf-8"))
    return sum(map(len, _lists_of_answers(whole)))


def _lists_of_answers(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _lists_of_answers(member)


def _rules(target: Target) -> list[RuleSet]:
    """The target's own, those of some of its models, and those that hold for a part of what it offers."""
    own = (target.rule_set or target.name).rpartition("-20")[0] or target.name
    parts = [name for name in RULE_SETS if name.startswith((f"{target.name}-", f"{own}-"))]
    names = dict.fromkeys([target.rule_set, *target.rule_set_by_model.values(), *parts])
    return [RULE_SETS[name] for name in names if name is not None]


def _documented(target: Target, table: Table) -> Iterator[str]:
    yield "## Documented"
    yield (
        f"Reports cached tokens: {target.reports_cached}. Read on {target.date} in {target.source}. "
        f"[All facts](../reference/targets.md#{target.name})"
    )
    if target.notes:
        yield " ".join(target.notes.split())
    rules = _rules(target)
    if not rules:
        step = f" Credited in steps of {target.step_tokens} tokens, as measured." if target.step_tokens else ""
        yield f"No rule is published: predictions say what could be had at most.{step}"
        return
    yield table(
        ("cache rule", "for", "model", "parameters", "as of", "source"),
        (
            (
                f"`{rule.name}`",
                "all models" if rule.name == target.rule_set else _models_of(target, rule),
                f"[{rule.model}](../reference/cache-rules.md#the-models)",
                ", ".join(f"`{key}={value}`" for key, value in rule.parameters.items()),
                rule.date,
                rule.source,
            )
            for rule in rules
        ),
    )
    for rule in rules:
        yield f"`{rule.name}`: {rule.note}"
        if rule.minimum_by_model:
            yield table(
                ("minimum tokens", "models"),
                (
                    (
                        f"{least:,}",
                        ", ".join(f"`{part}`" for part, value in rule.minimum_by_model.items() if value == least),
                    )
                    for least in sorted(set(rule.minimum_by_model.values()))
                ),
            )


def _models_of(target: Target, rule: RuleSet) -> str:
    patterns = [f"`{pattern}`" for pattern, name in target.rule_set_by_model.items() if name == rule.name]
    return ", ".join(patterns) or f"`--rule-set {rule.name}`"


def _measured(name: str, found: Mapping[str, Any], table: Table) -> Iterator[str]:
    yield "## Measured"
    if "measured" not in found:
        yield (
            f"Nothing of it was compared with the real thing. `hitrate probe {name}` measures what it can and puts it "
            "beside what is documented."
        )
        return
    yield table(
        ("what", "on", "calls", "result", "by"),
        (
            (run["what"], run["date"], f"{calls_of(run):,}", run["result"], f"`{run['how']}`")
            for run in found["measured"]
        ),
    )
    if "probe" in found:
        yield from _probed(found["probe"], table)
    yield "## Differences and limits"
    yield "\n".join(f"- {text}" for text in found["differences"])


def _probed(probe: Mapping[str, Any], table: Table) -> Iterator[str]:
    yield "## Probed: documented beside measured"
    yield (
        f"`{probe['how']}` on {probe['date']}, {probe['calls']:,} calls, on {probe['what']}. "
        "[What the questions are](../guides/probing.md#the-questions)"
    )
    members = ("of", "measured", "sure", "documented", "agreement")
    yield table(
        ("probe", "of", "measured", "how sure", "documented", "agreement"),
        ((f"`{answer['probe']}`", *(answer.get(member) for member in members)) for answer in probe["answers"]),
    )
