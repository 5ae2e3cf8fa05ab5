"""The page of a calibration."""

from __future__ import annotations

from hitrate.core.calibration_results import CalibrateResult
from hitrate.core.numerals import counted
from hitrate.report.columns import count
from hitrate.report.kinds.calibrate import off
from hitrate.report.pages.parts import Figure, Headline


def subject(result: CalibrateResult) -> tuple[str, list[str]]:
    return "calibration", [result.measured]


def own_words(result: CalibrateResult) -> tuple[str, tuple[str, ...]]:
    return "What the steps of this engine cost", (
        f"A simulation of {counted(result.requests, 'request')} in the order they came, with the costs that bring it "
        f"nearest to the measured times of the first {count(result.fitted_requests)}. The others show how well that "
        "predicts.",
    )


def verdict_word(result: CalibrateResult) -> str:
    return ""


def headline(result: CalibrateResult) -> Headline | None:
    for part in ("held out", "fitted"):
        for error in result.errors:
            if (error.part, error.figure, error.statistic) == (part, "ttft", "mean"):
                return Headline(
                    f"{off(error.error)} %",
                    f"off in the mean time to first token, {part}",
                    counted(error.n, "request"),
                )
    return None


def figures(result: CalibrateResult, identity: str) -> list[Figure]:
    return []
