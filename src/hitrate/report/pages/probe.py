"""The page of a probed target."""

from __future__ import annotations

from hitrate.core.probe_results import ProbeResult
from hitrate.report.pages.parts import Figure, Headline


def subject(result: ProbeResult) -> tuple[str, list[str]]:
    return "probe", [result.target]


def own_words(result: ProbeResult) -> tuple[str, tuple[str, ...]]:
    documented = result.rule_set or "no rule that is known"
    intro = (
        f"{result.calls} small calls to {result.target}, each question an experiment of its own. What is documented "
        f"({documented}) stands beside what was measured; where the calls could not tell, the answer says so."
    )
    return "What was measured", (intro,)


def verdict_word(result: ProbeResult) -> str:
    return "differs" if any(answer.agrees is False for answer in result.answers) else ""


def headline(result: ProbeResult) -> Headline | None:
    return None


def figures(result: ProbeResult, identity: str) -> list[Figure]:
    return []
