"""`hitrate bench`: cold against warm time to first token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.options import call_options, output_options, store_option, target_options
from hitrate.cli.practice_options import practice_options

if TYPE_CHECKING:
    from hitrate.cli.keeping import Keeper
    from hitrate.cli.live_run import Measured, RunOptions
    from hitrate.cli.started import Started
    from hitrate.core.results import BenchResult
    from hitrate.live.asker import Asker
    from hitrate.live.bench import BenchPlan


@click.command()
@click.argument("target")
@click.option(
    "--order",
    type=click.Choice(["stable-first", "variable-first", "both"]),
    default="both",
    show_default=True,
    help="Opening then question, or time and question above the opening.",
)
@click.option(
    "--shape",
    type=click.Choice(["opening", "conversation", "both"]),
    default="opening",
    show_default=True,
    help="One opening with different questions, or a conversation that grows.",
)
@click.option("--calls", type=click.IntRange(2, 10_000), default=12, show_default=True, help="Calls of each order.")
@click.option(
    "--cold-calls",
    type=click.IntRange(0, 10_000),
    default=3,
    show_default=True,
    help="Cold calls of the same prompt between the warm ones, so that drifting load shows.",
)
@click.option("--opening", "opening_file", metavar="FILE", help="Your own opening; a support agent's when left out.")
@click.option("--questions", "questions_file", metavar="FILE", help="One question a line.")
@click.option("--usage", is_flag=True, help="One more call, with its cached beside its prompt tokens.")
@target_options
@call_options
@practice_options
@output_options
@store_option
def bench(
    target: str,
    order: str,
    shape: str,
    calls: int,
    cold_calls: int,
    opening_file: str | None,
    questions_file: str | None,
    usage: bool,
    output: str | None,
    html_file: str | None,
    **values: Any,
) -> int:
    """Send one opening with different questions; compare the first call with the ones that follow.

    \b
    hitrate bench practice --prefill-rate 2500 --base-ms 15
    hitrate bench llamacpp
    hitrate bench openai --model MODEL --usage
    """
    from hitrate.cli.keeping import Keeper
    from hitrate.cli.live_run import finish, run_options, stored_hint
    from hitrate.cli.progress import Progress
    from hitrate.cli.showing import check_writable
    from hitrate.cli.started import started
    from hitrate.errors import InputFileError
    from hitrate.live.bench import ORDERS, SHAPES, BenchPlan
    from hitrate.live.conversation import default_opening, default_questions, read_text_file

    check_writable(html_file)
    base_url, key_variable = values.pop("base_url"), values.pop("key_variable")
    options = run_options(values, default_max_tokens=16)
    opening = read_text_file(opening_file) if opening_file else default_opening()
    questions = default_questions()
    if questions_file:
        questions = [line.strip() for line in read_text_file(questions_file).splitlines() if line.strip()]
        if not questions:
            raise InputFileError(questions_file, "expected one question a line, found none")
    plan = BenchPlan(
        orders=ORDERS if order == "both" else (order,),
        shapes=SHAPES if shape == "both" else (shape,),
        calls=calls,
        cold_calls=cold_calls,
        usage=usage,
        isolate=options.cold != "none",
    )
    keeper = Keeper(options.store)
    with started(target, base_url=base_url, key_variable=key_variable, practice=values) as start:
        progress = Progress(plan.total_calls)
        result, measured = run_bench_command(start, options, plan, opening, questions, keeper, progress)
    code = finish(result, keeper, measured, output, html_file)
    stored_hint(keeper)
    keeper.close()
    return code


def run_bench_command(
    start: Started,
    options: RunOptions,
    plan: BenchPlan,
    opening: str,
    questions: list[str],
    keeper: Keeper,
    progress: Any,
) -> tuple[BenchResult, Measured]:
    """Make the calls of a bench and say what they mean."""
    import datetime

    from hitrate.cli.live_run import Size, measure, random_source, tokens_at_most
    from hitrate.live import loop
    from hitrate.live.bench import CONVERSATION, run_bench
    from hitrate.live.conversation import nonce

    random = random_source(options)
    prefix = f"hitrate-{nonce(random).replace(' ', '')}"

    def now() -> str:
        return datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")

    async def work(asker: Asker) -> list[str]:
        return await run_bench(asker, plan, opening, questions, random, now, prefix)

    # In the conversation shape every call also carries the questions and answers before it.
    grown = sum(shape == CONVERSATION for _, shape in plan.parts()) * sum(range(plan.calls)) * (60 + options.max_tokens)
    size = Size(
        calls=plan.total_calls,
        prompt_tokens=plan.total_calls * (tokens_at_most(opening) + 60) + grown,
        connections=1,
    )
    measured = loop.run(measure("bench", start, options, size, work, keeper, progress))
    return assemble_bench(start, options, plan, measured), measured


def assemble_bench(start: Started, options: RunOptions, plan: BenchPlan, measured: Measured) -> BenchResult:
    from hitrate.cli.live_run import clock_warnings
    from hitrate.cli.prediction import predict
    from hitrate.core.results import BenchResult
    from hitrate.explain.turns.assemble import bench as assemble
    from hitrate.explain.turns.rows import turn_row

    prediction = predict(measured.calls, start, measured.dialect, options.rule_set, options.rule_settings)
    rows, warnings = assemble(measured.calls, prediction.expected, prediction.rule, plan.parts())
    extra = [
        turn_row(call, wish, prediction.rule, run="usage", session=1)
        for call, wish in zip(measured.calls, prediction.expected, strict=True)
        if call.label == "usage"
    ]
    warm = [call.ttft_ms for row in rows for call in row.calls if call.role == "warm" and call.ttft_ms is not None]
    return BenchResult(
        run_id=measured.run_id,
        started_at=measured.started_at,
        target=start.target.name,
        model=measured.model,
        expectation=prediction.expectation,
        rows=rows,
        usage_call=extra[0] if extra else None,
        measurement=measured.measurement,
        cost_usd=measured.cost_usd,
        warnings=(*measured.warnings, *warnings, *clock_warnings(measured.measurement, measured.lag_samples, warm)),
    )
