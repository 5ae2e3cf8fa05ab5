"""What decides where a report goes and in which format, in every command that has one."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from hitrate.cli.group import COMMANDS
from hitrate.cli.group import hitrate as group

WITH_FORMATS = [
    name
    for section in COMMANDS.values()
    for name in section
    if "--csv" in {option for one in group.get_command(click.Context(group), name).params for option in one.opts}
]
ARGUMENTS = {
    "test": ["practice"],
    "bench": ["practice"],
    "probe": ["practice"],
    "compare": ["practice", "practice"],
    "doctor": ["practice"],
    "models": ["practice"],
    "targets": [],
    "runs": [],
}
"""Of the others a file or a run, which is not looked for before the options are."""


def test_the_commands_that_report_are_known():
    assert len(WITH_FORMATS) >= 13


@pytest.mark.parametrize("command", WITH_FORMATS)
@pytest.mark.parametrize("formats", [("--json", "--csv"), ("--csv", "--markdown"), ("--md", "--json")])
def test_two_formats_at_once_are_refused(hitrate, command, formats):
    outcome = hitrate(command, *ARGUMENTS.get(command, ["absent.jsonl"]), *formats)
    named = [name.replace("--md", "--markdown") for name in formats]
    assert (outcome.code, outcome.out) == (2, "")
    assert f"error: {named[0]} and {named[1]}: choose one format" in outcome.err


def test_one_format_twice_is_one(hitrate):
    assert hitrate("targets", "--json", "--json").json["kind"] == "targets"


@pytest.mark.parametrize(
    ("command", "option"),
    [
        *((command, "--html") for command in WITH_FORMATS),
        ("check", "--sarif"),
        ("lint", "--sarif"),
        ("whatif", "--write"),
    ],
)
def test_standard_output_is_no_file(hitrate, command, option):
    outcome = hitrate(command, *ARGUMENTS.get(command, ["absent.jsonl"]), option, "-")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"Invalid value for '{option}': standard output holds the report; name a file" in outcome.err
    assert not Path("-").exists()
