"""`hitrate doctor`: what is wrong with a target, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.options import output_options, target_options

if TYPE_CHECKING:
    from hitrate.core.listings import Diagnosis


@click.command()
@click.argument("target")
@target_options
@output_options
def doctor(
    target: str,
    base_url: str | None,
    key_variable: str | None,
    output: str | None,
    html_file: str | None,
    **settings: Any,
) -> int:
    """Look at a target step by step: address, key, model, reply, counts, knobs, prices.

    Makes at most three calls of a few tokens. Exit code 1 when a check failed, 3 when the target cannot be reached.

    \b
    hitrate doctor openai --model MODEL
    hitrate doctor http://127.0.0.1:8000/v1
    """
    from hitrate.cli.showing import show
    from hitrate.cli.started import named_target, started
    from hitrate.errors import KeyMissing, Unreachable

    try:
        with started(target, base_url=base_url, key_variable=key_variable, practice={}) as start:
            found = _examine(start.target, start.key, None, settings)
    except (KeyMissing, Unreachable) as error:
        chosen = named_target(target, base_url=base_url, key_variable=key_variable)
        found = _examine(chosen, None, error if isinstance(error, KeyMissing) else None, settings)
    show(found, output, html_file)
    if found.reachable is False:
        return 3
    return 1 if any(check.outcome == "failed" for check in found.checks) else 0


def _examine(target: Any, key: str | None, key_error: Any, settings: dict[str, Any]) -> Diagnosis:
    from hitrate.live import loop
    from hitrate.live.doctor import MOST_CALLS, Doctor

    if key_error is None:
        click.echo(f"doctor: at most {MOST_CALLS} calls of a few tokens to {target.name}", err=True)
    patient = Doctor(target, key=key, key_error=key_error, model=settings["model"])
    return loop.run(patient.examine(headers=settings["header"], timeout_s=settings["timeout"]))
