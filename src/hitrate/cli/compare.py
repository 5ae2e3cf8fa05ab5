"""`hitrate compare A B`: the identical conversation on two targets, or two stored runs, per turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.options import call_options, output_options, store_option, target_options

if TYPE_CHECKING:
    from hitrate.cli.live_run import RunOptions
    from hitrate.core.results import TestResult


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--turns", type=click.IntRange(min=1), default=5, show_default=True, help="Turns, for two targets.")
@click.option("--system", "system_file", metavar="FILE", help="System prompt, for two targets.")
@click.option("--tools", "tools_file", metavar="FILE", help="Tool definitions as JSON, for two targets.")
@click.option("--model-b", help="Model id on B, where it differs from --model.")
@target_options
@call_options
@output_options
@store_option
def compare(
    a: str,
    b: str,
    turns: int,
    system_file: str | None,
    tools_file: str | None,
    model_b: str | None,
    output: str | None,
    html_file: str | None,
    **values: Any,
) -> int:
    """Compare A and B per turn: two stored runs, two targets, or one of each.

    On two targets the conversation is held with A, and B is sent the same messages with A's replies frozen, so that
    both see identical prompts. With a run and a target, the target is sent the run's conversation.

    \b
    hitrate compare r4k2m r8x1p
    hitrate compare openai openrouter --model gpt-4.1 --model-b openai/gpt-4.1
    hitrate compare r4k2m fireworks --model-b MODEL
    """
    from msgspec.structs import replace

    from hitrate.cli.live_run import run_options
    from hitrate.cli.showing import check_writable, show
    from hitrate.cli.test_command import ScriptOptions
    from hitrate.core.comparison import compare as compare_results
    from hitrate.errors import UsageError
    from hitrate.live.conversation import default_opening, read_text_file, read_tools

    check_writable(html_file)
    for name, flag in (("base_url", "--base-url"), ("key_variable", "--key-variable")):
        if values.pop(name) is not None:
            raise UsageError(f"{flag} cannot say whether A or B is meant: give an address as A or B, or targets.toml")
    options = run_options(values, default_max_tokens=32)

    def script(replay: Any = None) -> ScriptOptions:
        from hitrate.cli.live_run import random_source

        return ScriptOptions(
            system=read_text_file(system_file) if system_file else default_opening(),
            tools=read_tools(tools_file) if tools_file else [],
            random_source=random_source(options),
            replay=replay,
        )

    result_a, calls_a = stored_result(a)
    result_b, calls_b = stored_result(b)
    for run, result, other in ((a, result_a, result_b), (b, result_b, result_a)):
        if result is not None and other is None and result.kind != "test":
            raise UsageError(f"run {run} is a {result.kind}; a target can be compared with a test run alone")
    if result_a is None and calls_b is not None:
        result_a, calls_a = _measured(a, options, script(calls_b), turns)
    elif result_a is None:
        result_a, calls_a = _measured(a, options, script(), turns)
    if result_b is None:
        options_b = replace(options, model=model_b or options.model)
        result_b, _ = _measured(b, options_b, script(calls_a), turns)
    try:
        show(compare_results(result_a, result_b), output, html_file)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return 0


def stored_result(name: str) -> tuple[Any, list[Any] | None]:
    """Result and calls of a stored run, or (None, None) when `name` is a target."""
    from hitrate.errors import UsageError
    from hitrate.logs.store import Store
    from hitrate.targets.presets import all_names

    if "://" in name or name in all_names():
        return None, None
    with Store.open() as store:
        try:
            run_id = store.find(name)
        except UsageError as error:
            raise UsageError(
                f"{name!r} is neither a target nor a stored run: {error.message}", hint=error.hint
            ) from None
        return store.result(run_id), list(store.calls(run_id))


def _measured(name: str, options: RunOptions, script: Any, turns: int) -> tuple[TestResult, list[Any]]:
    from hitrate.cli.keeping import Keeper
    from hitrate.cli.live_run import stored_hint
    from hitrate.cli.progress import Progress
    from hitrate.cli.started import started
    from hitrate.cli.test_command import run_test
    from hitrate.errors import TargetError

    keeper = Keeper(options.store)
    plan = script.plan(turns, 1, 1)
    with started(name, base_url=None, key_variable=None, practice={}) as start:
        result, measured = run_test(start, options, plan, script, (), keeper, Progress(plan.calls))
    keeper.finish(result)
    stored_hint(keeper)
    keeper.close()
    if measured.interrupted:
        raise KeyboardInterrupt
    if all(row.state == "failed" for row in result.turns):
        raise TargetError(
            f"{name}: no call was answered whole: {result.turns[0].note if result.turns else 'none made'}"
        )
    return result, list(measured.calls)
