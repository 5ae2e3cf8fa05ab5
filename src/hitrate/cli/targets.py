"""`hitrate targets`: what can be asked, with which key, wire and cache rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hitrate.cli.options import output_options

if TYPE_CHECKING:
    from hitrate.core.listings import TargetEntry


@click.command()
@click.argument("name", required=False)
@output_options
def targets(name: str | None, output: str | None, html_file: str | None) -> None:
    """List the targets there are, your own among them, or all that is known about one.

    \b
    hitrate targets
    hitrate targets anthropic
    """
    from hitrate.cli.showing import show
    from hitrate.core.listings import TargetList
    from hitrate.targets.presets import all_names

    names = all_names() if name is None else [name]
    show(TargetList(targets=tuple(map(_entry, names))), output, html_file)


def _entry(name: str) -> TargetEntry:
    import os

    from hitrate.core.listings import TargetEntry
    from hitrate.live.asker import cold_in_words, knob_in_words
    from hitrate.targets.presets import is_own, load

    target = load(name)
    variable = target.key_variable
    return TargetEntry(
        name=target.name,
        base_url=target.base_url,
        key_variable=variable,
        key_set=None if variable is None else bool(os.environ.get(variable, "").strip()),
        dialect=target.dialect,
        affinity=tuple(map(knob_in_words, target.affinity)),
        cold_knob=cold_in_words(target),
        rule_set=target.rule_set,
        reports_cached=target.reports_cached,
        start_command=target.start_command,
        source=target.source,
        date=target.date,
        own=is_own(name),
        notes=" ".join(target.notes.split()),
    )
