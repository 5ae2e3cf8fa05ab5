"""`hitrate calibrate`: what the steps of a measured engine cost, for replays in its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hitrate.cli.options import FileToWrite, output_options

if TYPE_CHECKING:
    from hitrate.core.measured import MeasuredRun

_SETTINGS = {
    "max-running": ("max_running_requests", int),
    "max-batched": ("max_batched_tokens", int),
    "kv-tokens": ("kv_capacity_tokens", int),
    "chunked-prefill": ("chunked_prefill", bool),
    "scheduled-ahead": ("scheduled_ahead", bool),
}
_WORDS = {"yes": True, "true": True, "no": False, "false": False}


def _settings(ctx: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, int | bool]:
    found: dict[str, int | bool] = {}
    for part in (value or "").split(","):
        name, _, text = (one.strip() for one in part.partition("="))
        if not name and not text:
            continue
        if name not in _SETTINGS:
            raise click.BadParameter(f"no setting is called {name!r}; known: {', '.join(_SETTINGS)}")
        field, kind = _SETTINGS[name]
        if kind is bool and text.lower() in _WORDS:
            found[field] = _WORDS[text.lower()]
        elif kind is int and text.isascii() and text.isdigit() and int(text) > 0:
            found[field] = int(text)
        else:
            expected = "yes or no" if kind is bool else "a whole number above 0"
            raise click.BadParameter(f"{name} is {text!r}; expected {expected}")
    return found


def _share(ctx: click.Context, parameter: click.Parameter, value: str) -> float:
    try:
        share = float(value.removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise click.BadParameter(f"expected a share like 50%; got {value!r}")
    return share


@click.command()
@click.argument("measured")
@click.option("--format", "log_format", metavar="NAME", help="Format of a log; left out, told by its start.")
@click.option(
    "--workload",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The prompts of a run of LLMServingSim's; left out, what the run names, in a folder near it.",
)
@click.option(
    "--engine-config",
    "settings",
    callback=_settings,
    metavar="NAME=VALUE,...",
    help="Limits of the engine: max-running, max-batched, kv-tokens, chunked-prefill, scheduled-ahead; left out, what "
    "the run says, else vLLM's defaults.",
)
@click.option(
    "--fit",
    "share",
    callback=_share,
    default="50%",
    show_default=True,
    metavar="N%",
    help="The part of the requests, from the first, that is fitted; the others show how well that predicts.",
)
@click.option(
    "-o", "--output-file", type=FileToWrite(), metavar="FILE", help="Write the timing, for simulate --timing."
)
@output_options
def calibrate(
    measured: str,
    log_format: str | None,
    workload: str | None,
    settings: dict[str, int | bool],
    share: float,
    output_file: str | None,
    output: str | None,
    html_file: str | None,
) -> int:
    """Fit a model of an engine's time to a measured run, and say how well it predicts the rest of it.

    MEASURED is a run of LLMServingSim's benchmark (its folder or requests.jsonl), a log of calls with their timings, or
    the id of a stored run.
    """
    import sys
    from pathlib import Path

    from hitrate.calibrating import calibrate_run
    from hitrate.cli.showing import check_writable, show
    from hitrate.timings import timing_toml

    check_writable(html_file)
    check_writable(output_file)
    result = calibrate_run(_run(measured, log_format, workload), settings, share)
    if output_file is not None:
        Path(output_file).write_text(timing_toml(result), encoding="utf-8")
        print(f"timing written to {output_file}", file=sys.stderr)
    show(result, output, html_file)
    return 0


def _run(measured: str, log_format: str | None, workload: str | None) -> MeasuredRun:
    from hitrate.logs.traces.measured import measured_calls, read_measured

    if log_format is None:
        run = read_measured(measured, workload)
        if run is not None:
            return run
    from hitrate.cli.reading import open_source

    log = open_source(measured, log_format)
    return measured_calls(measured, log.format, log)
