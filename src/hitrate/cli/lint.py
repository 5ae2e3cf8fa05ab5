"""`hitrate lint`: what is wrong with request bodies before one is sent."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hitrate.cli.options import FileToWrite, output_options

if TYPE_CHECKING:
    from hitrate.core.linting import LintReport


@click.command()
@click.argument("requests", nargs=-1, required=True, metavar="REQUEST...")
@click.option("--dialect", metavar="NAME", help="Wire format of the requests; left out, told by their shape.")
@click.option("--strict", is_flag=True, help="Let notes count, too.")
@click.option("--sarif", "sarif_file", type=FileToWrite(), metavar="FILE", help="Also write the findings as SARIF.")
@click.option("--github", is_flag=True, help="Also write annotations for GitHub Actions, on stderr.")
@output_options
def lint(
    requests: tuple[str, ...],
    dialect: str | None,
    strict: bool,
    sarif_file: str | None,
    github: bool,
    output: str | None,
    html_file: str | None,
) -> int:
    """Find what will break or prevent prefix caching in request bodies, without sending one.

    REQUEST is a file with one request body in JSON, or a log whose bodies are taken ("-" for standard input). From one
    request, times and ids in front of the history are told by their look; of two or more the real differences are
    found. Exit code 0 when nothing above a note is found, 1 otherwise, 2 for a file that is no request.
    """
    from hitrate.cli.finding_files import write_file
    from hitrate.cli.showing import check_writable
    from hitrate.errors import UsageError
    from hitrate.linting import lint as check
    from hitrate.report.formats import render

    if html_file is not None:
        raise UsageError("lint has no HTML page: use --json, --csv, --markdown or --sarif FILE")
    if requests.count("-") > 1:
        raise UsageError("standard input can be read once: give - only once")
    check_writable(sarif_file)
    report = check(requests, dialect, strict=strict)
    if sarif_file is not None:
        from hitrate.report import lint_sarif

        write_file(sarif_file, lambda out: lint_sarif.render(report, out))
    render(report, output or "table", sys.stdout)
    if github:
        _annotate(report)
    return 0 if report.passed else 1


def _annotate(report: LintReport) -> None:
    from hitrate.report.github import annotation
    from hitrate.report.lint_sarif import message

    commands = {"error": "error", "warning": "warning", "note": "notice"}
    for finding in report.findings:
        title = f"hitrate lint: {finding.cause}"
        command = commands[finding.severity]
        text = annotation(command, message(finding), title=title, file=finding.file, line=finding.line)
        print(text, file=sys.stderr)
