"""`hitrate test`: hit rate turn by turn in a growing conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.options import call_options, numbers, output_options, store_option, target_options
from hitrate.cli.practice_options import practice_options

if TYPE_CHECKING:
    from hitrate.cli.keeping import Keeper
    from hitrate.cli.live_run import Measured, RunOptions
    from hitrate.cli.started import Started
    from hitrate.core.model import Call
    from hitrate.core.results import TestResult
    from hitrate.live.asker import Asker
    from hitrate.live.multi_turn import MultiTurnPlan, ScriptFor


@click.command("test")
@click.argument("target")
@click.option("--system", "system_file", metavar="FILE", help="System prompt; a support agent's when left out.")
@click.option("--tools", "tools_file", metavar="FILE", help="Tool definitions as JSON.")
@click.option("--turns", type=click.IntRange(1, 10_000), default=5, show_default=True, help="Turns of every session.")
@click.option(
    "--sessions", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Also run this many at once."
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    help="At most this many of the sessions call at once; 1: they take turns.",
)
@click.option("--repeat", type=click.IntRange(1, 1_000), default=1, show_default=True, help="Do everything this often.")
@click.option(
    "--pad", callback=numbers, metavar="N,N,...", help="Find the granularity: the same prompt twice at these lengths."
)
@click.option("--tool-loop", "tool_results", metavar="FILE", help="Answer the model's tool calls from this JSON file.")
@click.option("--replay", metavar="RUN", help="Send the conversation of a stored run again, its replies frozen.")
@target_options
@call_options
@practice_options
@output_options
@store_option
def test(
    target: str,
    system_file: str | None,
    tools_file: str | None,
    turns: int,
    sessions: int,
    concurrency: int | None,
    repeat: int,
    pad: tuple[int, ...],
    tool_results: str | None,
    replay: str | None,
    output: str | None,
    html_file: str | None,
    **values: Any,
) -> int:
    """Send a conversation that grows turn by turn and show what of it was served from cache.

    \b
    hitrate test practice --turns 10 --sessions 3
    hitrate test fireworks --model MODEL --system system_prompt.txt --tools tools.json
    hitrate test http://127.0.0.1:8000/v1 --model MODEL --pad 512,1024,2048
    """
    from hitrate.cli.keeping import Keeper
    from hitrate.cli.live_run import finish, random_source, run_options, stored_hint
    from hitrate.cli.progress import Progress
    from hitrate.cli.showing import check_writable
    from hitrate.cli.started import started

    check_writable(html_file)
    base_url, key_variable = values.pop("base_url"), values.pop("key_variable")
    options = run_options(values, default_max_tokens=32)
    from hitrate.live.conversation import ToolResults, default_opening, read_text_file, read_tools, tool_names

    if replay:
        _refuse_beside_replay(click.get_current_context())
    tools = read_tools(tools_file) if tools_file else []
    results = ToolResults(tool_results) if tool_results else None
    if results is not None:
        results.check(tool_names(tools))
    script = ScriptOptions(
        system=read_text_file(system_file) if system_file else default_opening(),
        tools=tools,
        tool_results=results,
        replay=stored_calls(replay) if replay else None,
        random_source=random_source(options),
    )
    keeper = Keeper(options.store)
    with started(target, base_url=base_url, key_variable=key_variable, practice=values) as start:
        plan = script.plan(turns, sessions, repeat, concurrency)
        progress = Progress(plan.calls + 2 * len(pad))
        result, measured = run_test(start, options, plan, script, pad, keeper, progress)
    code = finish(result, keeper, measured, output, html_file)
    stored_hint(keeper)
    keeper.close()
    return code


def _refuse_beside_replay(context: click.Context) -> None:
    from hitrate.errors import UsageError

    given = click.core.ParameterSource.COMMANDLINE
    for name, flag in _TOLD_BY_THE_RUN.items():
        if context.get_parameter_source(name) is given:
            raise UsageError(f"{flag} cannot go with --replay, which sends the run's first session as it was")


_TOLD_BY_THE_RUN = {
    "system_file": "--system",
    "tools_file": "--tools",
    "tool_results": "--tool-loop",
    "turns": "--turns",
    "sessions": "--sessions",
}


class ScriptOptions:
    """What the sessions say, from the command's options."""

    def __init__(
        self,
        *,
        system: str,
        tools: list[Any],
        random_source: Any,
        tool_results: Any = None,
        replay: list[Call] | None = None,
    ) -> None:
        from hitrate.live.conversation import default_questions, frozen_sessions

        self.system = system
        self.tools = tools
        self.random = random_source
        self._tool_results = tool_results
        self._questions = default_questions()
        self._frozen = frozen_sessions(replay) if replay is not None else None
        self._heads: dict[str, str] = {}

    def plan(self, turns: int, sessions: int, repeat: int, concurrency: int | None = None) -> MultiTurnPlan:
        from hitrate.errors import UsageError
        from hitrate.live.multi_turn import MultiTurnPlan

        if self._frozen is not None:
            if not self._frozen:
                raise UsageError("--replay: that run has no turns to send again")
            turns, sessions = len(self._frozen[0]), 1
        return MultiTurnPlan(turns=turns, sessions=sessions, repeat=repeat, concurrency=concurrency)

    def script_for(self, asker: Asker, options: RunOptions) -> ScriptFor:
        """Sessions of one run share their opening; without a knob a line with a nonce keeps runs apart."""
        from hitrate.live.conversation import GrowingScript, nonce

        needs_line = options.cold != "none" and asker.target.cold_knob is None

        def script(run: str, session: int) -> Any:
            if self._frozen is not None:
                return self._frozen[0]
            if needs_line and run not in self._heads:
                self._heads[run] = f"Run {nonce(self.random)}.\n"
            system = self._heads.get(run, "") + self.system
            return GrowingScript(system, self.tools, self._questions, self.random, self._tool_results)

        return script

    def size(self, plan: MultiTurnPlan, pad: tuple[int, ...], max_tokens: int) -> Any:
        """Prompt tokens at three bytes each, which no common vocabulary exceeds, growing by a question and a reply a
        turn."""
        from hitrate.cli.live_run import BYTES_PER_TOKEN, Size, tokens_at_most

        opening = tokens_at_most(self.system) + sum(tokens_at_most(str(tool)) for tool in self.tools)
        a_session = sum(opening + turn * (60 + max_tokens) for turn in range(1, plan.turns + 1))
        if self._frozen is not None:
            a_session = self._frozen[0].bytes_sent // BYTES_PER_TOKEN
        pads = sum(2 * (opening + length + 20) for length in pad)
        return Size(
            calls=plan.calls + 2 * len(pad),
            prompt_tokens=a_session * (plan.calls // plan.turns) + pads,
            connections=min(plan.sessions, plan.concurrency or plan.sessions),
        )


def stored_calls(run: str) -> list[Call]:
    from hitrate.logs.store import Store

    with Store.open() as store:
        return list(store.calls(store.find(run)))


def run_test(
    start: Started,
    options: RunOptions,
    plan: MultiTurnPlan,
    script: ScriptOptions,
    pad: tuple[int, ...],
    keeper: Keeper,
    progress: Any,
) -> tuple[TestResult, Measured]:
    """Make the calls of a test and say what they mean."""
    from hitrate.cli.live_run import measure
    from hitrate.live import loop
    from hitrate.live.conversation import nonce
    from hitrate.live.multi_turn import ended_early, run_multi_turn
    from hitrate.live.padding import run_padding

    prefix = f"hitrate-{nonce(script.random).replace(' ', '')}"
    isolations: dict[str, str] = {}
    pairs: list[tuple[int, Call, Call]] = []

    def isolation_for(run: str) -> str | None:
        return None if options.cold == "none" else isolations.setdefault(run, nonce(script.random).replace(" ", ""))

    async def work(asker: Asker) -> list[str]:
        warnings = await run_multi_turn(asker, plan, script.script_for(asker, options), isolation_for, prefix)
        if pad and not ended_early(warnings):
            warnings += await run_padding(asker, script.system, pad, script.random, prefix, pairs)
        return warnings

    size = script.size(plan, pad, options.max_tokens)
    measured = loop.run(measure("test", start, options, size, work, keeper, progress))
    return assemble_test(start, options, plan, measured, pairs), measured


def assemble_test(
    start: Started,
    options: RunOptions,
    plan: MultiTurnPlan,
    measured: Measured,
    pairs: list[tuple[int, Call, Call]],
) -> TestResult:
    from msgspec.structs import replace

    from hitrate.cli.live_run import clock_warnings
    from hitrate.cli.prediction import predict
    from hitrate.core.results import PadRow, TestResult
    from hitrate.explain.turns.assemble import pads, turns
    from hitrate.explain.turns.verdict import TargetFacts
    from hitrate.live.asker import knob_in_words

    target = start.target
    prediction = predict(measured.calls, start, measured.dialect, options.rule_set, options.rule_settings)
    facts = TargetFacts(
        minimum_tokens=prediction.rule.minimum_tokens,
        granularity=prediction.rule.granularity,
        slack_tokens=prediction.rule.slack_tokens,
        published=prediction.rule.published,
        how_to_report=target.reporting_hint,
        affinity_sent=measured.affinity_sent,
        affinity_knob=knob_in_words(target.affinity[0]) if target.affinity else None,
        spills_over=target.spills_over,
    )
    rows, per_turn, aggregate, verdict = turns(measured.calls, prediction.expected, prediction.rule, facts)
    pad_rows: tuple[PadRow, ...] = ()
    if pairs:
        wishes = dict(zip(map(id, measured.calls), prediction.expected, strict=True))
        seconds = [(length, second) for length, _, second in pairs]
        pad_rows, step, text = pads(seconds, [wishes[id(second)] for _, second in seconds])
        verdict = replace(verdict, granularity=step, text=f"{verdict.text} {text}")
    warnings = [*measured.warnings]
    failed = [row for row in rows if row.state == "failed"]
    if failed:
        first = failed[0]
        warnings.append(
            f"{len(failed)} of {len(rows)} calls failed, the first in the {first.run} run at session {first.session}, "
            f"turn {first.turn}: {first.note}"
        )
    already_warm = [row for row in rows if row.turn == 1 and row.run == "sequential" and (row.hit_rate or 0) > 0.5]
    if already_warm:
        warnings.append(
            "the first call was served from cache: the server was warm from an earlier run; leave --cold at auto, and "
            "replay a run on another target than its own"
        )
    ttfts = [row.ttft_ms for row in rows if row.ttft_ms is not None]
    warnings += clock_warnings(measured.measurement, measured.lag_samples, ttfts)
    return TestResult(
        run_id=measured.run_id,
        started_at=measured.started_at,
        target=target.name,
        model=measured.model,
        expectation=prediction.expectation,
        turns=rows,
        per_turn=per_turn,
        pad=pad_rows,
        aggregate=aggregate,
        verdict=verdict,
        measurement=measured.measurement,
        cost_usd=measured.cost_usd,
        warnings=tuple(warnings),
    )
