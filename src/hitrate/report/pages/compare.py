"""The page of a comparison: its numbers and what explains each gap."""

from __future__ import annotations

from hitrate.core.comparison import Comparison
from hitrate.report.pages.parts import Figure, Headline


def subject(comparison: Comparison) -> tuple[str, list[str]]:
    return "comparison", [comparison.a.target, comparison.b.target]


def own_words(comparison: Comparison) -> tuple[str, tuple[str, ...]]:
    return "The same conversation on both", ("Hit rates call by call, and what explains each gap.",)


def verdict_word(comparison: Comparison) -> str:
    return comparison.reason


def headline(comparison: Comparison) -> Headline | None:
    return None


def figures(comparison: Comparison, identity: str) -> list[Figure]:
    return []
