"""`hitrate check`: whether a log holds what is expected of it, for scripts and continuous integration."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hitrate.cli.log_options import log_options
from hitrate.cli.options import FileToWrite, Finite, output_options

if TYPE_CHECKING:
    from hitrate.core.findings import ExplainReport
    from hitrate.core.money import Price
    from hitrate.explain.gates import CheckReport


@click.command()
@click.argument("log")
@click.option("--min-hit-rate", type=Finite(min=0, max=1), metavar="SHARE", help="At least this hit rate, like 0.8.")
@click.option("--no-breaks", is_flag=True, help="No change of text or key in front of what was sent before.")
@click.option("--max-lost-usd", type=Finite(min=0), metavar="USD", help="At most this much lost to causes found.")
@click.option(
    "--allow", multiple=True, metavar="CAUSE", help="Accept findings of this cause and what they cost; repeatable."
)
@log_options
@click.option("--redact", is_flag=True, help="Leave out prompt text, names and folders.")
@click.option("--sarif", "sarif_file", type=FileToWrite(), metavar="FILE", help="Also write the findings as SARIF.")
@click.option("--github", is_flag=True, help="Also write annotations for GitHub Actions, on stderr.")
@output_options
def check(
    log: str,
    min_hit_rate: float | None,
    no_breaks: bool,
    max_lost_usd: float | None,
    allow: tuple[str, ...],
    log_format: str | None,
    price: Price | None,
    model: str | None,
    provider: str | None,
    prices_from: str | None,
    redact: bool,
    sarif_file: str | None,
    github: bool,
    output: str | None,
    html_file: str | None,
) -> int:
    """Check a log against what is expected of it, and fail when it does not hold.

    LOG is a file ("-" for standard input) or the id of a run.
    Exit code 0 when every stated expectation holds, 1 when one does not or could not be checked, 2 for bad input.
    """
    from hitrate.cli.explained import explained
    from hitrate.cli.finding_files import write_file
    from hitrate.cli.showing import check_writable
    from hitrate.errors import UsageError
    from hitrate.explain.gates import Expectations
    from hitrate.explain.gates import check as hold
    from hitrate.report.formats import render
    from hitrate.report.kinds.explain import first_line

    expected = Expectations(min_hit_rate=min_hit_rate, no_breaks=no_breaks, max_lost_usd=max_lost_usd, allow=allow)
    if not expected.any_stated:
        raise UsageError("nothing to check: state --min-hit-rate SHARE, --no-breaks or --max-lost-usd USD")
    for file in (html_file, sarif_file):
        check_writable(file)
    report = explained(log, log_format, price, model, provider, prices_from)
    _warn_of_unknown(allow, report)
    if redact:
        from hitrate.report.redact import redacted

        report = redacted(report)
    checked = hold(report, expected, first_line)
    if html_file is not None:
        write_file(html_file, lambda out: render(report, "html", out))
    if sarif_file is not None:
        from hitrate.report import sarif

        write_file(sarif_file, lambda out: sarif.render(report, out))
    _show(checked, output)
    if github:
        _annotate(checked, report)
    return 0 if checked.passed else 1


def _warn_of_unknown(allow: tuple[str, ...], report: ExplainReport) -> None:
    """A misspelt cause allows nothing: the check can fail for it, never pass."""
    from difflib import get_close_matches

    from hitrate.report.causes import causes
    from hitrate.report.escape import escape_line

    known = {*causes(), *(finding.cause for finding in report.findings)}
    for name in allow:
        if name not in known:
            near = get_close_matches(name, sorted(known), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            click.echo(f"note: --allow {escape_line(name)}: no cause of this name is known{hint}", err=True)


def _show(checked: CheckReport, output: str | None) -> None:
    """Where people read, the gates stand in the output; where machines do, what did not hold is said on stderr, too."""
    from hitrate.report.escape import escape_line
    from hitrate.report.formats import render

    render(checked, output or "table", sys.stdout)
    if output in ("json", "csv"):
        for gate in checked.gates:
            if gate.outcome != "held":
                print(f"{gate.outcome}: {gate.expectation}: {escape_line(gate.text)}", file=sys.stderr)


def _annotate(checked: CheckReport, report: ExplainReport) -> None:
    from msgspec.structs import replace

    from hitrate.report import github

    for gate in checked.gates:
        if gate.outcome != "held":
            title = f"hitrate check: {gate.expectation}"
            print(github.annotation("error", gate.text, title=title, file=checked.log), file=sys.stderr)
    github.render(replace(report, findings=checked.findings), sys.stderr)
