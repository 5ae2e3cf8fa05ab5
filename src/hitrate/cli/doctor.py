"""`hitrate doctor`: what is wrong with a target, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.options import output_options, target_options

if TYPE_CHECKING:
    from hitrate.core.listings import Diagnosis


@click.command()
@click.argument("target", required=False)
@target_options
@click.option("--through", metavar="URL", help="Look at the router or gateway at this base URL instead.")
@click.option(
    "--behind",
    multiple=True,
    metavar="HOST:PORT",
    help="Address at which hitrate stands in for an engine behind that router; twice to see how it spreads sessions.",
)
@click.option("--wait", default=30.0, show_default=True, help="Seconds to wait until the router finds its engines.")
@output_options
def doctor(
    target: str | None,
    base_url: str | None,
    key_variable: str | None,
    through: str | None,
    behind: tuple[str, ...],
    wait: float,
    output: str | None,
    html_file: str | None,
    **settings: Any,
) -> int:
    """Look at a target step by step: address, key, model, reply, counts, knobs, prices.

    Makes at most three calls of a few tokens. Exit code 1 when a check failed, 3 when the target cannot be reached.

    \b
    hitrate doctor openai --model MODEL
    hitrate doctor http://127.0.0.1:8000/v1
    hitrate doctor --through http://127.0.0.1:30000/v1 --behind 127.0.0.1:9101 --behind 127.0.0.1:9102
    """
    from hitrate.cli.started import named_target, started
    from hitrate.errors import KeyMissing, Unreachable, UsageError

    if through is not None:
        if target is not None or base_url is not None:
            raise UsageError("--through looks at a router, not at a target: leave the target out")
        from hitrate.cli.through import examine_router

        found = examine_router(through, behind, key_variable=key_variable, wait_s=wait, **settings)
        return _shown(found, output, html_file)
    if behind:
        raise UsageError("--behind goes with --through URL, the router in front of it")
    if target is None:
        raise UsageError("name a target, or a router with --through URL")
    try:
        with started(target, base_url=base_url, key_variable=key_variable, practice={}) as start:
            found = _examine(start.target, start.key, None, settings)
    except (KeyMissing, Unreachable) as error:
        chosen = named_target(target, base_url=base_url, key_variable=key_variable)
        found = _examine(chosen, None, error if isinstance(error, KeyMissing) else None, settings)
    return _shown(found, output, html_file)


def _shown(found: Diagnosis, output: str | None, html_file: str | None) -> int:
    from hitrate.cli.showing import show

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
